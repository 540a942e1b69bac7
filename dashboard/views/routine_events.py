"""Routine events in a row become one line; what an operator has to see never does."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.names import Names
from engine.core.events import AttemptStarted, Delegated, StepRecorded

MIN_FOLDED = 2
"""Routine events in a row from which on they are one line."""
_MAX_NAMES = 3
BOOKKEEPING: dict[str, tuple[str, str]] = {
    "part_recorded": ("part of a prompt", "parts of prompts"),
    "pool_watched": ("look at a pool", "looks at pools"),
    "queue_made": ("new queue", "new queues"),
    "budget_timed": ("budget clock", "budget clocks"),
    "need_met": ("met need", "met needs"),
    "slot_wanted": ("wait for a slot", "waits for slots"),
    "attempt_parked": ("pause for others", "pauses for others"),
    "attempt_resumed": ("resumption", "resumptions"),
    "call_answered": ("answered call", "answered calls"),
    "call_rejoined": ("rejoined call", "rejoined calls"),
    "retry_due": ("retry that is due", "retries that are due"),
    "item_taken": ("taken item", "taken items"),
    "item_returned": ("returned item", "returned items"),
    "plan_asked": ("requested plan", "requested plans"),
    "tool_started": ("started tool", "started tools"),
    "supervisor_added": ("new supervisor", "new supervisors"),
    "agent_added": ("new agent", "new agents"),
    "spec_registered": ("registered spec", "registered specs"),
    "group_ended": ("ended group", "ended groups"),
}
"""Kinds of events that only the Events screen shows, with their words for one and for several."""


def is_routine(entry: Entry) -> bool:
    """Return whether an event is of the machinery: bookkeeping, a delegation, its start, a recorded value of code."""
    event = entry.event
    if isinstance(event, AttemptStarted):
        return event.attempt == 1
    if isinstance(event, StepRecorded):
        return event.what == "code"
    return entry.kind in BOOKKEEPING or isinstance(event, Delegated)


def fold_routine(
    entries: Sequence[Entry], start: int, stop: int, is_open: Callable[[int], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the rows of entries from `start` to `stop`, each as the range of its entries.

    Args:
        entries: Events, the oldest first.
        start: First index.
        stop: Index behind the last one.
        is_open: Returns whether the routine events around an index are shown one by one.
    """
    at = start
    while at < stop:
        end = at + 1
        if is_routine(entries[at]):
            while end < stop and is_routine(entries[end]):
                end += 1
        if end - at < MIN_FOLDED or any(map(is_open, range(at, end))):
            yield from ((index, index + 1) for index in range(at, end))
        else:
            yield at, end
        at = end


def describe_routine(entries: Sequence[Entry], names: Names) -> str:
    """Return what happened in routine events: how many, who delegated how much, who began, and the rest counted."""
    delegated, began, others = Counter[str](), dict[str, None](), Counter[str]()
    starts = 0
    for entry in entries:
        event = entry.event
        if isinstance(event, Delegated):
            delegated[names.of(event.agent_id) if event.agent_id else "the engine"] += 1
        elif isinstance(event, AttemptStarted):
            starts += 1
            if event.agent_id is not None:
                began[names.of(event.agent_id)] = None
        else:
            others["" if isinstance(event, StepRecorded) else entry.kind] += 1
    parts = [f"{name} delegated {pluralize(number, 'task')}" for name, number in delegated.items()][:_MAX_NAMES]
    if starts:
        more = f" and {len(began) - _MAX_NAMES} more" if len(began) > _MAX_NAMES else ""
        parts.append(f"{', '.join([*began][:_MAX_NAMES]) or 'the engine'}{more} began {pluralize(starts, 'task')}")
    parts += [_count(kind, number) for kind, number in others.most_common(_MAX_NAMES)]
    return f"{len(entries):,} routine events: {'; '.join(parts)}"


def _count(kind: str, number: int) -> str:
    one, several = BOOKKEEPING.get(kind, ("recorded value", "recorded values"))
    return f"{number:,} {one if number == 1 else several}"
