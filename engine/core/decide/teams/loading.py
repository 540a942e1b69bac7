"""Decides on commands that bring whole trees: team files, declarations, new supervisors, replacements."""

from collections import Counter
from collections.abc import Sequence

from engine.core.commands import AddSupervisor, Declare, LoadTeam, ReplaceTeam, SupervisorSpec
from engine.core.decide.people.trust import trust_references
from engine.core.decide.teams.merging import Merge, Terms, add_queues, subtree_events
from engine.core.decide.teams.moving import check_depth_below, with_warning
from engine.core.decide.teams.settings import check_named, check_options
from engine.core.decide.teams.team import check_name_free
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.discovery.nearest import nearest
from engine.core.errors import DuplicateName, Refused, UnknownSupervisor
from engine.core.events import (
    AgentAdded,
    AgentRemoving,
    AgentSwapped,
    Event,
    MemberMoved,
    MemberRenamed,
    SpecRegistered,
    StrategySwitched,
    SupervisorAdded,
    SupervisorChanged,
    SupervisorLeaving,
    TeamLoaded,
)
from engine.core.queries.targets import find_supervisor
from engine.core.queries.team.code import references_in_command
from engine.core.queries.team.team_plan import MemberChange, describe_change
from engine.core.queries.team.tree import MAX_DEPTH, depth_of, height_of, warning_of
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import pluralize
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import State, Supervisor
from engine.core.strategies import strategy_named

_COUNT_NAMES: dict[type, str] = {
    AgentAdded: "agents_added",
    AgentSwapped: "agents_swapped",
    AgentRemoving: "agents_removed",
    SupervisorAdded: "supervisors_added",
    SupervisorLeaving: "supervisors_removed",
    SupervisorChanged: "supervisors_changed",
    StrategySwitched: "strategies_switched",
    MemberMoved: "members_moved",
    MemberRenamed: "members_renamed",
}
_MODES = {
    "drain": ("drain", "drain"),
    "migrate": ("migrate", "requeue"),
    "requeue": ("drain", "requeue"),
    "abort": ("abort", "abort"),
}
"""For each mode of `replace_team`: the swap mode and the removal mode."""


def load_team(state: State, command: LoadTeam, ctx: DecisionContext) -> Decided:
    """Create the team of a file, or merge the file into the existing team."""
    merge, root = _merge_file(state, command, ctx)
    is_new = root.id not in state.supervisors
    events: list[Event] = [
        TeamLoaded(path=command.path, folder=command.folder, sha256=command.sha256, text=command.text)
    ]
    for spec in command.registry:
        if state.registry.get(spec.name) != spec_hash(spec):
            events.append(SpecRegistered(spec=spec))
    counts = _counts(merge.events)
    new, swapped = counts.get("agents_added", 0), counts.get("agents_swapped", 0)
    agents = pluralize(new, "agent")
    description = agents if is_new else f"{agents} added, {swapped} swapped{_describe_extras(counts)}"
    extra_names = () if is_new else _EXTRA_COUNTS
    extra_counts: dict[str, JsonValue] = {name: count for name, count in counts.items() if name in extra_names}
    return with_warning(
        Decided(
            events=events + merge.events,
            summary=f"loaded team {command.team.name}: {description}",
            result={"agents_added": new, "agents_swapped": swapped, **extra_counts, **_conflicts(merge)},
        ),
        warning_of(state, _depth(merge, root)),
    )


def plan_of(state: State, command: LoadTeam, ctx: DecisionContext) -> list[MemberChange]:
    """Return what loading a team file would change, nothing for a new team; raises Refused as loading it would."""
    merge, root = _merge_file(state, command, ctx)
    return merge.changes if root.id in state.supervisors else []


def _merge_file(state: State, command: LoadTeam, ctx: DecisionContext) -> tuple[Merge, Supervisor]:
    """Return the merge of a team file, and the root as it will be."""
    check_tree(command.team)
    merge = Merge(state, ctx, Terms(on_conflict=command.on_conflict, removals="drain" if command.prune else None))
    # The same references may name other files in another folder, so trust given for the old one does not count.
    is_elsewhere = state.team is not None and state.team.path != command.path
    merge.take(trust_references(state, references_in_command(command), ctx, anew=is_elsewhere))
    loaded_root = _loaded_root(state, command)
    if loaded_root is not None:
        merge.merge_supervisor(loaded_root.id, command.team)
        return merge, merge.state.supervisors[loaded_root.id]
    merge.take(subtree_events(command.team, None, ctx, Mint(state), declared=True))
    merge.renew_code()
    return merge, next(root for root in merge.state.roots if root.name == command.team.name)


def _loaded_root(state: State, command: LoadTeam) -> Supervisor | None:
    """Return the root that a file describes: by its name, else the only one that this file declared before."""
    named = find_declared_root(state, command.team.name)
    if named is not None or state.team is None or state.team.path != command.path:
        return named
    declared = [root for root in state.roots if root.id in state.declared]
    return declared[0] if len(declared) == 1 else None


def find_declared_root(state: State, name: str) -> Supervisor | None:
    """Return the root of this name, also if it was moved below another supervisor since it was declared."""
    named = [supervisor for supervisor in state.supervisors.values() if supervisor.name == name]
    root = next((supervisor for supervisor in named if supervisor.parent_id is None), None)
    if root is not None:
        return root
    declared = ((supervisor, state.declared.get(supervisor.id)) for supervisor in named)
    return next((supervisor for supervisor, base in declared if base is not None and base.parent_id == ""), None)


def declare(state: State, command: Declare, ctx: DecisionContext) -> Decided:
    """Merge a program's declaration of a member; differences are reported as `conflicts`."""
    merge = merge_declaration(state, command, ctx)
    return Decided(
        events=merge.events,
        summary=f"declared {command.member.name}: {_describe_counts(_counts(merge.events)) or 'nothing to change'}",
        result={"id": next(iter(merge.ids.values()), None), **_conflicts(merge)},
    )


def merge_declaration(state: State, command: Declare, ctx: DecisionContext) -> Merge:
    """Return the merge of a declaration; raises Refused if the declaration is invalid."""
    member = command.member
    terms = Terms(whole=False, on_conflict=command.on_conflict, settings=command.settings, scope="new")
    merge = Merge(state, ctx, terms)
    merge.take(trust_references(state, references_in_command(command), ctx))
    if isinstance(member, SupervisorSpec):
        check_tree(member, forming=True)
    if command.parent is not None:
        merge.merge_member(find_supervisor(state, command.parent).id, member)
        return merge
    declared_root = find_declared_root(state, member.name)
    if isinstance(member, AgentSpec) or declared_root is None:
        raise UnknownSupervisor(member.name, nearest(member.name, [root.name for root in state.roots]))
    merge.merge_supervisor(declared_root.id, member)
    return merge


def add_supervisor(state: State, command: AddSupervisor, ctx: DecisionContext) -> Decided:
    """Add a supervisor with everything under it."""
    parent = find_supervisor(state, command.parent) if command.parent is not None else None
    events = trust_references(state, references_in_command(command), ctx)
    check_tree(command.team, forming=command.forming)
    depth = height_in(command.team)
    if parent is not None:
        check_name_free(state, parent, command.team.name)
        check_depth_below(state, parent, depth)
        depth += depth_of(state, parent)
    elif any(root.name == command.team.name for root in state.roots):
        raise DuplicateName(command.team.name, "this database")
    parent_id = parent.id if parent is not None else None
    added_events = subtree_events(command.team, parent_id, ctx, Mint(state), declared=command.declared)
    if parent is not None:
        added_events = add_queues(state, added_events, ctx)
    top = next(event.supervisor_id for event in added_events if isinstance(event, SupervisorAdded))
    return with_warning(
        Decided(
            events=events + added_events, summary=f"added supervisor {command.team.name}", result={"supervisor_id": top}
        ),
        warning_of(state, depth),
    )


def replace_team(state: State, command: ReplaceTeam, ctx: DecisionContext) -> Decided:
    """Replace everything under a supervisor by a description; its own name stays."""
    supervisor = find_supervisor(state, command.supervisor)
    if command.mode not in _MODES:
        raise Refused(f"no mode {command.mode!r}; there are {', '.join(_MODES)}")
    swaps, removals = _MODES[command.mode]
    merge = Merge(state, ctx, Terms(declares=False, swaps=swaps, removals=removals))  # type: ignore[arg-type]
    merge.take(trust_references(state, references_in_command(command), ctx))
    check_tree(command.team)
    merge.merge_supervisor(supervisor.id, copy_with(command.team, name=supervisor.name))
    counts = _counts(merge.events)
    if not counts:
        raise Refused(f"supervisor {supervisor.name!r} matches already; nothing to replace")
    return with_warning(
        Decided(
            events=merge.events,
            summary=f"replaced the team of {supervisor.name}: {_describe_counts(counts)}",
            result={"supervisor_id": supervisor.id, **{name: counts.get(name, 0) for name in _COUNT_NAMES.values()}},
        ),
        warning_of(state, _depth(merge, merge.state.supervisors[supervisor.id])),
    )


def _depth(merge: Merge, supervisor: Supervisor) -> int:
    """Return the depth of the deepest level under a supervisor after the merge."""
    return depth_of(merge.state, supervisor) - 1 + height_of(merge.state, supervisor)


def _conflicts(merge: Merge) -> dict[str, JsonValue]:
    conflicts: list[JsonValue] = [describe_change(change) for change in merge.changes if change.since is not None]
    return {"conflicts": conflicts} if conflicts else {}


def _counts(events: Sequence[Event]) -> dict[str, int]:
    counter = Counter(_COUNT_NAMES[type(event)] for event in events if type(event) in _COUNT_NAMES)
    return {name: counter[name] for name in _COUNT_NAMES.values() if counter[name]}


_EXTRA_COUNTS = ("supervisors_changed", "strategies_switched", "members_moved", "members_renamed", "agents_removed")
"""Counts that the summary of a reloaded file adds to those of agents."""


_SINGULARS = {"agents": "agent", "supervisors": "supervisor", "strategies": "strategy", "members": "member"}


def _describe_extras(counts: dict[str, int]) -> str:
    extras = {name: count for name, count in counts.items() if name in _EXTRA_COUNTS}
    return f", {_describe_counts(extras)}" if extras else ""


def _describe_counts(counts: dict[str, int]) -> str:
    words = {name: name.split("_") for name in counts}
    return ", ".join(
        f"{pluralize(counts[name], _SINGULARS[many], many)} {done}" for name, (many, done) in words.items()
    )


def height_in(team: SupervisorSpec) -> int:
    """Return how many levels of supervisors a description has."""
    return 1 + max((height_in(member) for member in team.members if isinstance(member, SupervisorSpec)), default=0)


def check_tree(team: SupervisorSpec, *, forming: bool = False) -> None:
    """Refuse an invalid tree: duplicate names, unknown strategy, missing members unless it is `forming`."""
    strategy_named(team.mode)
    names = [member.name for member in team.members]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise DuplicateName(duplicate, f"supervisor {team.name!r}")
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
    limit = min(MAX_DEPTH, limits.depth) if limits is not None and limits.depth is not None else MAX_DEPTH
    if height > limit:
        raise Refused(f"supervisor {team.name!r} is {height} levels deep, itself included; {limit} is the limit")
