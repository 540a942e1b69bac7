"""Taking commands back: what was before a command holds again, told by the events before it."""

from collections.abc import Iterator
from typing import Any

from engine.core import events
from engine.core.queries.team.declared import OPTIONS
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.simulation.laws.registry import law
from engine.simulation.shadow_ledger import ShadowLedger

PAUSES = (
    events.AgentPaused,
    events.AgentResumed,
    events.SupervisorPaused,
    events.SupervisorResumed,
    events.RunPaused,
    events.RunResumed,
)
SPECS = (
    events.AgentAdded,
    events.AgentSwapped,
    events.SwapRolledBack,
    events.CapabilitiesChanged,
    events.MemberRenamed,
)
SWAPS = ("swap_agent", "swap_agents", "rollback", "rollback_agents")


@law(events.CommandUndone)
def an_undo_finds_what_its_command_left(ledger: ShadowLedger, event: events.CommandUndone) -> str | None:
    """A command is taken back after it was applied, once; what it changed is as before it, and all else as it was."""
    place = next(
        (at for at, earlier_event in enumerate(ledger.events) if _applies(earlier_event, event.command_id)), None
    )
    undone = [
        earlier_event.command_id for earlier_event in ledger.events if isinstance(earlier_event, events.CommandUndone)
    ]
    done: Any = None if place is None else ledger.events[place]
    if done is None or done.inverse is None or event.command_id in undone:
        return f"{event.command_id} is undone, and was not applied, has no inverse, or was undone before"
    assert place is not None
    if any(isinstance(earlier_event, events.StateImported) for earlier_event in ledger.events):
        return None  # no event names the imported entities
    own, histories = _histories(ledger, done, place)
    last = max((history[-1][0] for history in histories.values()), default=0)
    others = [subject for subject, history in histories.items() if history[-1][0] == last and subject not in own]
    if others and done.command in _BY_FIELD:
        return f"{event.command_id} ({done.command}) is undone, and {others[0]} is changed beside what it changed"
    for subject, history in ((subject_id, histories[subject_id]) for subject_id in own):
        values = [value for at, value in history if at < place]
        now = history[-1][1]
        if len(values) > 1 and now != values[-2]:
            return (
                f"{event.command_id} ({done.command}) is undone, and {subject} is {now!r:.80}, not {values[-2]!r:.80}"
            )
    return None


def _applies(event: events.Event, command_id: str) -> bool:
    return isinstance(event, events.CommandApplied) and event.command_id == command_id


Histories = dict[str, list[tuple[int, Any]]]
"""Former values of each subject with their seq, the oldest first."""


def _histories(ledger: ShadowLedger, done: events.CommandApplied, place: int) -> tuple[set[str], Histories]:
    """Return the subjects that an applied command changed, and what all were; none for a command looked at nowhere."""
    histories: Histories = {}
    own: set[str] = set()
    changes_in = _CHANGES_BY_COMMAND.get(done.command)
    if changes_in is None:
        return own, histories
    own_at = -1
    for at, event in enumerate(ledger.events):
        for subject, value in changes_in(event, histories):
            history = histories.setdefault(subject, [])
            if done.command in _BY_FIELD and history and history[-1][1] == value:
                continue
            history.append((at, value))
            # The last event of the kind before `CommandApplied` is the command's own.
            if at < place and not isinstance(event, events.AgentAdded | events.SupervisorAdded | events.RunSubmitted):
                own = {*own, subject} if at == own_at else {subject}
                own_at = at
    if done.command in SWAPS:
        results: Any = done.result.get("agents") or [done.result]
        own = {str(result["agent_id"]) for result in results}
    return own, histories


def _pause_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
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


def _place_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.AgentAdded):
        yield event.agent_id, event.supervisor_id
    elif isinstance(event, events.SupervisorAdded):
        yield event.supervisor_id, event.parent_id
    elif isinstance(event, events.MemberMoved):
        yield event.member_id, event.parent_id


def _settings_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    values: dict[str, Any] = {}
    if isinstance(event, events.SupervisorAdded | events.SupervisorChanged):
        values = {name: getattr(event.options, name) for name in OPTIONS}
        values |= {name: getattr(event, name) for name in ("max_parallel", "max_agents", "auto_discover")}
    elif isinstance(event, events.StrategySwitched) and event.scope != "run":
        values = {"settings": event.settings, "lead": event.lead}
    yield from ((f"{name} of {event.supervisor_id}", value) for name, value in values.items())


def _spec_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((subject, spec_hash(spec.with_name("x"))) for subject, spec in _specs_in(event))


def _specialty_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for subject, spec in _specs_in(event):
        has = {f"{word.casefold()} of {subject}" for word in spec.specialties}
        earlier_subjects = [specialty for specialty in histories if specialty.endswith(f" of {subject}")]
        yield from (
            (specialty, specialty in has) for specialty in (*earlier_subjects, *has.difference(earlier_subjects))
        )


def _specs_in(event: Any) -> Iterator[tuple[str, AgentSpec]]:
    if isinstance(event, SPECS) and event.spec is not None:
        yield event.member_id if isinstance(event, events.MemberRenamed) else event.agent_id, event.spec


def _priority_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.PrioritySet):
        subject = event.task_id or event.run_id
        yield subject, event.previous
        yield subject, event.priority


def _deadline_changes(event: Any, histories: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(event, events.RunSubmitted):
        yield event.run_id, event.deadline_ms
    elif isinstance(event, events.DeadlineSet):
        subject = event.task_id or event.run_id
        if subject not in histories:
            yield subject, None
        yield subject, event.deadline_ms
    elif isinstance(event, events.DeadlinePassed):
        yield event.task_id or event.run_id, None


_CHANGES_BY_COMMAND: dict[str, Any] = {
    "pause": _pause_changes,
    "resume": _pause_changes,
    "move": _place_changes,
    "change_supervisor": _settings_changes,
    "change_capabilities": _specialty_changes,
    "set_priority": _priority_changes,
    "set_deadline": _deadline_changes,
    **dict.fromkeys(SWAPS, _spec_changes),
}
"""Functions that return the values of the subjects of a command, by its type."""
_BY_FIELD = ("change_supervisor", "change_capabilities")
"""Commands that change several things of an object, each of which is a subject."""
