"""Commands that bring whole trees: a team file, a supervisor with everything under it, another team in its place."""

from collections import Counter
from collections.abc import Sequence

from engine.core.commands import AddSupervisor, LoadTeam, ReplaceTeam, SupervisorSpec
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.merging import Merge, added
from engine.core.decide.mint import Mint
from engine.core.decide.moving import may_be_so_deep, with_warning
from engine.core.decide.naming import check_named
from engine.core.decide.settings import check_options
from engine.core.decide.team import name_is_free
from engine.core.decide.trust import trust
from engine.core.errors import DuplicateName, Refused
from engine.core.events import (
    AgentAdded,
    AgentRemoving,
    AgentSwapped,
    Event,
    SpecRegistered,
    StrategySwitched,
    SupervisorAdded,
    SupervisorChanged,
    SupervisorLeaving,
    TeamLoaded,
)
from engine.core.hierarchy import DEEPEST, depth_of, height_of, warning_of
from engine.core.queries.targets import find_supervisor
from engine.core.spec import AgentSpec, spec_hash
from engine.core.state import State, Supervisor
from engine.core.strategies import strategy_named

_COUNTED: dict[type, str] = {
    AgentAdded: "agents_added",
    AgentSwapped: "agents_swapped",
    AgentRemoving: "agents_removed",
    SupervisorAdded: "supervisors_added",
    SupervisorLeaving: "supervisors_removed",
    SupervisorChanged: "supervisors_changed",
    StrategySwitched: "strategies_switched",
}
_MODES = {
    "drain": ("drain", "drain"),
    "migrate": ("migrate", "requeue"),
    "requeue": ("drain", "requeue"),
    "abort": ("abort", "abort"),
}
"""What a mode means for agents that are swapped, and for those that are removed."""


def load_team(state: State, command: LoadTeam, ctx: Context) -> Applied:
    """Make the team of a file; where one is there already, add what is new and change what differs."""
    now = ctx.now_ms
    events = trust(state, [*specs_in(command.team), *command.registry], command.trusted, now)
    check_tree(command.team)
    events.append(
        TeamLoaded(at_ms=now, path=command.path, folder=command.folder, sha256=command.sha256, text=command.text)
    )
    for spec in command.registry:
        if state.registry.get(spec.name) != spec_hash(spec):
            events.append(SpecRegistered(at_ms=now, spec=spec))
    there = next((root for root in state.roots if root.name == command.team.name), None)
    if there is None:
        made, depth = added(command.team, None, ctx, Mint(state)), height_in(command.team)
    else:
        made, depth = _merged(Merge(state, ctx), there, command.team)
    counts = _counts(made)
    new, swapped = counts.get("agents_added", 0), counts.get("agents_swapped", 0)
    what = f"{new} agents" if there is None else f"{new} agents added, {swapped} swapped{_besides(counts)}"
    told = {name: count for name, count in counts.items() if there is not None and name in _SETTINGS}
    return with_warning(
        Applied(
            events=events + made,
            summary=f"loaded team {command.team.name}: {what}",
            result={"agents_added": new, "agents_swapped": swapped, **told},
        ),
        warning_of(state, depth),
    )


def add_supervisor(state: State, command: AddSupervisor, ctx: Context) -> Applied:
    """Add a supervisor with everything under it."""
    parent = find_supervisor(state, command.parent) if command.parent is not None else None
    events = trust(state, specs_in(command.team), command.trusted, ctx.now_ms)
    check_tree(command.team, forming=command.forming)
    depth = height_in(command.team)
    if parent is not None:
        name_is_free(state, parent, command.team.name)
        may_be_so_deep(state, parent, depth)
        depth += depth_of(state, parent)
    elif any(root.name == command.team.name for root in state.roots):
        raise DuplicateName(command.team.name, "this database")
    made = added(command.team, parent.id if parent else None, ctx, Mint(state))
    top = next(event.supervisor_id for event in made if isinstance(event, SupervisorAdded))
    return with_warning(
        Applied(events=events + made, summary=f"added supervisor {command.team.name}", result={"supervisor_id": top}),
        warning_of(state, depth),
    )


def replace_team(state: State, command: ReplaceTeam, ctx: Context) -> Applied:
    """Make what is under a supervisor like a description; its own name stays."""
    supervisor = find_supervisor(state, command.supervisor)
    if command.mode not in _MODES:
        raise Refused(f"no mode {command.mode!r}; there are {', '.join(_MODES)}")
    events = trust(state, specs_in(command.team), command.trusted, ctx.now_ms)
    check_tree(command.team)
    swaps, removals = _MODES[command.mode]
    merge = Merge(state, ctx, swaps=swaps, removals=removals)  # type: ignore[arg-type]
    merge.take(events)
    made, depth = _merged(merge, supervisor, command.team)
    counts = _counts(made)
    if not counts:
        raise Refused(f"supervisor {supervisor.name!r} is like that already; nothing to replace")
    return with_warning(
        Applied(
            events=made,
            summary=f"replaced the team of {supervisor.name}: {_told(counts)}",
            result={"supervisor_id": supervisor.id, **{name: counts.get(name, 0) for name in _COUNTED.values()}},
        ),
        warning_of(state, depth),
    )


def _merged(merge: Merge, there: Supervisor, team: SupervisorSpec) -> tuple[list[Event], int]:
    """Return what has to happen, and how deep the team is then."""
    merge.finish(there, team)
    now = merge.state.supervisors[there.id]
    return merge.events, depth_of(merge.state, now) - 1 + height_of(merge.state, now)


def _counts(events: Sequence[Event]) -> dict[str, int]:
    found = Counter(_COUNTED[type(event)] for event in events if type(event) in _COUNTED)
    return {name: found[name] for name in _COUNTED.values() if found[name]}


_SETTINGS = ("supervisors_changed", "strategies_switched")


def _besides(counts: dict[str, int]) -> str:
    said = {name: count for name, count in counts.items() if name in _SETTINGS}
    return f", {_told(said)}" if said else ""


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


def specs_in(team: SupervisorSpec) -> list[AgentSpec]:
    """Return every agent spec of a tree."""
    found: list[AgentSpec] = []
    for member in team.members:
        found += [member] if isinstance(member, AgentSpec) else specs_in(member)
    return found


def height_in(team: SupervisorSpec) -> int:
    """Return how many levels of supervisors a description has."""
    return 1 + max((height_in(member) for member in team.members if isinstance(member, SupervisorSpec)), default=0)


def check_tree(team: SupervisorSpec, *, forming: bool = False) -> None:
    """Refuse a tree that cannot be right: names twice, unknown strategy, missing participants or aggregator.

    Args:
        team: The tree.
        forming: Members that it names may still be missing.

    Raises:
        Refused: With the first thing that is wrong.
    """
    strategy_named(team.mode)
    names = [member.name for member in team.members]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DuplicateName(twice, f"supervisor {team.name!r}")
    if team.aggregation == "synthesis" and team.aggregator is None:
        raise Refused(f"supervisor {team.name!r} makes a synthesis but names no aggregator; name one of its agents")
    check_options(team.name, team.mode, team.options, ())
    if not forming:
        check_named(team, names)
    _check_depth(team)
    for member in team.members:
        if isinstance(member, SupervisorSpec):
            check_tree(member, forming=forming)


def _check_depth(team: SupervisorSpec) -> None:
    height, limits = height_in(team), team.options.limits
    limit = min(DEEPEST, limits.depth) if limits is not None and limits.depth is not None else DEEPEST
    if height > limit:
        raise Refused(f"supervisor {team.name!r} is {height} levels deep, itself included; {limit} is the limit")
