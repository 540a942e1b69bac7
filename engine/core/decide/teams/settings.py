"""Decides on settings of supervisors, and checks the members that settings name.

Files, commands and switches are checked at once. A program may describe its team in any order, so it is checked when
the team is complete: at the first request, or when its engine is kept.
"""

from collections.abc import Collection, Sequence
from typing import Any

from engine.core.commands import ChangeSupervisor, SupervisorSpec
from engine.core.decide.people.trust import trust_references
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.discovery.nearest import nearest
from engine.core.encoding.json_values import json_equal
from engine.core.errors import Refused, UnknownAgent
from engine.core.events import SupervisorChanged
from engine.core.queries.targets import find_supervisor, member_name
from engine.core.queries.team.code import references_in_command
from engine.core.queries.team.declared import OPTIONS, OWN_SETTINGS
from engine.core.queries.team.settings import options_after
from engine.core.queries.team.tree import height_of, subtree_of
from engine.core.specs.options import SupervisorOptions
from engine.core.state import State, Supervisor
from engine.core.strategies import check_settings, strategy_named

SETTINGS = (*OWN_SETTINGS, "options")
"""Fields that a supervisor and its description both have, besides the strategy and its aggregation."""


def change_supervisor(state: State, command: ChangeSupervisor, ctx: DecisionContext) -> Decided:
    """Change the settings that the command names."""
    supervisor = find_supervisor(state, command.supervisor)
    own = {name: getattr(command, name) for name in ("max_parallel", "max_agents", "auto_discover")}
    changes: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    if command.options is not None or command.discovery is not None:
        changes["options"] = options_after(supervisor, command)
        names = [member_name(state, member_id) for member_id in supervisor.members]
        check_options(supervisor.name, supervisor.mode, changes["options"], names)
    trust = trust_references(state, references_in_command(command), ctx)
    event = settings_event(supervisor, changes)
    if event is None:
        raise Refused(f"supervisor {supervisor.name!r} has these settings already; nothing to change")
    check_depth_limit(state, supervisor, event.options)
    return Decided(
        events=[*trust, event],
        summary=f"changed {supervisor.name}: {', '.join(event.fields)}",
        result={"supervisor_id": supervisor.id, "fields": list(event.fields)},
    )


def settings_event(supervisor: Supervisor, changes: dict[str, Any]) -> SupervisorChanged | None:
    """Return the event that changes settings to the given values; None if nothing differs."""
    current = {name: getattr(supervisor, name) for name in SETTINGS}
    updated = current | changes
    differs = [name for name in SETTINGS if name != "options" and not json_equal(updated[name], current[name])]
    old_options, new_options = current["options"], updated["options"]
    differs += [name for name in OPTIONS if not json_equal(getattr(new_options, name), getattr(old_options, name))]
    if not differs:
        return None
    return SupervisorChanged(supervisor_id=supervisor.id, fields=differs, **updated)


def check_options(name: str, mode: str, options: SupervisorOptions, members: Collection[str]) -> None:
    """Refuse invalid options of a supervisor with this strategy; names are checked only if there are members."""
    for strategy in options.strategies.values():
        strategy_named(strategy)
    check_settings(mode, options.settings, list(members))
    if members and options.lead is not None and options.lead not in members:
        raise UnknownAgent(options.lead, nearest(options.lead, members))


def check_depth_limit(state: State, supervisor: Supervisor, options: SupervisorOptions) -> None:
    """Refuse a limit on depth that the subtree of a supervisor exceeds already."""
    limit = options.limits.depth if options.limits is not None else None
    height = height_of(state, supervisor)
    if limit is not None and height > limit:
        raise Refused(f"supervisor {supervisor.name!r} is {height} levels deep already, itself included; not {limit}")


def check_teams_complete(state: State) -> None:
    """Check that every supervisor has the members that it names; raises Refused with the first missing member."""
    for root in state.roots:
        for supervisor in subtree_of(state, root):
            check_named(supervisor, [member_name(state, member_id) for member_id in supervisor.members])


def check_named(supervisor: SupervisorSpec | Supervisor, members: Sequence[str]) -> None:
    """Refuse a supervisor, or its description, that names a member which is not in `members`."""
    named = [supervisor.options.lead, supervisor.aggregator, supervisor.default_agent, *(supervisor.participants or ())]
    for name in named:
        if name is not None and name not in members:
            raise UnknownAgent(name, nearest(name, members))
    check_settings(supervisor.mode, supervisor.options.settings, members)
