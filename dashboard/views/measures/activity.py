"""Counters per quarter of a second: time at work of each agent, ended and failed attempts, tokens.

The feed counts while it folds, so that no screen walks over events to draw a meter, a lane or a rate.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dashboard.views.measures.attempts import AttemptCounter, Lane, SlotCounts
from dashboard.views.measures.queues import QueueHistory
from dashboard.views.words.glyphs import MARKS
from engine.core import events as on
from engine.core.events import Event
from engine.core.state import Agent, State

SLOT_MS = 250
SLOTS_PER_SAMPLE = 4
"""Slots per sample of a sparkline, which so moves once a second."""
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
    outcome: Literal["done", "failed", "stopped"]
    """Stopped means cancelled, preempted or set aside for a budget."""


class ActivityMark(NamedTuple):
    """A mark: a rare event of an agent, a supervisor or a task."""

    at_ms: int
    glyph: str
    """`◆` swapped, `◇` another strategy, `‖` paused, `✕` failed for good, `⚑` asks a person."""
    subject: str


_NO_LANE = Lane(SLOT_MS, SLOTS)
_ENDS = (on.AttemptDone, on.AttemptFailed, on.AttemptCancelled, on.AttemptPreempted, on.AttemptSetAside)
"""Ends of attempts; one that its engine lost reports nothing, and continues."""
END_KINDS = tuple(event_class.type for event_class in _ENDS)
"""Kinds of events that `ends_of` reads."""
SPENDING = tuple(event_class for event_class in on.EVENTS if hasattr(event_class, "usage"))
"""Events that report the usage of an attempt since its last report, or of a search for agents."""
SPEND_KINDS = tuple(event_class.type for event_class in SPENDING)
"""Their kinds."""
_SUBJECTS: dict[type[Event], str] = {
    on.AgentSwapped: "agent_id",
    on.SwapRolledBack: "agent_id",
    on.StrategySwitched: "supervisor_id",
    on.AgentPaused: "agent_id",
    on.TaskFailed: "task_id",
    on.Escalated: "subject",
}
"""Rare events, and the field that says whose mark they are."""


class Activity:
    """The counters of a team up to the newest event."""

    def __init__(self) -> None:
        self.attempts = AttemptCounter(SLOT_MS, SLOTS)
        """Time at work of each agent; ends of all together."""
        self.events, self.tokens = SlotCounts(SLOT_MS, SLOTS), SlotCounts(SLOT_MS, SLOTS, "Q")
        self.ends: deque[AttemptEnd] = deque(maxlen=_MAX_KEPT)
        """The last ends of attempts, the newest at the right."""
        self.ended_count = 0
        """Number of all ends of attempts."""
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
        self._budget_question: str | None = None
        """The last open question about a budget: attempts that are set aside meanwhile wait for its answer."""
        self._cut: Collection[str] = ()
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

    def lane(self, agent_id: str) -> Lane:
        """Return the counters of an agent."""
        return self.attempts.lanes.get(agent_id, _NO_LANE)

    def shares(self, agent_id: str, now_ms: int, *, samples: int, each: int, slots: int = 1) -> list[float]:
        """Return the busy share of an agent, 0 to 1, in samples of `each` quarter seconds."""
        busy = self.lane(agent_id).busy.sums(now_ms, samples, each, until=self.until_ms)
        whole = each * SLOT_MS * max(1, slots)
        return [min(1.0, busy_ms / whole) for busy_ms in busy]

    def shares_of(self, agents: Collection[Agent], now_ms: int, *, samples: int, each: int) -> list[float]:
        """Return the busy share of all slots of several agents, as `shares` does for one."""
        whole = each * SLOT_MS * max(1, sum(agent.max_concurrency for agent in agents))
        busy_by_agent = (self.lane(agent.id).busy.sums(now_ms, samples, each, until=self.until_ms) for agent in agents)
        return [min(1.0, sum(column) / whole) for column in zip(*busy_by_agent, strict=True)]

    def count_earlier(self, events: Sequence[Event]) -> None:
        """Count ends and tokens of events before all counted ones; the oldest event comes first."""
        ends = ends_of(events)
        self.ended_count += len(ends)
        self.ends = deque([*ends, *self.ends], _MAX_KEPT)
        for end in ends:
            self._count_end(end)
        for event in events:
            if isinstance(event, SPENDING):
                self._spend(event)

    def count_open_attempts(self, state: State) -> None:
        """Add open attempts whose start was not among the events."""
        for agent in state.agents.values():
            for task_id in (*agent.running, *agent.parked):
                task = state.tasks.get(task_id)
                if task is None or task.attempt is None or task_id in self._cut or self._is_open(task_id):
                    continue
                since_ms = max(task.attempt.started_ms, state.at_ms - RETAINED_MS)
                self._start(task_id, agent.id, since_ms, parked=task.attempt.parked)
        for question in state.escalations.values():
            if question.id not in self.attempts.questions:
                task = state.tasks.get(question.subject)
                member_id = question.subject if task is None else task.agent_id or task.worker_id or question.subject
                self.attempts.ask(question.id, member_id, max(question.asked_ms, state.at_ms - RETAINED_MS))
        self.close_questions(state)

    def close_questions(self, state: State) -> None:
        """Close the questions that are not open in a state: many are withdrawn by what happened to their subject."""
        self.attempts.keep_questions(state.escalations, state.at_ms)

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

    def _cut_off(self, started: on.EngineStarted) -> None:
        """End the attempts of the previous engine at its last sign of life, in older journals its last event."""
        place = next(place for place, event in enumerate(self._counted_events) if event is started)
        before_ms = self._counted_events[place - 1].at_ms if place else self._last_ms
        self._cut = self.attempts.cut_off(min(max(before_ms, started.last_ms or 0), started.at_ms))

    def _sleep(self, event: on.EngineSlept) -> None:
        self.attempts.skip(event.at_ms - event.slept_ms, event.at_ms)

    def _is_open(self, task_id: str) -> bool:
        return task_id in self.attempts.open

    def _start(self, task_id: str, agent_id: str, at_ms: int, *, parked: bool = False) -> None:
        self.started_ms[agent_id] = max(at_ms, self.started_ms.get(agent_id, 0))
        self.attempts.start(task_id, agent_id, at_ms, parked=parked)

    def _count_started(self, event: on.AttemptStarted) -> None:
        if event.agent_id is not None:  # built-in work has no agent
            self._start(event.task_id, event.agent_id, event.at_ms)

    def _count_call(self, event: on.Delegated | on.CallRejoined) -> None:
        if event.parks:
            self._park(event)

    def _park(self, event: on.AttemptParked | on.Delegated | on.CallRejoined) -> None:
        if not self._is_open(event.task_id):  # its start is not among the events
            self._start(event.task_id, event.agent_id, event.at_ms)
        self.attempts.park(event.task_id, event.at_ms)

    def _resume(self, event: on.AttemptResumed) -> None:
        if not self._is_open(event.task_id):  # it was parked before the events
            self._start(event.task_id, event.agent_id, event.at_ms - RETAINED_MS, parked=True)
        self.attempts.park(event.task_id, event.at_ms, parked=False)

    def _end(
        self,
        event: on.AttemptDone
        | on.AttemptFailed
        | on.AttemptCancelled
        | on.AttemptLost
        | on.AttemptPreempted
        | on.AttemptSetAside,
    ) -> None:
        if event.agent_id is None:
            return
        begun = self.attempts.end(event.task_id, event.at_ms) is not None
        if isinstance(event, on.AttemptFailed | on.AttemptLost):
            self.attempts.note_failed(event.task_id, event.agent_id)
        elif isinstance(event, on.AttemptSetAside) and self._budget_question is not None:
            self.attempts.ask(self._budget_question, event.agent_id, event.at_ms)
        if not isinstance(event, on.AttemptLost):
            self._spend(event)
            if not begun:  # its start is not among the events
                self.attempts.start(event.task_id, event.agent_id, event.at_ms - event.duration_ms)
                self.attempts.end(event.task_id, event.at_ms)
            self.ended_count += 1
            self.ends.append(end := _end_of(event))
            self._count_end(end)

    def _count_end(self, end: AttemptEnd) -> None:
        if end.outcome == "done":
            self.attempts.team.done.add(end.at_ms)
        elif end.outcome == "failed":
            self.attempts.team.failed.add(end.at_ms)

    def _spend(self, event: Any) -> None:
        tokens = (event.usage.tokens_in or 0) + (event.usage.tokens_out or 0)
        if tokens:
            self.tokens.add(event.at_ms, tokens)

    def _answer(self, event: on.EscalationAnswered | on.QuestionWithdrawn) -> None:
        self.attempts.close_question(event.escalation_id, event.at_ms)
        if event.escalation_id == self._budget_question:
            self._budget_question = None

    def _forget(self, member_id: str) -> None:
        for table in (self.attempts.lanes, self.started_ms, self.swapped_ms, self.switched_ms):
            table.pop(member_id, None)

    def _mark(self, event: Event) -> None:
        subject: str = getattr(event, _SUBJECTS[type(event)])
        if isinstance(event, on.AgentSwapped | on.SwapRolledBack):
            self.swapped_ms[subject] = event.at_ms
        elif isinstance(event, on.StrategySwitched):
            self.switched_ms[subject] = event.at_ms
        elif isinstance(event, on.Escalated):
            self.attempts.ask(event.escalation_id, self.attempts.asker_of(subject), event.at_ms)
            self._budget_question = event.escalation_id if event.kind == "budget" else self._budget_question
        self.marks.append(ActivityMark(event.at_ms, MARKS[event.type], subject))

    def sample_queues(self, at_ms: int, waiting: int, waiting_of: Mapping[str, int]) -> None:
        """Sample the total length of all queues once per slot, and each queue once per second."""
        self.queues.record(waiting_of, at_ms)
        if not self.queued or at_ms // SLOT_MS > self.queued[-1][0] // SLOT_MS:
            self.queued.append((at_ms, waiting))


# Not bound to an instance, because that reference cycle would keep up to 2 MB until a garbage collection.
_COUNTS: dict[type[Event], Callable[[Activity, Any], None]] = {
    on.EngineStarted: Activity._cut_off,
    on.AttemptStarted: Activity._count_started,
    on.EngineSlept: Activity._sleep,
    on.AttemptParked: Activity._park,
    on.Delegated: Activity._count_call,
    on.CallRejoined: Activity._count_call,
    on.AttemptResumed: Activity._resume,
    **dict.fromkeys(SPENDING, Activity._spend),
    on.EscalationAnswered: Activity._answer,
    on.QuestionWithdrawn: Activity._answer,
    on.AgentRemoved: lambda self, event: self._forget(event.agent_id),
    on.SupervisorRemoved: lambda self, event: self._forget(event.supervisor_id),
    **dict.fromkeys(on.ATTEMPT_ENDS, Activity._end),
    **dict.fromkeys(_SUBJECTS, Activity._mark),
}


def ends_of(events: Iterable[Event]) -> list[AttemptEnd]:
    """Return the ends of attempts of agents among events."""
    ends = (event for event in events if isinstance(event, _ENDS))
    return [_end_of(event) for event in ends if event.agent_id is not None]


def _end_of(event: Any) -> AttemptEnd:
    """Return the end of an attempt from its event."""
    outcome: Literal["done", "failed", "stopped"] = (
        "done" if isinstance(event, on.AttemptDone) else "failed" if isinstance(event, on.AttemptFailed) else "stopped"
    )
    return AttemptEnd(event.at_ms, event.task_id, event.agent_id, event.duration_ms, event.usage.time_ms, outcome)
