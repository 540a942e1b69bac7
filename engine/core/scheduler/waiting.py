"""Why a task is waiting: one reason, with numbers and a sentence.

Make one `WaitReasons` for each state: it inspects each queue and its agents once, however many tasks are asked about. A
due time is returned as such, so that a view can count down to it.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Literal, TypeAlias

from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import lineage_of
from engine.core.queries.work.pauses import describe_pause, pause_of
from engine.core.queries.work.queues import capability_of, is_for_named_members, is_shared
from engine.core.queries.work.unserved import describe_lack, has_taker, queue_of
from engine.core.records.records import copy_with, fact
from engine.core.records.values import pluralize
from engine.core.scheduler import Schedule
from engine.core.scheduler.free import exhausted_process_limit
from engine.core.state import Agent, ParkedFor, Queue, Run, State, Supervisor, Task, TaskStatus, timer_id

WaitReason: TypeAlias = Literal[
    "engine",
    "doubt",
    "person",
    "retry",
    "pause",
    "runs",
    "tasks",
    "calls",
    "slot",
    "nobody",
    "agent",
    "circuit",
    "budget",
    "supervisor",
    "team",
    "process",
    "turn",
    "moment",
]
"""What a task waits for: an engine; a person's answer about a tool call in doubt; a person's answer; the end of a
back-off; the end of a pause; other runs; other tasks; its delegations; a slot to resume; an able agent; its agent to
work again; a circuit to close; a budget; a slot of the supervisor; a slot of the team; a process slot; its turn; a
time."""
WAITS_FOR: dict[ParkedFor, str] = {
    "call": "what it delegated",
    "ask": "a person",
    "approval": "the approval of a person",
    "rate_limit": "the rate limit of a provider",
    "backoff": "its next try",
    "tool": "its turn at a tool",
    "paused": "the end of a pause",
    "insight": "an insight of others",
}
"""What an attempt waits for without a slot, in words."""


@fact
class Wait:
    """The reason why a task waits."""

    reason: WaitReason
    words: str
    """One short sentence, without the due time (`until_ms`)."""
    ids: tuple[str, ...] = ()
    """Tasks, runs, agents, supervisors or questions that it waits for, without delegated tasks."""
    until_ms: int | None = None
    """When the wait ends by itself, if that is known; UTC milliseconds."""
    ahead: int | None = None
    """Number of tasks before it in its queue."""
    preempted: bool = False
    """It was preempted by a more urgent task."""


@fact
class _Place:
    """The place of a task in its queue."""

    ahead: int
    first: int
    """Most urgent priority of the tasks before it."""
    last: int
    """Least urgent priority of the tasks before it."""


def ready_in(state: State, queue_key: str) -> Iterator[str]:
    """Yield the ids of the tasks of a queue that could begin, the next one first."""
    return Schedule.of(state).ready(state, queue_key)


class WaitReasons:
    """The reasons why tasks of one state wait; the state must not change meanwhile."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._places: dict[str, dict[str, _Place]] = {}
        self._closed: dict[str, Wait | None] = {}

    def wait_of(self, task: Task, *, with_place: bool = True) -> Wait | None:
        """Return why `task` waits; None if it does not.

        Args:
            with_place: Also its place in its queue, for which the whole queue is looked at once.
        """
        status = task.status
        if status is TaskStatus.IN_DOUBT:
            ids = () if task.escalation_id is None else (task.escalation_id,)
            return Wait(
                reason="doubt", words=f"in doubt: did the tool run? a person is asked ({', '.join(ids)})", ids=ids
            )
        if status is TaskStatus.RUNNING:
            return _why_parked(self._state, task)
        if status not in (TaskStatus.WAITING, TaskStatus.RETRYING, TaskStatus.PREEMPTED):
            return None
        return self._why_not_ready(task, self._state.runs[task.run_id]) or self._why_queued(task, with_place=with_place)

    def reason_of(self, task: Task) -> WaitReason | None:
        """Return the reason of `wait_of`, without its words: for a task in a queue that is many times faster."""
        if task.status not in (TaskStatus.WAITING, TaskStatus.PREEMPTED):
            wait = self.wait_of(task)
            return None if wait is None else wait.reason
        if (early := self._why_not_ready(task, self._state.runs[task.run_id])) is not None:
            return early.reason
        closed = self._closed_of(task)
        return "turn" if closed is None else closed.reason

    def _why_not_ready(self, task: Task, run: Run) -> Wait | None:
        """Return why a task is not ready."""
        # First: without an engine, no answer and no timer takes effect.
        if run.suspended:
            return Wait(reason="engine", words="its run is suspended: no engine")
        if task.escalation_id is not None:
            is_budget = self._state.escalations[task.escalation_id].kind == "budget"
            words = f"a person is asked ({task.escalation_id})"
            return Wait(reason="budget" if is_budget else "person", words=words, ids=(task.escalation_id,))
        if task.status is TaskStatus.RETRYING and task.retry_at_ms is not None:
            return Wait(reason="retry", words="backing off", until_ms=task.retry_at_ms)
        if run.paused:
            return Wait(reason="pause", words=describe_pause(run), ids=(run.id,))
        if task.held_back:
            return Wait(reason="budget", words="its budget is spent, and a person is asked")
        if run.after:
            return Wait(reason="runs", words=f"waits for {_summarize_names(run.after, 'run')}", ids=tuple(run.after))
        if task.blockers:
            return self._why_blocked(task)
        return Wait(reason="moment", words="looks for agents") if task.search == "begun" else None

    def _why_blocked(self, task: Task) -> Wait:
        before = (self._state.tasks[task_id] for task_id in task.after)
        awaited = [predecessor for predecessor in before if not predecessor.ended]
        words = f"waits for {_summarize_names([predecessor.title for predecessor in awaited])}"
        return Wait(reason="tasks", words=words, ids=tuple(predecessor.id for predecessor in awaited))

    def _why_queued(self, task: Task, *, with_place: bool) -> Wait | None:
        """Return why a ready task has not begun."""
        queue = self._state.queues.get(task.queue or "")
        if queue is None:
            return None
        closed = self._closed_of(task)
        if not with_place:
            return closed or Wait(reason="turn", words=f"{queue.ready:,} waiting")
        place = self._place(queue, task.id)
        ahead = None if place is None else place.ahead
        preempted = task.status is TaskStatus.PREEMPTED
        prefix = "has made way; " if preempted else ""
        if closed is not None:
            return copy_with(closed, words=prefix + closed.words, ahead=ahead, preempted=preempted)
        if place is None:
            return None
        words = prefix + _describe_turn(self._state, queue, place, task.priority)
        ids = () if task.taking is None else (task.taking,)
        if task.taking is not None:
            words = f"{prefix}{self._state.tasks[task.taking].title} makes way for it"
        return Wait(reason="turn", words=words, ids=ids, ahead=ahead, preempted=preempted)

    def _closed_of(self, task: Task) -> Wait | None:
        """Return why nothing in the queue of a task can begin; None if the task only waits for its turn."""
        queue = self._state.queues.get(task.queue or "")
        if queue is None:
            return None
        if queue.key not in self._closed:
            self._closed[queue.key] = _why_closed(self._state, queue)
        return self._closed[queue.key]

    def _place(self, queue: Queue, task_id: str) -> _Place | None:
        places = self._places.get(queue.key)
        if places is None:
            places = self._places[queue.key] = _places(self._state, queue)
        return places.get(task_id)


def _places(state: State, queue: Queue) -> dict[str, _Place]:
    places: dict[str, _Place] = {}
    first, last = 99, -1
    for ahead, task_id in enumerate(Schedule.of(state).ready(state, queue.key)):
        places[task_id] = _Place(ahead=ahead, first=first, last=last)
        priority = state.tasks[task_id].priority
        first, last = min(first, priority), max(last, priority)
    return places


def _why_parked(state: State, task: Task) -> Wait | None:
    attempt = task.attempt
    if attempt is None or not attempt.parked:
        return None
    if attempt.wants_slot or (attempt.owed and not attempt.waits):
        return Wait(reason="slot", words="waits for a free slot to go on")
    if attempt.parked_for == "paused":
        wait = _why_paused_attempt(state, task)
        if task.nobody_id is None:
            return wait
        words = f"{wait.words}, and leaves; a person is asked ({task.nobody_id})"
        return copy_with(wait, reason="nobody", words=words, ids=(task.nobody_id,))
    if attempt.parked_for is not None:
        question_ids = tuple(task.asks.values())
        words = f"waits for {WAITS_FOR[attempt.parked_for]}" + (f" ({', '.join(question_ids)})" if question_ids else "")
        if not question_ids:
            return Wait(reason="moment", words=words, until_ms=attempt.until_ms)
        questions = (state.escalations[question_id] for question_id in question_ids)
        due_times = [question.due_ms for question in questions if question.due_ms is not None]
        return Wait(reason="person", words=words, ids=question_ids, until_ms=min(due_times, default=None))
    awaited = sum(task.calls[key].open for key in attempt.waits)
    return Wait(reason="calls", words=f"waits for {pluralize(awaited, 'delegated task')}")


def _why_paused_attempt(state: State, task: Task) -> Wait:
    subject = pause_of(state, task.run_id, task.attempt.agent_id or "" if task.attempt is not None else "")
    if subject is None:  # it ended this moment
        return Wait(reason="slot", words="waits for a free slot to go on")
    return Wait(reason="pause", words=describe_pause(subject), ids=(subject.id,))


def _why_closed(state: State, queue: Queue) -> Wait | None:
    """Return why no task of a queue can begin; None if a task only has to wait for its turn."""
    agents = [state.agents[agent_id] for agent_id in queue.agents]
    supervisor = state.supervisors[queue.supervisor_id]
    if not has_taker(state, queue):
        ids = tuple(question.id for question in state.escalations.values() if queue_of(state, question) == queue.key)
        asked = f"; a person is asked ({ids[0]})" if ids else ""
        return Wait(reason="nobody", words=describe_lack(state, queue) + asked, ids=ids)
    lineage = list(lineage_of(state, supervisor))
    if (pause := _why_paused(lineage)) is not None:
        return pause
    spent = next((supervisor for supervisor in lineage if supervisor.held or supervisor.exhausted is not None), None)
    if spent is not None:
        return Wait(reason="budget", words=f"the budget of {spent.name} is spent", ids=(spent.id,))
    is_open = Schedule.of(state).is_open(state, queue.key)
    if is_shared(queue.key) and not is_open:
        return _why_no_agent_works(state, agents) or _why_no_team_can_begin(state, agents, supervisor)
    return _why_no_agent_works(state, agents) or (
        _why_full(state, lineage) if is_open else _why_no_process(state, agents)
    )


def _why_paused(supervisors: Sequence[Supervisor]) -> Wait | None:
    paused = next((supervisor for supervisor in supervisors if supervisor.paused), None)
    if paused is None:
        return None
    return Wait(reason="pause", words=describe_pause(paused), ids=(paused.id,))


def _why_no_process(state: State, agents: Sequence[Agent]) -> Wait | None:
    """Return the limit on processes that stops a queue; None if an agent lacks only a slot of its own."""
    schedule = Schedule.of(state)
    able = [agent for agent in agents if _why_agent_refuses(state, agent) is None]
    if not able or not all(agent.has_room and schedule.lacks_process(state, agent) for agent in able):
        return None
    limit = exhausted_process_limit(state, schedule, state.supervisors[able[0].supervisor_id])
    assert limit is not None
    suffix, ids = ("", ()) if limit.owner is None else (f" of {limit.owner.name}", (limit.owner.id,))
    words = f"waits for a process slot{suffix}: {limit.used} of {limit.max_processes} in use"
    return Wait(reason="process", words=words, ids=ids)


def _why_no_team_can_begin(state: State, agents: Sequence[Agent], anchor: Supervisor) -> Wait | None:
    """Return why no team of a shared queue may begin a task; None if a team only lacks a free agent."""
    first: Wait | None = None
    for agent in agents:
        team = state.supervisors[agent.supervisor_id]
        between = list(takewhile(lambda supervisor: supervisor.id != anchor.id, lineage_of(state, team)))
        refusal = (
            _why_paused([*between])
            or _why_agent_refuses(state, agent)
            or _why_full(state, between or [anchor])
            or _why_no_process(state, [agent])
        )
        if refusal is None:
            return None
        first = first or refusal
    return first


def _why_no_agent_works(state: State, agents: Sequence[Agent]) -> Wait | None:
    """Return why none of the agents takes tasks; None if at least one does once it is free."""
    first: Wait | None = None
    for agent in agents:
        refusal = _why_agent_refuses(state, agent)
        if refusal is None:
            return None
        first = first or refusal
    if first is None or len(agents) == 1:
        return first
    words = f"none of {len(agents):,} agents takes tasks: {first.words}"
    return Wait(reason=first.reason, words=words, ids=tuple(agent.id for agent in agents), until_ms=first.until_ms)


def _why_agent_refuses(state: State, agent: Agent) -> Wait | None:
    ids = (agent.id,)
    if agent.error is not None:
        return Wait(reason="agent", words=f"{agent.name} is in error: {agent.error}", ids=ids)
    if agent.removing is not None and agent.removing != "drain":
        return Wait(reason="agent", words=f"{agent.name} is leaving", ids=ids)
    if agent.away:
        return Wait(reason="agent", words=f"{agent.name} waits: {why_away(agent)}", ids=ids)
    if agent.paused:
        return Wait(reason="pause", words=describe_pause(agent), ids=ids)
    if agent.exhausted is not None or agent.held:
        return Wait(reason="budget", words=f"the budget of {agent.name} is spent", ids=ids)
    if agent.is_shut:
        timer = state.timers.get(timer_id("circuit", agent.id))
        until_ms = None if timer is None else timer.due_ms
        return Wait(reason="circuit", words=f"the circuit of {agent.name} is open", ids=ids, until_ms=until_ms)
    if agent.is_stuck:
        return Wait(reason="agent", words=f"{agent.name} waits: {describe_stuck_slots(agent)}", ids=ids)
    return None


def describe_stuck_slots(agent: Agent, since: str = "") -> str:
    """Return what occupies slots of an agent `since` the first of its attempts ended, and what frees them."""
    others = "" if agent.stuck == 1 else f" (and {pluralize(agent.stuck - 1, 'other')})"
    whose = f"{next(iter(agent.stuck_since), 'an ended attempt')}{others}"
    when = f" since {since}" if since else ""
    slots_text = f"{agent.stuck} of {pluralize(agent.max_concurrency, 'slot')}"
    return f"code of {whose} has not ended{when} and keeps {slots_text}; restart the engine, or give it run_in: process"


def _why_full(state: State, supervisors: Sequence[Supervisor]) -> Wait | None:
    """Return the supervisor without a free slot, if there is one."""
    own, slots = supervisors[0], Schedule.of(state).slots
    running = slots[own.id].running
    if running >= own.max_parallel:
        words = f"supervisor {own.name} is full: {running} of {own.max_parallel} at work"
        return Wait(reason="supervisor", words=words, ids=(own.id,))
    for supervisor in supervisors:
        max_total = supervisor.options.max_total
        total = slots[supervisor.id].total
        if max_total is not None and total >= max_total:
            words = f"the team of {supervisor.name} is full: {total} of {max_total} at work"
            return Wait(reason="team", words=words, ids=(supervisor.id,))
    return None


def _describe_turn(state: State, queue: Queue, place: _Place, priority: int) -> str:
    capability = capability_of(queue.key)
    whose = f"the queue of {capability}" if is_for_named_members(queue.key) else f"the {capability} queue"
    if not capability or len(queue.agents) == 1:
        whose = f"{state.agents[queue.agents[0]].name}'s queue"
    if not place.ahead:
        return f"next in {whose}"
    if place.first == place.last == priority:
        return f"behind {place.ahead:,} in {whose}"
    span = f"{place.first}" if place.first == place.last else f"{place.first}–{place.last}"
    return f"behind {place.ahead:,} of priority {span} in {whose}"


def _summarize_names(names: Sequence[str], kind: str = "") -> str:
    """Return the first name and the number of the others: `parse`, `run r3 and 2 more`."""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"{kind} {names[0]}{more}".strip()
