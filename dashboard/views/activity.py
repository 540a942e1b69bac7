"""What happened in each quarter of a second: how much of each agent was at work, what ended, what failed.

The feed counts while it folds, so that no screen walks over spans or events to draw a meter, a lane or a rate. Slots
lie on the clock and samples are whole slots: a bar keeps its shape while it moves.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.views.queues import QueueHistory
from engine.core import events as on
from engine.core.events import Event
from engine.core.state import State

SLOT_MS = 250
SLOTS = 480
"""Slots that are kept: two minutes."""
KEPT_MS = SLOT_MS * SLOTS
_KEPT = 2_000
"""Ends and marks that are kept."""


class Ended(NamedTuple):
    """The end of an attempt."""

    at_ms: int
    task_id: str
    agent_id: str
    duration_ms: int
    done: bool
    tokens: int = 0
    cost_usd: float = 0.0


class Marked(NamedTuple):
    """A mark: a rare event of an agent, a supervisor or a task."""

    at_ms: int
    glyph: str
    """`◆` swapped, `◇` another strategy, `‖` paused, `✕` failed for good, `⚑` asks a person."""
    subject: str


_EMPTY = array("I", bytes(4 * SLOTS))
"""A counter in which nothing was counted; never written to."""


class Track:
    """The counters of one agent, or of all together."""

    __slots__ = ("_head", "busy", "ended", "events", "failed", "parked", "running", "since_ms", "tokens", "waited")

    def __init__(self) -> None:
        self.running = self.parked = 0
        """Attempts that hold a slot, and those that wait for what they delegated or for a person."""
        self.since_ms = 0
        """Up to when the time of those is counted."""
        self._head = -1
        # Of a thousand agents most never park, fail or use tokens: they share what is empty until they do.
        self.busy = self.waited = _EMPTY
        """Milliseconds of attempts at work and parked, by slot."""
        self.ended = self.failed = self.events = self.tokens = _EMPTY

    def counter(self, name: str) -> "array[int]":
        """Return a counter that may be written to."""
        counter: array[int] = getattr(self, name)
        if counter is _EMPTY:
            counter = array("I", bytes(4 * SLOTS))
            setattr(self, name, counter)
        return counter

    def at(self, at_ms: int) -> int:
        """Return the place of a moment in the counters; slots since the last one are emptied."""
        slot = at_ms // SLOT_MS
        if slot >= self._head + SLOTS:  # nothing that is kept was counted
            self.busy = self.waited = self.ended = self.failed = self.events = self.tokens = _EMPTY
        elif slot > self._head:
            for counter in (self.busy, self.waited, self.ended, self.failed, self.events, self.tokens):
                if counter is not _EMPTY:
                    for new in range(self._head + 1, slot + 1):
                        counter[new % SLOTS] = 0
        self._head = max(self._head, slot)
        return slot % SLOTS

    def change(self, at_ms: int, running: int, parked: int) -> None:
        """Count the time up to a moment, from which on so many more or fewer are at work."""
        if at_ms > self.since_ms:
            if self.running or self.parked:
                self.span(self.since_ms, at_ms, self.running, self.parked)
            self.since_ms = at_ms
        elif at_ms < self.since_ms and (running > 0 or parked > 0):  # it began before what has been counted
            self.span(at_ms, self.since_ms, max(0, running), max(0, parked))
        self.running, self.parked = max(0, self.running + running), max(0, self.parked + parked)

    def span(self, from_ms: int, to_ms: int, running: int, parked: int = 0) -> None:
        """Add so many attempts at work between two moments; what is older than the counters is left out."""
        self.at(to_ms)
        from_ms = max(from_ms, (self._head - SLOTS + 1) * SLOT_MS)
        if from_ms >= to_ms:
            return
        for name, attempts in (("busy", running), ("waited", parked)):
            if attempts:
                _spread(self.counter(name), from_ms, to_ms, attempts)

    def sums(self, counter: Sequence[int], now_ms: int, samples: int, each: int) -> list[int]:
        """Return the sums of whole samples of `each` slots, the oldest first; the newest is not over yet."""
        if counter is _EMPTY:
            return [0] * samples
        last = now_ms // SLOT_MS // each
        oldest = self._head - SLOTS
        return [
            sum(
                counter[slot % SLOTS]
                for slot in range(sample * each, (sample + 1) * each)
                if oldest < slot <= self._head
            )
            for sample in range(last - samples + 1, last + 1)
        ]

    def work(self, now_ms: int, samples: int, each: int) -> tuple[list[int], list[int]]:
        """Return milliseconds of attempts at work, and of those that are parked, up to now; in samples as `sums`.

        What is under way is added here and not counted: events of before now are still to come.
        """
        busy, waited = (self.sums(counter, now_ms, samples, each) for counter in (self.busy, self.waited))
        length = each * SLOT_MS
        first = now_ms // length - samples + 1
        for place in range(max(0, self.since_ms // length - first), samples):
            start_ms = (first + place) * length
            open_ms = max(0, min(now_ms, start_ms + length) - max(self.since_ms, start_ms))
            busy[place] += self.running * open_ms
            waited[place] += self.parked * open_ms
        return busy, waited


_NOTHING = Track()
_MOST = 2**32 - 1
"""A counter holds no more, whatever a model says that it has spent."""
_SWAPS = (on.AgentSwapped, on.SwapRolledBack)
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
        self.ends: deque[Ended] = deque(maxlen=_KEPT)
        """The attempts that ended last, the newest at the right."""
        self.ended = 0
        """How many have ended in all."""
        self.marks: deque[Marked] = deque(maxlen=_KEPT)
        self.started_ms: dict[str, int] = {}
        """When something was last handed to an agent."""
        self.swapped_ms: dict[str, int] = {}
        """When an agent was last swapped, or rolled back."""
        self.switched_ms: dict[str, int] = {}
        """When a supervisor last got another strategy."""
        self.queued: deque[tuple[int, int]] = deque(maxlen=SLOTS)
        """Times and lengths of all queues together, as they were looked at."""
        self.queues = QueueHistory()
        self._tracks: dict[str, Track] = {}
        self._open: dict[str, tuple[str, bool]] = {}
        """Attempts under way by task: the agent, and whether it is parked."""
        self._counts: dict[type[Event], Callable[[Any], None]] = {
            on.AttemptStarted: self._started,
            on.AttemptParked: lambda event: self._park(event.task_id, event.at_ms),
            on.Delegated: self._called,
            on.CallRejoined: self._called,
            on.AttemptResumed: lambda event: self._resume(event.task_id, event.at_ms),
            on.StepRecorded: self._spend,
            **dict.fromkeys(on.ATTEMPT_ENDS, self._end),
            **dict.fromkeys(_MARKS, self._mark),
        }

    @classmethod
    def of(cls, state: State, events: Iterable[Event]) -> "Activity":
        """Return the counters as of a state, from the events before it; those of the last two minutes suffice."""
        activity = cls()
        activity.learn(events)
        activity.learn_state(state)
        return activity

    def track(self, agent_id: str) -> Track:
        """Return the counters of an agent."""
        return self._tracks.get(agent_id, _NOTHING)

    def shares(self, agent_id: str, now_ms: int, *, samples: int, each: int, slots: int = 1) -> list[float]:
        """Return how much of an agent was at work, 0 to 1, in each of so many samples of `each` quarter seconds."""
        busy, _ = self.track(agent_id).work(now_ms, samples, each)
        whole = each * SLOT_MS * max(1, slots)
        return [min(1.0, one / whole) for one in busy]

    def learn_state(self, state: State) -> None:
        """Take up attempts under way whose start was not among the events."""
        for agent in state.agents.values():
            for task_id in (*agent.running, *agent.parked):
                task = state.tasks.get(task_id)
                if task is None or task.attempt is None or task_id in self._open:
                    continue
                self._begin(task_id, agent.id, max(task.attempt.started_ms, state.at_ms - KEPT_MS))
                if task.attempt.parked:
                    self._park(task_id, max(task.attempt.started_ms, state.at_ms - KEPT_MS))

    def learn(self, events: Iterable[Event]) -> None:
        """Count events in their order."""
        team, counts = self.team, self._counts
        for event in events:
            place = team.at(event.at_ms)
            team.counter("events")[place] += 1
            count = counts.get(type(event))
            if count is not None:
                count(event)

    def _of(self, agent_id: str) -> Track:
        track = self._tracks.get(agent_id)
        if track is None:
            track = self._tracks[agent_id] = Track()
        return track

    def _started(self, event: on.AttemptStarted) -> None:
        if event.agent_id is not None:  # built-in work has no agent
            self._begin(event.task_id, event.agent_id, event.at_ms)

    def _begin(self, task_id: str, agent_id: str, at_ms: int) -> None:
        self._open[task_id] = (agent_id, False)
        self.started_ms[agent_id] = max(at_ms, self.started_ms.get(agent_id, 0))
        for track in (self._of(agent_id), self.team):
            track.change(at_ms, 1, 0)

    def _park(self, task_id: str, at_ms: int) -> None:
        agent_id, parked = self._open.get(task_id, ("", True))
        if not parked:
            self._open[task_id] = (agent_id, True)
            for track in (self._of(agent_id), self.team):
                track.change(at_ms, -1, 1)

    def _called(self, event: on.Delegated | on.CallRejoined) -> None:
        if event.parks:
            self._park(event.task_id, event.at_ms)

    def _resume(self, task_id: str, at_ms: int) -> None:
        agent_id, parked = self._open.get(task_id, ("", False))
        if parked:
            self._open[task_id] = (agent_id, False)
            for track in (self._of(agent_id), self.team):
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
        duration_ms: int = getattr(event, "duration_ms", 0)
        begun = self._open.pop(event.task_id, None)
        failed = isinstance(event, on.AttemptFailed | on.AttemptLost)
        counted = "ended" if isinstance(event, on.AttemptDone) else "failed" if failed else ""
        for track in (self._of(agent_id), self.team):
            if begun is None:
                track.span(at_ms - min(duration_ms, KEPT_MS), at_ms, 1)
            else:
                track.change(at_ms, *((0, -1) if begun[1] else (-1, 0)))
            if counted:
                place = track.at(at_ms)
                track.counter(counted)[place] += 1
        if counted:
            self.ended += 1
            self.ends.append(ended_of(event))

    def _spend(self, event: on.StepRecorded) -> None:
        if event.agent_id is not None and event.usage.tokens_out:
            for track in (self._of(event.agent_id), self.team):
                place = track.at(event.at_ms)
                track.counter("tokens")[place] = min(_MOST, track.tokens[place] + event.usage.tokens_out)

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
        self.marks.append(Marked(event.at_ms, _MARKS[type(event)], subject))

    def sample_queues(self, at_ms: int, waiting: int, waiting_of: Mapping[str, int]) -> None:
        """Keep how long all queues are together, once a slot, and each of them once a second."""
        self.queues.look(waiting_of, at_ms)
        if not self.queued or at_ms // SLOT_MS > self.queued[-1][0] // SLOT_MS:
            self.queued.append((at_ms, waiting))


def ended_of(event: Any) -> Ended:
    """Return what an event that ends an attempt of an agent says of it."""
    usage = getattr(event, "usage", None)
    tokens = (usage.tokens_in or 0) + (usage.tokens_out or 0) if usage is not None else 0
    cost = float(usage.cost_usd or 0) if usage is not None else 0.0
    took_ms: int = getattr(event, "duration_ms", 0)
    return Ended(event.at_ms, event.task_id, event.agent_id, took_ms, isinstance(event, on.AttemptDone), tokens, cost)


__all__ = ["KEPT_MS", "SLOTS", "SLOT_MS", "Activity", "Ended", "Marked", "Track", "ended_of"]
