"""Counters per quarter of a second: time at work of each agent, ended and failed attempts, tokens.

The feed counts while it folds, so that no screen walks over events to draw a meter, a lane or a rate. Slots are aligned
to the clock and samples are whole slots, so that a bar keeps its shape while it moves.
"""

from array import array
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.views.measures.queues import QueueHistory
from engine.core import events as on
from engine.core.events import Event
from engine.core.state import Agent, State

SLOT_MS = 250
SLOTS = 480
"""Slots that are kept: two minutes."""
RETAINED_MS = SLOT_MS * SLOTS
_MAX_KEPT = 2_000
"""Ends and marks that are kept."""


class AttemptEnd(NamedTuple):
    """The end of an attempt."""

    at_ms: int
    task_id: str
    agent_id: str
    duration_ms: int
    at_work_ms: int
    """Time for which it held a slot, without waits."""
    done: bool


class AttemptSpend(NamedTuple):
    """Tokens and money that an attempt reported at a step or at its end; each amount is reported once."""

    at_ms: int
    agent_id: str
    tokens: int
    """Input and output tokens."""
    cost_usd: float


class ActivityMark(NamedTuple):
    """A mark: a rare event of an agent, a supervisor or a task."""

    at_ms: int
    glyph: str
    """`◆` swapped, `◇` another strategy, `‖` paused, `✕` failed for good, `⚑` asks a person."""
    subject: str


class Track:
    """The time at work of one agent, or of all together, by slot.

    An open attempt is counted in advance to the end of the newest slot, and in whole slots as new ones begin, so that
    the cost of a change does not depend on the time since the last one.
    """

    __slots__ = ("_end_ms", "_head", "busy", "parked", "running", "waited")

    def __init__(self) -> None:
        self.running = self.parked = 0
        """Attempts that hold a slot, and parked ones, which wait for delegated tasks or for a person."""
        self._head = -1
        """Number of the newest slot; it ends at `_end_ms`."""
        self._end_ms = 0
        self.busy = array("i", bytes(4 * SLOTS))
        """Milliseconds of attempts at work, by slot."""
        self.waited: array[int] | None = None
        """Milliseconds of parked attempts; allocated on demand, because most agents never park."""

    def change(self, at_ms: int, running: int, parked: int = 0) -> None:
        """Change the number of running and parked attempts from a moment on."""
        if at_ms >= self._end_ms:
            self._begin(at_ms // SLOT_MS)
        elif at_ms < (begun_ms := self._end_ms - SLOT_MS):
            self.span(at_ms, begun_ms, max(0, running), max(0, parked))
            at_ms = begun_ms
        self.running += running
        self.busy[self._head % SLOTS] += running * (self._end_ms - at_ms)
        if parked:
            self.parked += parked
            self._waiting()[self._head % SLOTS] += parked * (self._end_ms - at_ms)

    def span(self, from_ms: int, to_ms: int, running: int, parked: int = 0) -> None:
        """Add attempts between two moments; time before the oldest slot is left out."""
        if to_ms >= self._end_ms:
            self._begin(to_ms // SLOT_MS)
        from_ms = max(from_ms, self._end_ms - RETAINED_MS)
        if running and from_ms < to_ms:
            _spread(self.busy, from_ms, to_ms, running)
        if parked and from_ms < to_ms:
            _spread(self._waiting(), from_ms, to_ms, parked)

    def _waiting(self) -> "array[int]":
        if self.waited is None:
            self.waited = array("i", bytes(4 * SLOTS))
        return self.waited

    def _begin(self, slot: int) -> None:
        since = max(self._head + 1, slot - SLOTS + 1)
        self._head, self._end_ms = slot, (slot + 1) * SLOT_MS
        fill(self.busy, since, slot + 1, self.running * SLOT_MS)
        if self.waited is not None:
            fill(self.waited, since, slot + 1, self.parked * SLOT_MS)

    def work(self, now_ms: int, samples: int, each: int, *, until_ms: int | None = None) -> tuple[list[int], list[int]]:
        """Return the milliseconds of running and of parked attempts up to now, in samples of `each` slots.

        The oldest sample comes first; the newest one is incomplete. Open attempts count up to `until_ms`, if that is
        before now.
        """
        busy = sums(self.busy, self._head, now_ms, samples, each)
        waited = [0] * samples if self.waited is None else sums(self.waited, self._head, now_ms, samples, each)
        if not self.running and not self.parked:
            return busy, waited
        length = each * SLOT_MS
        first = now_ms // length - samples + 1
        counted_ms = now_ms if until_ms is None else min(now_ms, until_ms)
        for place in range(max(0, self._head // each - first), samples):
            start_ms = (first + place) * length
            # Open attempts are counted to the end of the newest slot, and not after it.
            open_ms = min(counted_ms, start_ms + length) - max(self._end_ms, start_ms)
            busy[place] = max(0, busy[place] + self.running * open_ms)
            waited[place] = max(0, waited[place] + self.parked * open_ms)
        return busy, waited


class SlotCounts:
    """A counter by slot."""

    def __init__(self) -> None:
        self._head = -1
        self._slots = array("Q", bytes(8 * SLOTS))

    def add(self, at_ms: int, count: int = 1) -> None:
        """Add a count at a moment; a time before the oldest slot is left out."""
        slot = at_ms // SLOT_MS
        if slot > self._head:
            fill(self._slots, max(self._head + 1, slot - SLOTS + 1), slot + 1, 0)
            self._head = slot
        if slot > self._head - SLOTS:
            self._slots[slot % SLOTS] = min(_MAX_COUNT, self._slots[slot % SLOTS] + count)

    def sums(self, now_ms: int, samples: int, each: int) -> list[int]:
        """Return the sums of samples of `each` slots, the oldest first; the newest one is incomplete."""
        return sums(self._slots, self._head, now_ms, samples, each)


def sums(ring: "array[int]", head: int, now_ms: int, samples: int, each: int) -> list[int]:
    """Return the sums of samples of `each` slots of a ring whose newest slot is `head`; slots outside it count as 0."""
    end = (now_ms // SLOT_MS // each + 1) * each
    begin = end - samples * each
    oldest, newest = max(begin, head - SLOTS + 1), min(end, head + 1)
    if oldest >= newest:
        return [0] * samples
    first, last = oldest % SLOTS, (newest - 1) % SLOTS + 1
    values = ring[first:last] if first < last else ring[first:] + ring[:last]
    slots = [*[0] * (oldest - begin), *values, *[0] * (end - newest)]
    return [sum(slots[place : place + each]) for place in range(0, len(slots), each)]


def fill(ring: "array[int]", slot: int, end: int, each: int) -> None:
    """Set the slots of a ring from `slot` up to `end`."""
    if end - slot <= 2:  # the usual case, without an array
        for place in range(slot, end):
            ring[place % SLOTS] = each
        return
    first, last = slot % SLOTS, (end - 1) % SLOTS + 1
    if first < last:
        ring[first:last] = array(ring.typecode, [each]) * (last - first)
    else:
        ring[first:] = array(ring.typecode, [each]) * (SLOTS - first)
        ring[:last] = array(ring.typecode, [each]) * last


_NO_TRACK = Track()
_MAX_COUNT = 2**63
"""Bound of a counter, which a model may exceed by reporting absurd usage."""
_SWAPS = (on.AgentSwapped, on.SwapRolledBack)
END_KINDS = (on.AttemptDone.type, on.AttemptFailed.type)
"""Kinds of events that `ends_of` reads."""
SPENDING = tuple(event_class for event_class in on.EVENTS if hasattr(event_class, "usage"))
"""Events that report the usage of an attempt since its last report."""
SPEND_KINDS = tuple(event_class.type for event_class in SPENDING)
"""Kinds of events that `spends_of` reads."""
_MARKS = {
    **dict.fromkeys(_SWAPS, "◆"),
    on.StrategySwitched: "◇",
    on.AgentPaused: "‖",
    on.TaskFailed: "✕",
    on.Escalated: "⚑",
}


def _spread(counter: "array[int]", from_ms: int, to_ms: int, attempts: int) -> None:
    """Add the time of attempts to the slots that it covers."""
    first, last = from_ms // SLOT_MS, to_ms // SLOT_MS
    if first == last:
        counter[first % SLOTS] += attempts * (to_ms - from_ms)
        return
    counter[first % SLOTS] += attempts * ((first + 1) * SLOT_MS - from_ms)
    for slot in range(first + 1, last):
        counter[slot % SLOTS] += attempts * SLOT_MS
    if rest_ms := to_ms - last * SLOT_MS:
        counter[last % SLOTS] += attempts * rest_ms


class Activity:
    """The counters of a team up to the newest event."""

    def __init__(self) -> None:
        self.team = Track()
        """All agents together, as the counters below."""
        self.events, self.done, self.failed, self.tokens = SlotCounts(), SlotCounts(), SlotCounts(), SlotCounts()
        self.ends: deque[AttemptEnd] = deque(maxlen=_MAX_KEPT)
        """The last ends of attempts, the newest at the right."""
        self.ended_count = 0
        """Number of all ends of attempts."""
        self.spends: deque[AttemptSpend] = deque(maxlen=_MAX_KEPT)
        """The last reports of usage, the newest at the right."""
        self.spend_count = 0
        """Number of all reports of usage."""
        self.marks: deque[ActivityMark] = deque(maxlen=_MAX_KEPT)
        self.started_ms: dict[str, int] = {}
        """Last start of an attempt by agent."""
        self.swapped_ms: dict[str, int] = {}
        """Last swap or rollback by agent."""
        self.switched_ms: dict[str, int] = {}
        """Last strategy switch by supervisor."""
        self.queued: deque[tuple[int, int]] = deque(maxlen=SLOTS)
        """Samples of the time and the total length of all queues."""
        self.queues = QueueHistory()
        self.until_ms: int | None = None
        """Last sign of life of an engine that has ended, up to which its open attempts count; None while it works."""
        self._tracks: dict[str, Track] = {}
        self._open: dict[str, tuple[str, bool]] = {}
        """Open attempts by task: the agent, and whether it is parked."""
        self._cut: frozenset[str] = frozenset()
        """Tasks whose attempts ended with the previous engine; they are running in the state until that is recorded."""
        self._counted_events: Sequence[Event] = ()
        """The events that are being counted; the last one before them was at `_last_ms`."""
        self._last_ms = 0

    @classmethod
    def of(cls, state: State, events: Sequence[Event]) -> "Activity":
        """Return the counters as of a state, from the events of the last two minutes before it."""
        activity = cls()
        activity.count_events(events)
        activity.count_open_attempts(state)
        return activity

    def track(self, agent_id: str) -> Track:
        """Return the counters of an agent."""
        return self._tracks.get(agent_id, _NO_TRACK)

    def shares(self, agent_id: str, now_ms: int, *, samples: int, each: int, slots: int = 1) -> list[float]:
        """Return the busy share of an agent, 0 to 1, in samples of `each` quarter seconds."""
        busy, _ = self.track(agent_id).work(now_ms, samples, each, until_ms=self.until_ms)
        whole = each * SLOT_MS * max(1, slots)
        return [min(1.0, busy_ms / whole) for busy_ms in busy]

    def shares_of(self, agents: Collection[Agent], now_ms: int, *, samples: int, each: int) -> list[float]:
        """Return the busy share of all slots of several agents, as `shares` does for one."""
        whole = each * SLOT_MS * max(1, sum(agent.max_concurrency for agent in agents))
        busy_by_agent = (
            self.track(agent.id).work(now_ms, samples, each, until_ms=self.until_ms)[0] for agent in agents
        )
        return [min(1.0, sum(column) / whole) for column in zip(*busy_by_agent, strict=True)]

    def count_earlier(self, events: Sequence[Event]) -> None:
        """Count ends and usage of events before all counted ones; the oldest event comes first."""
        ends, spends = ends_of(events), spends_of(events)
        self.ended_count, self.spend_count = self.ended_count + len(ends), self.spend_count + len(spends)
        self.ends, self.spends = deque([*ends, *self.ends], _MAX_KEPT), deque([*spends, *self.spends], _MAX_KEPT)
        for end in ends:
            (self.done if end.done else self.failed).add(end.at_ms)
        for spend in spends:
            self.tokens.add(spend.at_ms, spend.tokens)

    def count_open_attempts(self, state: State) -> None:
        """Add open attempts whose start was not among the events."""
        for agent in state.agents.values():
            for task_id in (*agent.running, *agent.parked):
                task = state.tasks.get(task_id)
                if task is None or task.attempt is None or task_id in self._open or task_id in self._cut:
                    continue
                since_ms = max(task.attempt.started_ms, state.at_ms - RETAINED_MS)
                self._begin(task_id, agent.id, since_ms, parked=task.attempt.parked)

    def count_events(self, events: Sequence[Event]) -> None:
        """Count events in their order."""
        counts, self._counted_events = _COUNTS, events
        for event in events:
            count = counts.get(type(event))
            if count is not None:
                count(self, event)
        if events:
            self._last_ms = events[-1].at_ms
        for slot, count_of_slot in Counter([event.at_ms // SLOT_MS for event in events]).items():
            self.events.add(slot * SLOT_MS, count_of_slot)

    def _track_of(self, agent_id: str) -> Track:
        track = self._tracks.get(agent_id)
        if track is None:
            track = self._tracks[agent_id] = Track()
        return track

    def _cut_off(self, started: on.EngineStarted) -> None:
        """End the attempts of the previous engine at its last event: nothing was at work without an engine."""
        place = next(place for place, event in enumerate(self._counted_events) if event is started)
        last_ms = self._counted_events[place - 1].at_ms if place else self._last_ms
        self._cut = frozenset(task_id for task_id, (_, parked) in self._open.items() if not parked)
        for task_id in self._cut:
            agent_id, _ = self._open.pop(task_id)
            for track in (self._track_of(agent_id), self.team):
                track.change(last_ms, -1)

    def _count_started(self, event: on.AttemptStarted) -> None:
        if event.agent_id is not None:  # built-in work has no agent
            self._begin(event.task_id, event.agent_id, event.at_ms)

    def _begin(self, task_id: str, agent_id: str, at_ms: int, *, parked: bool = False) -> None:
        self._open[task_id] = (agent_id, parked)
        self.started_ms[agent_id] = max(at_ms, self.started_ms.get(agent_id, 0))
        for track in (self._track_of(agent_id), self.team):
            track.change(at_ms, not parked, parked)

    def _park(self, task_id: str, at_ms: int) -> None:
        agent_id, parked = self._open.get(task_id, ("", True))
        if not parked:
            self._open[task_id] = (agent_id, True)
            for track in (self._track_of(agent_id), self.team):
                track.change(at_ms, -1, 1)

    def _count_call(self, event: on.Delegated | on.CallRejoined) -> None:
        if event.parks:
            self._count_parked(event)

    def _count_parked(self, event: on.AttemptParked | on.Delegated | on.CallRejoined) -> None:
        if event.task_id not in self._open:  # its start is not among the events
            self._begin(event.task_id, event.agent_id, event.at_ms)
        self._park(event.task_id, event.at_ms)

    def _resume(self, event: on.AttemptResumed) -> None:
        agent_id, at_ms = event.agent_id, event.at_ms
        if event.task_id not in self._open:  # it was parked before the events
            self._begin(event.task_id, agent_id, at_ms)
            for track in (self._track_of(agent_id), self.team):
                track.span(at_ms - RETAINED_MS, at_ms, 0, parked=1)
        agent_id, parked = self._open[event.task_id]
        if parked:
            self._open[event.task_id] = (agent_id, False)
            for track in (self._track_of(agent_id), self.team):
                track.change(at_ms, 1, -1)

    def _end(
        self,
        event: on.AttemptDone
        | on.AttemptFailed
        | on.AttemptCancelled
        | on.AttemptLost
        | on.AttemptPreempted
        | on.AttemptSetAside,
    ) -> None:
        agent_id, at_ms = event.agent_id, event.at_ms
        if agent_id is None:
            return
        if not isinstance(event, on.AttemptLost):
            self._spend(event)
        begun = self._open.pop(event.task_id, None)
        for track in (self._track_of(agent_id if begun is None else begun[0]), self.team):
            if begun is None:
                track.span(at_ms - min(getattr(event, "duration_ms", 0), RETAINED_MS), at_ms, 1)
            elif begun[1]:
                track.change(at_ms, 0, -1)
            else:
                track.change(at_ms, -1)
        # A lost attempt continues, and is no failure of the agent.
        if isinstance(event, on.AttemptDone | on.AttemptFailed):
            self.ended_count += 1
            self.ends.append(end := _end_of(event))
            (self.done if end.done else self.failed).add(at_ms)

    def _spend(self, event: Any) -> None:
        spent = _spend_of(event)
        if spent is not None:
            self.spend_count += 1
            self.spends.append(spent)
            self.tokens.add(spent.at_ms, spent.tokens)

    def _forget(self, member_id: str) -> None:
        for table in (self._tracks, self.started_ms, self.swapped_ms, self.switched_ms):
            table.pop(member_id, None)

    def _mark(self, event: Event) -> None:
        if isinstance(event, _SWAPS):
            self.swapped_ms[event.agent_id] = event.at_ms
            subject = event.agent_id
        elif isinstance(event, on.StrategySwitched):
            self.switched_ms[event.supervisor_id] = event.at_ms
            subject = event.supervisor_id
        elif isinstance(event, on.AgentPaused):
            subject = event.agent_id
        elif isinstance(event, on.TaskFailed):
            subject = event.task_id
        elif isinstance(event, on.Escalated):
            subject = event.subject
        else:
            return
        self.marks.append(ActivityMark(event.at_ms, _MARKS[type(event)], subject))

    def sample_queues(self, at_ms: int, waiting: int, waiting_of: Mapping[str, int]) -> None:
        """Sample the total length of all queues once per slot, and each queue once per second."""
        self.queues.record(waiting_of, at_ms)
        if not self.queued or at_ms // SLOT_MS > self.queued[-1][0] // SLOT_MS:
            self.queued.append((at_ms, waiting))


# Not bound to an instance, because that reference cycle would keep up to 2 MB until a garbage collection.
_COUNTS: dict[type[Event], Callable[[Activity, Any], None]] = {
    on.EngineStarted: Activity._cut_off,
    on.AttemptStarted: Activity._count_started,
    on.AttemptParked: Activity._count_parked,
    on.Delegated: Activity._count_call,
    on.CallRejoined: Activity._count_call,
    on.AttemptResumed: Activity._resume,
    **dict.fromkeys(SPENDING, Activity._spend),
    on.AgentRemoved: lambda self, event: self._forget(event.agent_id),
    on.SupervisorRemoved: lambda self, event: self._forget(event.supervisor_id),
    **dict.fromkeys(on.ATTEMPT_ENDS, Activity._end),
    **dict.fromkeys(_MARKS, Activity._mark),
}


def ends_of(events: Iterable[Event]) -> list[AttemptEnd]:
    """Return the ends of attempts of agents among events."""
    ends = (event for event in events if isinstance(event, on.AttemptDone | on.AttemptFailed))
    return [_end_of(event) for event in ends if event.agent_id is not None]


def _end_of(event: Any) -> AttemptEnd:
    """Return the end of an attempt from its event."""
    done = isinstance(event, on.AttemptDone)
    return AttemptEnd(event.at_ms, event.task_id, event.agent_id, event.duration_ms, event.usage.time_ms, done)


def spends_of(events: Iterable[Event]) -> list[AttemptSpend]:
    """Return the reports of usage among events."""
    spends = (_spend_of(event) for event in events if isinstance(event, SPENDING))
    return [spend for spend in spends if spend is not None]


def _spend_of(event: Any) -> AttemptSpend | None:
    usage = event.usage
    tokens, cost = (usage.tokens_in or 0) + (usage.tokens_out or 0), usage.cost_usd
    if event.agent_id is None or not (tokens or cost):
        return None
    return AttemptSpend(event.at_ms, event.agent_id, tokens, float(cost or 0))
