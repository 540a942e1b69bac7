"""Recipes of the team: the rows of the Recipes screen and of `quarterdeck recipes`, a tree by path. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.views.drawing.lines import BLANK, Line
from dashboard.views.drawing.prose import prose
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import EMPTY as EMPTY_CELL
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled_cell, make_cells, visible_columns
from dashboard.views.words.amounts import ago, count, moment, pluralize
from engine.core.queries.targets import name_of
from engine.core.queries.team.made import MadeAgent, made_now
from engine.core.queries.team.recipes import References, maker_of, path_of, references_to_recipes
from engine.core.records.values import as_text
from engine.core.state import Recipe, State

MAX_REMOVED = 5
MAX_PRIMER_CHARACTERS = 8_000
"""Characters of a primer that are shown, from its start."""
EMPTY = ("no agent has made another yet", "functions do it with ctx.create_agent, models with may: [create_agent]")


class RecipeRow(NamedTuple):
    """A recipe, with what its cells are made from."""

    state: State
    recipe: Recipe
    made: MadeAgent
    references: References
    now_ms: int
    lead: str = ""
    """The branches of the tree before its name."""

    @classmethod
    def of(cls, state: State, recipe: Recipe, references: Mapping[str, References], now_ms: int) -> "RecipeRow":
        """Return the row of a recipe, with what its agent may do at this moment."""
        return cls(state, recipe, made_now(state, recipe), references[recipe.id], now_ms)

    @property
    def agent_id(self) -> str | None:
        """The agent that it made, if that is in the team."""
        return next(iter(self.references.agents), None)


def _path_cell(row: RecipeRow) -> Cell:
    return Cell(row.recipe.name, "strong" if row.agent_id else "muted", row.lead)


def _agent_cell(row: RecipeRow) -> Cell:
    return Cell(row.agent_id or "has left", "" if row.agent_id else "faint")


def _missing_cell(row: RecipeRow) -> Cell:
    return Cell(", ".join(row.made.missing), "error")


def _references_cell(row: RecipeRow) -> Cell:
    references = row.references
    numbers = [
        pluralize(len(references.agents), "agent") if references.agents else "",
        pluralize(len(references.values), "value") if references.values else "",
        pluralize(len(references.children), "child", "children") if references.children else "",
    ]
    return Cell(", ".join(filter(None, numbers)) or "none", "" if references else "warn", rank=len(references))


COLUMNS: tuple[Column[RecipeRow, Any], ...] = (
    Column("ID", cell=lambda row: Cell(row.recipe.id), meaning="id of a recipe", shell_rank=1),
    Column("PATH", cell=lambda row: Cell(path_of(row.recipe)), meaning="makers and name of a made agent", shell_rank=2),
    Column("MADE BY", 18, grow=2, max_width=40, named=True, shell_rank=0, cell=_path_cell,
           meaning="makers, and below each the agents that it made"),
    Column("AGENT", 8, meaning="the agent that it made", cell=_agent_cell, shell_rank=3),
    Column("RIGHTS", 12, grow=2, max_width=40, drop=1, shell_rank=4,
           meaning="what it may use: what its recipe names and its maker has at this moment",
           cell=lambda row: Cell(", ".join(row.made.effective), "muted")),
    Column("MISSING", 8, grow=1, max_width=30, meaning="what its recipe names and its maker has lost; its work fails",
           shell_rank=5, cell=_missing_cell),
    Column("REFERENCES", 14, grow=1, max_width=30, drop=2, shell_rank=6, cell=_references_cell,
           meaning="agents, values of ctx.state and recipes of its agent that refer to it; gc removes those without"),
    Column("REV", 3, right=True, drop=4, meaning="how often it was written", shell_rank=7,
           cell=lambda row: Cell(count(row.recipe.revision), "faint" if row.recipe.revision == 1 else "",
                                 rank=row.recipe.revision)),
    Column("AGE", 6, right=True, calm=True, drop=3, meaning="how long ago it was written", shell_rank=8,
           cell=lambda row: Cell(ago(row.now_ms - row.recipe.at_ms).removesuffix(" ago"), "muted",
                                 rank=row.recipe.at_ms - row.now_ms)),
)  # fmt: skip


def recipes_by_path(state: State, path: str = "") -> list[Recipe]:
    """Return the recipes at a path and below it, or all: each maker before what it made."""
    below = f"{path.strip('/')}/"
    fitting = [recipe for recipe in state.recipes.values() if path == "" or f"{path_of(recipe)}/".startswith(below)]
    return sorted(fitting, key=lambda recipe: (recipe.path, recipe.at_ms, recipe.id))


def recipe_listing(state: State, *, needle: str = "", now_ms: int) -> Listing:
    """Return the recipes as a tree, below the agents that nobody made; keys are ids of recipes and of these agents."""
    columns = visible_columns(COLUMNS)
    references = references_to_recipes(state)
    tree = _tree(state, needle.casefold().split())
    roots = {
        root_id: state.recipes[below[0]].path[0] for root_id, below in tree.items() if root_id not in state.recipes
    }
    leads: dict[str, str] = {}
    for root_id in roots:
        leads[root_id] = ""
        _add_leads(leads, tree, root_id, "")

    def make(key: str) -> tuple[Cell, ...]:
        if key in roots:
            cells = {"MADE BY": Cell(roots[key], "strong"), "AGENT": Cell(key if key in state.agents else "has left")}
            return tuple(cells.get(column.title, EMPTY_CELL) for column in columns)
        recipe = state.recipes.get(key)
        if recipe is None:
            return ()
        return make_cells(columns, RecipeRow.of(state, recipe, references, now_ms)._replace(lead=leads[key]))

    empty = ("no recipe passes the filter", "esc shows all") if state.recipes else EMPTY
    return Listing(columns=columns, keys=[*leads], make=make, empty=empty, total=len(state.recipes) + len(roots))


def _tree(state: State, words: Sequence[str]) -> dict[str, list[str]]:
    """Return the recipes with all words, and the makers above them, by the id of the maker."""
    tree: dict[str, list[str]] = {}
    chosen: dict[str, None] = {}
    for recipe in state.recipes.values():
        text = " ".join((recipe.id, path_of(recipe), *recipe.capabilities, recipe.primer)).casefold()
        each: Recipe | None = recipe if all(word in text for word in words) else None
        while each is not None and each.id not in chosen:
            chosen[each.id] = None
            each = state.recipes.get(each.parent_id)
    for recipe in recipes_by_path(state):
        if recipe.id in chosen:
            tree.setdefault(recipe.parent_id, []).append(recipe.id)
    return tree


def _add_leads(leads: dict[str, str], tree: Mapping[str, Sequence[str]], maker_id: str, below: str) -> None:
    children = tree.get(maker_id, ())
    for index, recipe_id in enumerate(children):
        is_last = index == len(children) - 1
        leads[recipe_id] = below + ("└ " if is_last else "├ ")
        _add_leads(leads, tree, recipe_id, below + ("  " if is_last else "│ "))


def describe_recipe(state: State, recipe: Recipe, *, now_ms: int, width: int, height: int) -> RowDetails:
    """Describe a recipe: its rights now, who refers to it, who wrote it, and what it says."""
    row = RecipeRow.of(state, recipe, references_to_recipes(state), now_ms)
    lines: list[Line] = []
    for label, fact in recipe_facts(row):
        key = fact if label in ("task", "run") else ""  # a click opens it
        tone = "error" if label == "missing" else ""
        lines += [line._replace(key=key) for line in labelled_paragraphs([labelled_cell(label, fact, tone)], width)]
    lines += [BLANK, *indent_lines(prose(recipe.primer[:MAX_PRIMER_CHARACTERS], width - 2))]
    return RowDetails(f"RECIPE {recipe.id}", lines[:height], "enter opens its agent" if row.agent_id else "")


def recipe_facts(row: RecipeRow) -> list[tuple[str, str]]:
    """Return what is known of a recipe besides its primer, each fact with its label."""
    state, recipe, made, references = row.state, row.recipe, row.made, row.references
    maker, evidence = maker_of(state, recipe), recipe.made_by
    by = f"by {recipe.path[-2]}" + ("" if evidence is not None else " for a person")
    tokens = None if recipe.limits is None else recipe.limits.tokens
    facts = [
        ("path", path_of(recipe)),
        ("written", f"{moment(recipe.at_ms, row.now_ms)} {by}, revision {recipe.revision}, schema {recipe.schema}"),
        ("task", "" if evidence is None else evidence.task_id),
        ("run", "" if evidence is None else evidence.run_id),
        ("maker", "it has left the team, and all rights with it" if maker is None else f"{maker.name} ({maker.id})"),
        ("agent", _agent_words(state, row.agent_id)),
        ("rights", ", ".join(made.effective) or "none"),
        ("missing", ", ".join(made.missing)),
        ("state", ", ".join(_value_words(state, value) for value in references.values)),
        ("has made", ", ".join(f"{path_of(state.recipes[child])} ({child})" for child in references.children)),
        ("runs", recipe.run or ""),
        ("model", recipe.model or ""),
        ("tokens", "" if tokens is None else f"at most {tokens:,}"),
        ("specialties", ", ".join(recipe.specialties)),
        *((f"task {name}", f"{task.doc} {_schemas(task.input, task.output)}") for name, task in recipe.tasks.items()),
    ]
    return [(label, fact) for label, fact in facts if fact]


def _agent_words(state: State, agent_id: str | None) -> str:
    if agent_id is None:
        return "it has left the team"
    agent = state.agents[agent_id]
    is_swapped = "" if agent.recipe_id is not None else "; a swap gave it a spec of its own, which counts in its place"
    return f"{agent.name} ({agent_id}){is_swapped}"


def _schemas(task_input: Any, task_output: Any) -> str:
    return " → ".join(as_text(schema) for schema in (task_input, task_output) if schema is not None)


def _value_words(state: State, value: str) -> str:
    agent_id, _, key = value.partition(":")
    return f"{key} of {name_of(state, agent_id)} ({agent_id})"


def with_children(state: State, ids: Sequence[str]) -> list[str]:
    """Return recipes with all that their agents made; a maker is not removed without these."""
    removed = dict.fromkeys(ids)
    for recipe in recipes_by_path(state):  # each maker before what it made
        if recipe.parent_id in removed:
            removed[recipe.id] = None
    return [*removed]


def remove_lines(state: State, ids: Sequence[str]) -> list[str]:
    """Return what removing recipes would do."""
    recipes = [state.recipes[recipe_id] for recipe_id in ids if recipe_id in state.recipes]
    references = references_to_recipes(state)
    agents = sum(len(references[recipe.id].agents) for recipe in recipes)
    values = [value for recipe in recipes for value in references[recipe.id].values]
    shown, more = recipes[:MAX_REMOVED], len(recipes) - MAX_REMOVED
    return [
        *(f"{recipe.id} {path_of(recipe)}" for recipe in shown),
        *([f"and {more:,} more"] if more > 0 else []),
        *([f"{pluralize(agents, 'agent')} will leave once the work under way has ended."] if agents else []),
        *(f"ctx.state still names it: {_value_words(state, value)}" for value in values[:MAX_REMOVED]),
        "This cannot be undone; the maker may make it again.",
    ]
