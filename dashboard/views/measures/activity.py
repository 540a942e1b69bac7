"""What happened in each quarter of a second: how much of each agent was at work, what ended, what failed.

The feed counts while it folds, so that no screen walks over spans or events to draw a meter, a lane or a rate. Slots
lie on the clock and samples are whole slots: a bar keeps its shape while it moves.
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
    """For how long it held a slot: what it waited for others is left out."""
    done: bool


class AttemptSpend(NamedTuple):
    """Tokens and money that an attempt reported, at one of its steps or at its end: each is reported once."""

    at_ms: int
    agent_id: str
    tokens: int
    """Read and written."""
    cost_usd: float


class ActivityMark(NamedTuple):
    """A mark: a rare event of an agent, a supervisor or a task."""

    at_ms: int
    glyph: str
    """`◆` swapped, `◇` another strategy, `‖` paused, `✕` failed for good, `⚑` asks a person."""
    subject: str


class Track:
    """The time at work of one agent, or of all together, by slot.

    Whoever is at work counts up to the end of the newest slot at once, and in whole slots as the next ones begin: a
    change costs the same however long it is after the one before.
    """

    __slots__ = ("_end_ms", "_head", "busy", "parked", "running", "waited")

    def __init__(self) -> None:
        self.running = self.parked = 0
        """Attempts that hold a slot, and those that wait for what they delegated or for a person."""
        self._head = -1
        """The newest slot, and when it ends."""
        self._end_ms = 0
        self.busy = array("i", bytes(4 * SLOTS))
        """Milliseconds of attempts at work."""
        self.waited: array[int] | None = None
        """Milliseconds of those that are parked; of a thousand agents most never park."""

    def change(self, at_ms: int, running: int, parked: int = 0) -> None:
        """Count that so many more or fewer are at work, and are parked, from a moment on."""
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
        """Add so many attempts at work between two moments; what is older than the counters is left out."""
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
        """Return milliseconds of attempts at work, and of those that are parked, up to now.

        In so many samples of `each` slots, the oldest first; the newest is not over yet. What did not end counts up to
        `until_ms`, if that is before now.
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
            # The newest slot is counted to its end, and none after it.
            open_ms = min(counted_ms, start_ms + length) - max(self._end_ms, start_ms)
            busy[place] = max(0, busy[place] + self.running * open_ms)
            waited[place] = max(0, waited[place] + self.parked * open_ms)
        return busy, waited


class Tally:
    """How many of something there were in each slot."""

    def __init__(self) -> None:
        self._head = -1
        self._slots = array("Q", bytes(8 * SLOTS))

    def add(self, at_ms: int, count: int = 1) -> None:
        """Count so many at a moment; what is older than the counters is left out."""
        slot = at_ms // SLOT_MS
        if slot > self._head:
            fill(self._slots, max(self._head + 1, slot - SLOTS + 1), slot + 1, 0)
            self._head = slot
        if slot > self._head - SLOTS:
            self._slots[slot % SLOTS] = min(_MAX_COUNT, self._slots[slot % SLOTS] + count)

    def sums(self, now_ms: int, samples: int, each: int) -> list[int]:
        """Return the sums of so many samples of `each` slots, the oldest first; the newest is not over yet."""
        return sums(self._slots, self._head, now_ms, samples, each)


def sums(ring: "array[int]", head: int, now_ms: int, samples: int, each: int) -> list[int]:
    """Return the sums of samples of `each` slots of a ring whose newest slot is `head`; what it does not hold is 0."""
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
    """Set the slots of a ring from one up to another."""
    if end - slot <= 2:  # most often: no array is made
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
"""A counter holds no more, whatever a model says that it has spent."""
_SWAPS = (on.AgentSwapped, on.SwapRolledBack)
END_KINDS = (on.AttemptDone.type, on.AttemptFailed.type)
"""Kinds of the events that `ends_of` looks at."""
SPENDING = tuple(event_class for event_class in on.EVENTS if hasattr(event_class, "usage"))
"""Events that report what an attempt has spent since it last did."""
SPEND_KINDS = tuple(event_class.type for event_class in SPENDING)
"""Kinds of the events that `spends_of` looks at."""
_MARKS = {
    **dict.fromkeys(_SWAPS, "◆"),
    on.StrategySwitched: "◇",
    on.AgentPaused: "‖",
    on.TaskFailed: "✕",
    on.Escalated: "⚑",
}


def _spread(counter: "array[int]", from_ms: int, to_ms: int, attempts: int) -> None:
    """Add the time of so many attempts to the slots that it lies in."""
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
        """Of all agents together, as are the counters below."""
        self.events, self.done, self.failed, self.tokens = Tally(), Tally(), Tally(), Tally()
        self.ends: deque[AttemptEnd] = deque(maxlen=_MAX_KEPT)
        """The attempts that ended last, the newest at the right."""
        self.ended_count = 0
        """How many have ended in all."""
        self.spends: deque[AttemptSpend] = deque(maxlen=_MAX_KEPT)
        """What was spent last, the newest at the right."""
        self.spend_count = 0
        """How often something was spent in all."""
        self.marks: deque[ActivityMark] = deque(maxlen=_MAX_KEPT)
        self.started_ms: dict[str, int] = {}
        """When something was last handed to an agent."""
        self.swapped_ms: dict[str, int] = {}
        """When an agent was last swapped, or rolled back."""
        self.switched_ms: dict[str, int] = {}
        """When a supervisor last got another strategy."""
        self.queued: deque[tuple[int, int]] = deque(maxlen=SLOTS)
        """Times and lengths of all queues together, as they were looked at."""
        self.queues = QueueHistory()
        self.until_ms: int | None = None
        """The last sign of life of the engine, where none is at work: what it had begun counts up to then."""
        self._tracks: dict[str, Track] = {}
        self._open: dict[str, tuple[str, bool]] = {}
        """Attempts under way by task: the agent, and whether it is parked."""
        self._cut: frozenset[str] = frozenset()
        """Tasks whose attempts ended with the engine before: the state has them at work until that is recorded."""
        self._counted_events: Sequence[Event] = ()
        """The events that are being counted, and when the last one before them happened."""
        self._last_ms = 0

    @classmethod
    def of(cls, state: State, events: Sequence[Event]) -> "Activity":
        """Return the counters as of a state, from the events before it; those of the last two minutes suffice."""
        activity = cls()
        activity.count_events(events)
        activity.count_open_attempts(state)
        return activity

    def track(self, agent_id: str) -> Track:
        """Return the counters of an agent."""
        return self._tracks.get(agent_id, _NO_TRACK)

    def shares(self, agent_id: str, now_ms: int, *, samples: int, each: int, slots: int = 1) -> list[float]:
        """Return how much of an agent was at work, 0 to 1, in each of so many samples of `each` quarter seconds."""
        busy, _ = self.track(agent_id).work(now_ms, samples, each, until_ms=self.until_ms)
        whole = each * SLOT_MS * max(1, slots)
        return [min(1.0, busy_ms / whole) for busy_ms in busy]

    def shares_of(self, agents: Collection[Agent], now_ms: int, *, samples: int, each: int) -> list[float]:
        """Return how much of all slots of several agents was at work, as `shares` does for one."""
        whole = each * SLOT_MS * max(1, sum(agent.max_concurrency for agent in agents))
        busy_by_agent = (
            self.track(agent.id).work(now_ms, samples, each, until_ms=self.until_ms)[0] for agent in agents
        )
        return [min(1.0, sum(column) / whole) for column in zip(*busy_by_agent, strict=True)]

    def count_earlier(self, events: Sequence[Event]) -> None:
        """Count what ended and what was spent in events that came before all that is known, the oldest first."""
        ends, spends = ends_of(events), spends_of(events)
        self.ended_count, self.spend_count = self.ended_count + len(ends), self.spend_count + len(spends)
        self.ends, self.spends = deque([*ends, *self.ends], _MAX_KEPT), deque([*spends, *self.spends], _MAX_KEPT)
        for end in ends:
            (self.done if end.done else self.failed).add(end.at_ms)
        for spend in spends:
            self.tokens.add(spend.at_ms, spend.tokens)

    def count_open_attempts(self, state: State) -> None:
        """Take up attempts under way whose start was not among the events."""
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
        """End the attempts of the engine before at its last event: nothing was at work while there was none."""
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
        if event.task_id not in self._open:  # nor is its start: it has waited until now
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
        if isinstance(event, on.AttemptDone | on.AttemptFailed):  # a lost one goes on: no failure of the agent's
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
        """Keep how long all queues are together, once a slot, and each of them once a second."""
        self.queues.record(waiting_of, at_ms)
        if not self.queued or at_ms // SLOT_MS > self.queued[-1][0] // SLOT_MS:
            self.queued.append((at_ms, waiting))


# Not bound to each: it would refer to itself, and one of a thousand agents wait for the garbage collection, 2 MB.
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
    """Return what an event that ends an attempt of an agent says of it."""
    done = isinstance(event, on.AttemptDone)
    return AttemptEnd(event.at_ms, event.task_id, event.agent_id, event.duration_ms, event.usage.time_ms, done)


def spends_of(events: Iterable[Event]) -> list[AttemptSpend]:
    """Return what agents spent, as events say."""
    spends = (_spend_of(event) for event in events if isinstance(event, SPENDING))
    return [spend for spend in spends if spend is not None]


def _spend_of(event: Any) -> AttemptSpend | None:
    usage = event.usage
    tokens, cost = (usage.tokens_in or 0) + (usage.tokens_out or 0), usage.cost_usd
    if event.agent_id is None or not (tokens or cost):
        return None
    return AttemptSpend(event.at_ms, event.agent_id, tokens, float(cost or 0))
