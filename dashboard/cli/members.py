"""`swap`, `rollback`, `capability`, `add`, `replace`, `set`: members of a team.

Rule: nothing is changed here. Each subcommand builds one command; `change` sends it and prints the outcome.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.cli.fields import build_command, takes
from dashboard.cli.printing.output import REFUSED, fail, say
from dashboard.cli.sending import Sending, allow_references, change
from dashboard.reading.model_table import facts_of
from dashboard.views.changes.models import UNLISTED
from engine.catalogue.approved import approved_entry
from engine.catalogue.database import catalogue_path
from engine.core import commands
from engine.core.commands import Command
from engine.core.errors import Refused
from engine.core.queries.targets import find_agent, id_target
from engine.core.queries.team.code import references_of
from engine.core.specs.spec import AgentSpec
from engine.core.validation.bounds import NAME
from engine.errors import CommandRefusedError
from engine.reading.folding import fold_file

if TYPE_CHECKING:
    from dashboard.user.specfile import SpecFile

MODES = ("drain", "migrate", "abort")
_mode = click.option(
    "--mode",
    type=click.Choice(MODES),
    default="drain",
    show_default=True,
    help="Running attempts end on the old spec; go on with the new one at their next step; or begin again on it.",
)
_generation = click.option(
    "--generation",
    type=click.IntRange(1),
    metavar="N",
    help="Refuse the change if the agent is not at generation N any more.",
)
_trust = click.option("--trust", is_flag=True, help="Allow the code that the file names.")


@change("swap", looks=True)
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option("--with", "replacement", metavar="SPEC|FILE", help="A spec of the registry, or a file.")
@click.option(
    "--from",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Swap several: each agent of FILE takes the place of the one of its name, all or none.",
)
@_mode
@takes(commands.SwapAgent, "model", "deadline")
@click.option("--rollback-after", metavar="N/M", help="Roll back by itself when N of the first M tasks fail.")
@_generation
@_trust
def swap(
    sending: Callable[[], Sending],
    agents: tuple[str, ...],
    *,
    replacement: str | None,
    file: Path | None,
    model: str | None,
    mode: str,
    deadline_s: float | None,
    rollback_after: str | None,
    generation: int | None,
    trust: bool,
) -> Command:
    """Give AGENT another spec, or another model, while it works; its id, its history and its queue stay.

    Several agents get the same spec or model, as one change: all of them, or none.
    """
    if sum(option is not None for option in (replacement, model, file)) != 1:
        fail("usage", "say what with", "one of --with SPEC|FILE or --model NAME for the agents named, or --from FILE")
    if file is None and not agents:
        fail("usage", "say which agent", "quarterdeck swap AGENT --with SPEC|FILE, or --model NAME")
    failures, tasks = _parse_probation(rollback_after)

    def swap_of(agent: str, *, spec: AgentSpec | None = None, registered: str | None = None) -> commands.SwapAgent:
        return commands.SwapAgent(
            agent=agent,
            spec=spec,
            registered=registered,
            model=model,
            mode=mode,
            deadline_s=deadline_s,
            rollback_failures=failures,
            rollback_tasks=tasks,
            generation=generation,
        )

    if model is not None:
        teams = fold_file(sending().path).supervisors.values()
        if "/" in model and facts_of(model) is None and not any(model in team.options.models for team in teams):
            say(f"{model} is {UNLISTED}")
        swaps = [swap_of(agent) for agent in agents]
    elif replacement is not None and NAME.fullmatch(replacement):
        swaps = [swap_of(agent, registered=replacement) for agent in agents]
    else:
        spec_file = _read(Path(replacement) if replacement is not None else file or Path())
        _ensure_granted(sending(), spec_file, trust=trust)
        if replacement is not None and len(spec_file.agents) != 1:
            text = f"{replacement} has {len(spec_file.agents)} agents"
            fail("usage", text, "--with takes a file with one agent; --from takes one with several")
        if replacement is not None:
            swaps = [swap_of(agent, spec=spec_file.agents[0]) for agent in agents]
        elif agents:
            swaps = [
                swap_of(agent, spec=spec) for agent, spec in _match_by_name(sending().path, agents, spec_file.agents)
            ]
        else:
            swaps = [swap_of(spec.name, spec=spec) for spec in spec_file.agents]
        if not swaps:
            fail("usage", f"{file} has none of these agents", "leave the names out to swap all of them")
    return swaps[0] if len(swaps) == 1 else commands.SwapAgents(swaps=swaps)


def _match_by_name(db: Path, agents: Sequence[str], specs: Sequence[AgentSpec]) -> Iterator[tuple[str, AgentSpec]]:
    """Yield each agent with the spec of its name, for those that have one."""
    state, by_name = fold_file(db), {spec.name: spec for spec in specs}
    for target in agents:
        try:
            name = find_agent(state, target).name
        except Refused as refused:
            fail(refused.code, f"refused: {refused.reason}", "", REFUSED)
        if name in by_name:
            yield target, by_name[name]


def _parse_probation(text: str | None) -> tuple[int | None, int]:
    if text is None:
        return None, 10
    failures, _, tasks = text.partition("/")
    if not (failures.isascii() and failures.isdigit() and int(failures) > 0):
        fail("usage", f"{text!r} is not N/M", "such as 2/10: back when 2 of the first 10 tasks fail")
    if tasks and not (tasks.isascii() and tasks.isdigit() and int(tasks) >= int(failures)):
        fail("usage", f"{text!r}: M must be at least N", "such as 2/10")
    return int(failures), int(tasks or 10)


@change("rollback")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@_mode
@_generation
def rollback(agents: tuple[str, ...], *, mode: str, generation: int | None) -> Command:
    """Give AGENT the spec of the generation before; a second time takes that back.

    Several agents are rolled back as one change: all of them, or none.
    """
    rollbacks = [commands.Rollback(agent=agent, mode=mode, generation=generation) for agent in agents]
    return rollbacks[0] if len(rollbacks) == 1 else commands.RollbackAgents(rollbacks=rollbacks)


@change("capability")
@takes(commands.ChangeCapabilities)
def capability(**values: object) -> Command:
    """Change what AGENT is able to do, while it works."""
    if not values["add"] and not values["remove"]:
        fail("usage", "nothing to change", "say --add WORD or --remove WORD")
    return build_command(commands.ChangeCapabilities, values)


@change("add", looks=True)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--catalogue", "entry_id", metavar="ID", help="An approved entry of the catalogue, instead of a file.")
@click.option("--as", "name", metavar="NAME", help="Another name for that agent.")
@click.option("--under", metavar="SUPERVISOR", help="The supervisor that gets them; by default the first one.")
@_trust
def add(
    sending: Callable[[], Sending],
    file: Path | None,
    *,
    entry_id: str | None,
    name: str | None,
    under: str | None,
    trust: bool,
) -> Command:
    """Add the contents of FILE: one agent, a list of agents, or a whole team file as a supervisor of its own.

    Several agents are added as one change: all of them, or none.

    An agent is written as in a team file: {name: scout, run: "crew.scout:survey", specialties: [survey]}
    """
    if (file is None) == (entry_id is None):
        fail("usage", "say what to add", "a FILE, or --catalogue ID; quarterdeck catalogue search finds entries")
    if entry_id is not None:
        _ensure_entry_granted(sending(), entry_id, trust=trust)
        return commands.AddAgent(supervisor=under, catalogue=entry_id, name=name)
    if name is not None:
        fail("usage", "--as names an agent of the catalogue", "an agent of a file is named in the file")
    assert file is not None
    spec_file = _read(file)
    _ensure_granted(sending(), spec_file, trust=trust)
    if spec_file.team is not None:
        roots = fold_file(sending().path).roots
        return commands.AddSupervisor(parent=under or (id_target(roots[0].id) if roots else None), team=spec_file.team)
    return commands.AddAgent(supervisor=under, spec=spec_file.agents[0], also=spec_file.agents[1:])


@change("replace", looks=True)
@click.argument("supervisor")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(MODES), default="drain", show_default=True, help="Of the swaps.")
@_trust
def replace(sending: Callable[[], Sending], supervisor: str, file: Path, *, mode: str, trust: bool) -> Command:
    """Make what is under SUPERVISOR like the team file FILE: swap what differs, add what is new, remove the rest."""
    spec_file = _read(file)
    if spec_file.team is None:
        fail("usage", f"{file} is not a team file", "it begins with 'version: 1' and has a supervisor")
    _ensure_granted(sending(), spec_file, trust=trust)
    return commands.ReplaceTeam(supervisor=supervisor, team=spec_file.team, mode=mode)


@change("set")
@takes(commands.ChangeSupervisor)
def set_(**values: object) -> Command:
    """Change what SUPERVISOR allows; what is not named stays."""
    if all(value in (None, ()) for name, value in values.items() if name != "supervisor"):
        fail("usage", "nothing to change", "see: quarterdeck set --help")
    return build_command(commands.ChangeSupervisor, values)


def _read(file: Path) -> "SpecFile":
    from dashboard.user.specfile import read_spec_file  # pydantic and yaml, which only files need

    return read_spec_file(file)


def _ensure_granted(sending: Sending, file: "SpecFile", *, trust: bool) -> None:
    allow_references(sending, file.references, file.path, file.sha256, source=str(file.path), trust=trust)


def _ensure_entry_granted(sending: Sending, entry_id: str, *, trust: bool) -> None:
    """Allow what an entry refers to, once a person agrees."""
    try:
        entry = approved_entry(entry_id)
    except CommandRefusedError:
        return  # the engine decides by the catalogue of its own user, which may be another
    source = f"{entry.name} of the pack {entry.pack}"
    allow_references(sending, references_of(entry.spec), catalogue_path(), entry.hash, source=source, trust=trust)
