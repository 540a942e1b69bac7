"""Taking commands back: what was before a command holds again, told by the events before it."""

from collections.abc import Iterator
from typing import Any

from engine.core import events
from engine.core.records import changed
from engine.core.spec import AgentSpec, spec_hash
from engine.simulation.laws.registry import law
from engine.simulation.shadow_ledger import ShadowLedger

PAUSES = (
    events.AgentPaused, events.AgentResumed, events.SupervisorPaused, events.SupervisorResumed, events.RunPaused,
    events.RunResumed,
)  # fmt: skip
SPECS = (
    events.AgentAdded, events.AgentSwapped, events.SwapRolledBack, events.CapabilitiesChanged, events.MemberRenamed,
)  # fmt: skip
SWAPS = ("swap_agent", "swap_agents", "rollback", "rollback_agents")


@law(events.CommandUndone)
def an_undo_finds_what_its_command_left(books: ShadowLedger, event: events.CommandUndone) -> str | None:
    """A command is taken back after it was applied, once; then what it changed is as it was before it."""
    place = next((at for at, one in enumerate(books.events) if _applies(one, event.command_id)), None)
    undone = [one.command_id for one in books.events if isinstance(one, events.CommandUndone)]
    done: Any = None if place is None else books.events[place]
    if done is None or done.inverse is None or event.command_id in undone:
        return f"{event.command_id} is undone, and was not applied, has no inverse, or was undone before"
    assert place is not None
    if any(isinstance(one, events.StateImported) for one in books.events):
        return None  # what came in was said by no event
    # The last of the kind before it was applied is its own.
    for subject, history in _histories(books, done, place):
        values = [value for at, value in history if at < place]
        now = history[-1][1]
        if len(values) > 1 and now != values[-2]:
            return (
                f"{event.command_id} ({done.command}) is undone, and {subject} is {now!r:.80}, not {values[-2]!r:.80}"
            )
    return None


def _applies(event: events.Event, command_id: str) -> bool:
    return isinstance(event, events.CommandApplied) and event.command_id == command_id


Histories = Iterator[tuple[str, list[tuple[int, Any]]]]
"""Of each subject that a command has changed: what it was, with the place in the journal, the oldest first."""


def _histories(books: ShadowLedger, done: events.CommandApplied, place: int) -> Histories:
    """Yield what the subjects of an applied command were; nothing of a command that is looked at nowhere."""
    found: dict[str, list[tuple[int, Any]]] = {}
    told = _TELLS.get(done.command)
    if told is None:
        return
    own = ""
    for at, event in enumerate(books.events):
        for subject, value in told(event, found):
            found.setdefault(subject, []).append((at, value))
            if at < place and not _is_first(event):
                own = subject
    if done.command in SWAPS:
        said: Any = done.result.get("agents") or [done.result]
        yield from ((str(one["agent_id"]), found[str(one["agent_id"])]) for one in said)
    elif own:
        yield own, found[own]


def _is_first(event: events.Event) -> bool:
    return isinstance(event, events.AgentAdded | events.SupervisorAdded | events.RunSubmitted)


def _told_of_pauses(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.AgentAdded):
        yield event.agent_id, False
    elif isinstance(event, events.SupervisorAdded):
        yield event.supervisor_id, False
    elif isinstance(event, events.RunSubmitted):
        yield event.run_id, False
    elif isinstance(event, PAUSES):
        names = ("agent_id", "supervisor_id", "run_id")
        subject = next(getattr(event, name) for name in names if getattr(event, name, None) is not None)
        yield str(subject), event.type.endswith("paused")


def _told_of_places(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.AgentAdded):
        yield event.agent_id, event.supervisor_id
    elif isinstance(event, events.SupervisorAdded):
        yield event.supervisor_id, event.parent_id
    elif isinstance(event, events.MemberMoved):
        yield event.member_id, event.parent_id


def _told_of_settings(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.SupervisorAdded | events.SupervisorChanged):
        yield event.supervisor_id, (event.options, event.max_parallel, event.max_agents)
    elif isinstance(event, events.StrategySwitched) and event.scope != "run":
        options, *rest = found[event.supervisor_id][-1][1]
        yield event.supervisor_id, (changed(options, settings=event.settings, lead=event.lead), *rest)


def _told_of_specs(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((subject, spec_hash(spec.with_name("x"))) for subject, spec in _specs_in(event))


def _told_of_specialties(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((subject, sorted(word.casefold() for word in spec.specialties)) for subject, spec in _specs_in(event))


def _specs_in(event: Any) -> Iterator[tuple[str, AgentSpec]]:
    if isinstance(event, SPECS) and event.spec is not None:
        yield event.member_id if isinstance(event, events.MemberRenamed) else event.agent_id, event.spec


def _told_of_priorities(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.PrioritySet):
        subject = event.task_id or event.run_id
        yield subject, event.previous
        yield subject, event.priority


def _told_of_deadlines(event: Any, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.RunSubmitted):
        yield event.run_id, event.deadline_ms
    elif isinstance(event, events.DeadlineSet):
        subject = event.task_id or event.run_id
        if subject not in found:
            yield subject, None
        yield subject, event.deadline_ms
    elif isinstance(event, events.DeadlinePassed):
        yield event.task_id or event.run_id, None


_TELLS: dict[str, Any] = {
    "pause": _told_of_pauses,
    "resume": _told_of_pauses,
    "move": _told_of_places,
    "change_supervisor": _told_of_settings,
    "change_capabilities": _told_of_specialties,
    "set_priority": _told_of_priorities,
    "set_deadline": _told_of_deadlines,
    **dict.fromkeys(SWAPS, _told_of_specs),
}
"""What says how the subjects of a command were, by its type."""
