"""`recipes`: agents that agents made; listed from the file, removed by its engine, promoted into a catalogue."""

from pathlib import Path

import click

from dashboard.cli.group import shared_options
from dashboard.cli.knowledge.catalogue_command import CATALOGUE_OPTION
from dashboard.cli.knowledge.default_command import DefaultCommandGroup
from dashboard.cli.lists import TeamReading, read_team
from dashboard.cli.printing.items import Item, fields_of
from dashboard.cli.printing.listings import make_table
from dashboard.cli.printing.output import DONE, REFUSED, emit, fail
from dashboard.cli.sending import Sending, send_and_report, sending_options
from dashboard.views.knowledge.recipes import COLUMNS, EMPTY, RecipeRow, recipe_facts, recipes_by_path
from engine.catalogue.entries import Pack
from engine.catalogue.writer import CatalogueWriter
from engine.core.commands import RetireRecipes
from engine.core.errors import Refused
from engine.core.queries.team.models import team_servers
from engine.core.queries.team.recipes import find_recipe, maker_of, references_to_recipes, unused_recipes
from engine.core.records.records import JsonValue
from engine.core.specs.spec import BOUND
from engine.core.state import Recipe

MAX_PACK_CHARS = 64


@click.group("recipes", cls=DefaultCommandGroup)
def recipes() -> None:
    """List agents that agents made, show one in full, remove some, or promote one into your catalogue.

    quarterdeck recipes [PATH] lists those at a path such as architect/solver, and below it. A path that is the name of
    a subcommand needs it: quarterdeck recipes list show.
    """


@recipes.command("list")
@click.argument("path", default="")
@click.pass_context
def list_(ctx: click.Context, /, *, path: str) -> int:
    """List recipes with their rights at this moment, and what refers to them.

    The subcommand may be left out.
    """
    with read_team(ctx) as look:
        rows = _rows(look, recipes_by_path(look.state, path))
        empty = f"no recipe at {path!r:.80}; see them all with: quarterdeck recipes" if look.state.recipes else EMPTY[0]
    emit(ctx, "recipes", look.body([recipe_item(row) for row in rows]), make_table(COLUMNS, rows, empty=empty))
    return DONE


@recipes.command("show")
@click.argument("recipe", metavar="ID")
@click.pass_context
def show(ctx: click.Context, /, *, recipe: str) -> int:
    """Show a recipe in full, by its id or its path."""
    with read_team(ctx) as look:
        (row,) = _rows(look, [_recipe(look, recipe)])
    facts = recipe_facts(row)
    wide = max(len(label) for label, _ in facts)
    lines = [row.recipe.id, *(f"{label:<{wide}}  {fact}" for label, fact in facts), "", *row.recipe.primer.splitlines()]
    emit(ctx, "recipe", look.body([_full_item(row)]), lines)
    return DONE


@recipes.command("promote")
@click.argument("recipe", metavar="ID")
@CATALOGUE_OPTION
@click.pass_context
def promote(ctx: click.Context, /, *, recipe: str, path: Path | None) -> int:
    """Put the agent of a recipe into your catalogue, not approved, with the rights that it has at this moment."""
    with read_team(ctx) as look:
        (row,) = _rows(look, [_recipe(look, recipe)])
        pack = _pack_of(row)
    with CatalogueWriter(path) as writer:
        (addition,) = writer.add([pack])
    entry_id = next(iter((*addition.added, *addition.changed)), None)
    body = {"recipe": row.recipe.id, "pack": pack.name, "entry": entry_id, "missing": row.made.missing}
    lines = [f"✓ {row.recipe.name} is in your catalogue already, as it is now"]
    if entry_id is not None:
        lines = [
            f"✓ {row.recipe.name} is in your catalogue as {entry_id}, not approved",
            f"  look at it, then approve it: quarterdeck catalogue show {entry_id}, approve {entry_id}",
        ]
    if row.made.missing:
        lines.append(f"  without {', '.join(row.made.missing)}, which its maker does not have")
    emit(ctx, "promoted", body, lines)
    return DONE


@recipes.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@sending_options
@click.pass_context
def remove(ctx: click.Context, /, *, ids: tuple[str, ...]) -> int:
    """Remove recipes with their agents, by ids or paths, all or none.

    An agent leaves once its work under way has ended. Those that it has made have to be named too.
    """
    return send_and_report(ctx, Sending.of(ctx), RetireRecipes(recipes=list(dict.fromkeys(ids))))


@recipes.command("gc")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@sending_options
@click.pass_context
def collect_unused(ctx: click.Context, /, *, dry_run: bool) -> int:
    """Remove the recipes that no agent, no value of ctx.state and no other recipe refers to."""
    if not dry_run:
        return send_and_report(ctx, Sending.of(ctx), RetireRecipes())
    with read_team(ctx) as look:
        rows = _rows(look, [look.state.recipes[recipe_id] for recipe_id in unused_recipes(look.state)])
    table = make_table(COLUMNS, rows, empty="nothing to remove: no recipe is without a reference")
    emit(ctx, "recipes", look.body([recipe_item(row) for row in rows]), table)
    return DONE


for command in recipes.commands.values():
    command.params += shared_options()


def recipe_item(row: RecipeRow) -> Item:
    """Return a recipe."""
    return {
        **fields_of(row.recipe, "id path"),
        "parent": row.recipe.parent_id,
        "agent_id": row.agent_id,
        "capabilities": row.recipe.capabilities,
        "missing": row.made.missing,
        **fields_of(row.recipe, "schema revision"),
        "references": fields_of(row.references, "agents values children"),
        "at_ms": row.recipe.at_ms,
    }


def _full_item(row: RecipeRow) -> Item:
    recipe = row.recipe
    tasks: dict[str, JsonValue] = {name: fields_of(task, "doc input output") for name, task in recipe.tasks.items()}
    return {
        **recipe_item(row),
        "effective": row.made.effective,
        **fields_of(recipe, "name primer description specialties run model"),
        "tasks": tasks,
        "tokens": None if recipe.limits is None else recipe.limits.tokens,
        "made_by": recipe.made_by and fields_of(recipe.made_by, "run_id task_id step"),
    }


def _rows(look: TeamReading, chosen: list[Recipe]) -> list[RecipeRow]:
    references = references_to_recipes(look.state)
    return [RecipeRow.of(look.state, recipe, references, look.now_ms) for recipe in chosen]


def _recipe(look: TeamReading, target: str) -> Recipe:
    try:
        return find_recipe(look.state, target)
    except Refused as refusal:
        fail("unknown_recipe", refusal.reason, "list them with: quarterdeck recipes", REFUSED)


def _pack_of(row: RecipeRow) -> Pack:
    """Return a pack of the agent of a recipe as it may work now, with the tool servers that it names."""
    recipe, spec = row.recipe, row.made.spec
    functions = [spec.run, *spec.tools]
    bound = next((each for each in functions if isinstance(each, str) and each.startswith(BOUND)), None)
    if bound is not None:
        text = f"{recipe.id} uses {bound.removeprefix(BOUND)}, code of a running program that nothing else can import"
        fail("bound_code", text, "put it into a module, and name it as module:function", REFUSED)
    giver = maker_of(row.state, recipe)
    servers = {} if giver is None else team_servers(row.state, giver.supervisor_id)
    names = {name.partition("/")[0] for name in spec.mcp}
    maker = "-".join(recipe.path[:-1])
    return Pack(
        name=f"made-by-{maker}"[:MAX_PACK_CHARS],
        agents=[spec],
        author=maker,
        mcp={name: server for name, server in servers.items() if name in names},
    )
