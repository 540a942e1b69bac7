"""What is set for a supervisor: changed by a command, or by a description of its team."""

from collections.abc import Collection
from typing import Any

from engine.core.commands import ChangeSupervisor
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.find import member_name
from engine.core.declared import OPTIONS, OWN
from engine.core.discovery import nearest
from engine.core.errors import Refused, UnknownAgent
from engine.core.events import SupervisorChanged
from engine.core.fact import changed
from engine.core.hierarchy import height_of
from engine.core.options import SupervisorOptions
from engine.core.queries.targets import find_supervisor
from engine.core.state import State, Supervisor
from engine.core.strategies import check_settings, strategy_named

SETTINGS = (*OWN, "options")
"""Fields that a supervisor and its description both have, besides the strategy and its aggregation."""


def change_supervisor(state: State, command: ChangeSupervisor, ctx: Context) -> Applied:
    """Change settings; what the command leaves out stays."""
    supervisor = find_supervisor(state, command.supervisor)
    wanted: dict[str, Any] = {"max_parallel": command.max_parallel, "max_agents": command.max_agents}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    if command.options is not None:
        wanted["options"] = overlaid(supervisor.options, command.options)
        names = [member_name(state, one) for one in supervisor.members]
        check_options(supervisor.name, supervisor.mode, wanted["options"], names)
    event = settings_changed(supervisor, wanted)
    if event is None:
        raise Refused(f"supervisor {supervisor.name!r} has these settings already; nothing to change")
    may_stay_so_deep(state, supervisor, event.options)
    return Applied(
        events=[event],
        summary=f"changed {supervisor.name}: {', '.join(event.fields)}",
        result={"supervisor_id": supervisor.id, "fields": list(event.fields)},
    )


def settings_changed(supervisor: Supervisor, wanted: dict[str, Any]) -> SupervisorChanged | None:
    """Return the event that gives a supervisor what is wanted; None where it has all of that."""
    now = {name: getattr(supervisor, name) for name in SETTINGS}
    after = now | wanted
    differs = [name for name in SETTINGS if name != "options" and after[name] != now[name]]
    differs += [one for one in OPTIONS if getattr(after["options"], one) != getattr(now["options"], one)]
    if not differs:
        return None
    return SupervisorChanged(supervisor_id=supervisor.id, fields=differs, **after)


def overlaid(options: SupervisorOptions, by: SupervisorOptions) -> SupervisorOptions:
    """Return `options` with what is set in `by`; what is None or empty there stays."""
    said = {name: getattr(by, name) for name in OPTIONS}
    return changed(options, **{name: value for name, value in said.items() if value not in (None, (), {})})


def check_options(name: str, mode: str, options: SupervisorOptions, members: Collection[str]) -> None:
    """Refuse options that cannot be right for a supervisor in this strategy; without members, names are not looked at.

    Raises:
        Refused: With the first thing that is wrong.
    """
    for strategy in options.strategies.values():
        strategy_named(strategy)
    check_settings(mode, options.settings, list(members))
    if members and options.lead is not None and options.lead not in members:
        raise UnknownAgent(options.lead, nearest(options.lead, members))


def may_stay_so_deep(state: State, supervisor: Supervisor, options: SupervisorOptions) -> None:
    """Refuse a limit on depth that what is under a supervisor passes already.

    Raises:
        Refused: If it does.
    """
    limit = options.limits.depth if options.limits is not None else None
    height = height_of(state, supervisor)
    if limit is not None and height > limit:
        raise Refused(f"supervisor {supervisor.name!r} is {height} levels deep already, itself included; not {limit}")
