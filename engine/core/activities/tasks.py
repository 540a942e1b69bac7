"""What a task does: its attempt, if it has one; else why it waits, from `scheduler.waiting`."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from engine.core.activities.kinds import RANKS, ActivityKind, CurrentActivity, first_of
from engine.core.activities.live import Live
from engine.core.activities.silence import Patience, Silence, own_patience, patience_of, silence_of
from engine.core.activities.words import (
    MAX_REASON,
    describe_question,
    describe_seconds,
    describe_work,
    one_line,
    with_name,
)
from engine.core.queries.team.tree import lineage_of
from engine.core.queries.work.pauses import describe_pausing, pause_of
from engine.core.queries.work.times import stopped_since_ms, waits_since_ms
from engine.core.records.records import copy_with
from engine.core.records.spans import BACKOFF, BUDGET, PAUSED, QUEUE
from engine.core.scheduler.waiting import Wait, WaitReason, WaitReasons
from engine.core.state import Agent, Attempt, Escalation, ParkedFor, Run, State, Task, TaskStatus

KIND_OF_WAIT: dict[WaitReason, ActivityKind] = {
    "engine": "suspended",
    "doubt": "doubt",
    "person": "person",
    "retry": "backoff",
    "pause": "paused",
    "runs": "queued",
    "tasks": "queued",
    "calls": "delegated",
    "slot": "slot",
    "nobody": "person",
    "agent": "slot",
    "circuit": "circuit",
    "budget": "budget",
    "supervisor": "slot",
    "team": "slot",
    "process": "slot",
    "turn": "queued",
    "moment": "queued",
}
"""The kind of each reason for which a task waits."""
KIND_OF_PARKED: dict[ParkedFor, ActivityKind] = {
    "call": "delegated",
    "ask": "person",
    "approval": "person",
    "rate_limit": "rate_limit",
    "backoff": "backoff",
    "tool": "slot",
    "paused": "paused",
    "insight": "queued",
}
"""The kind of each wait of an attempt without a slot."""
_TIME_OF: dict[ActivityKind, int] = {"paused": PAUSED, "budget": BUDGET, "circuit": BACKOFF}
"""What the time of a task without an attempt counts as; that of others as time in a queue."""
MAX_IDS = 20
"""Delegated tasks that an activity names at most."""
_WAITING = frozenset({TaskStatus.WAITING, TaskStatus.RETRYING, TaskStatus.PREEMPTED, TaskStatus.IN_DOUBT})
_NO_ENGINE = "no engine works on it"


_Way: TypeAlias = tuple[object, ...]


def _way_of(task: Task, runs: Mapping[str, _Way]) -> _Way:
    """Return how a task without an attempt waits: tasks that wait alike do the same, and a queue has thousands."""
    way = (task.queue, task.agent_id, task.worker_id, task.status, task.escalation_id, task.held_back)
    return (*way, not task.blockers, runs.get(task.run_id))


def _ways_of_runs(state: State) -> dict[str, _Way]:
    return {run.id: (run.suspended, run.paused, not run.after) for run in state.runs.values()}


def unlike_tasks(state: State, tasks: Iterable[Task]) -> Iterator[Task]:
    """Yield the open tasks, but of those that wait alike only the first."""
    runs, known, ready_in = _ways_of_runs(state), set[_Way](), set[str | None]()
    for task in tasks:
        if task.ended_ms is not None or (task.ready and task.queue in ready_in):
            continue
        if task.ready:
            ready_in.add(task.queue)
        elif task.attempt is None and not task.children:
            if (way := _way_of(task, runs)) in known:
                continue
            known.add(way)
        yield task


def _is_draining(attempt: Attempt, agent: Agent | None) -> bool:
    """Return whether an attempt ends the work of an earlier generation, or of an agent that leaves."""
    return agent is not None and (attempt.generation != agent.generation or agent.removing is not None)


class TaskActivities:
    """The activities of the tasks of one state; the state must not change meanwhile."""

    def __init__(self, state: State, live: Mapping[str, Live], now_ms: int, *, working: bool) -> None:
        self._state = state
        self._live = live
        self._now_ms = now_ms
        self._working = working
        self._reasons = WaitReasons(state)
        self._patience: dict[str, Patience] = {}
        self._paused_teams: dict[str, bool] = {}
        self._activities: dict[str, CurrentActivity] = {}
        self._budget_questions: dict[str, Escalation] | None = None
        self._runs = _ways_of_runs(state)
        self._kinds: dict[_Way, ActivityKind] = {}

    def at(self, live: Mapping[str, Live], now_ms: int) -> "TaskActivities":
        """Return the activities of the same state at another moment."""
        later = TaskActivities(self._state, live, now_ms, working=self._working)
        later._reasons, later._patience, later._paused_teams = self._reasons, self._patience, self._paused_teams
        later._budget_questions, later._kinds = self._budget_questions, self._kinds
        return later

    def kind_of(self, task: Task) -> ActivityKind:
        """Return the kind of `of_task`; faster, because nothing is said about tasks at work and in queues."""
        attempt, run = task.attempt, self._state.runs[task.run_id]
        if task.id in self._activities or (attempt is None and (task.ended or task.asks)):
            return self.of_task(task).kind
        if not self._working or run.suspended:
            return "suspended"
        if attempt is not None:
            agent = None if attempt.agent_id is None else self._state.agents[attempt.agent_id]
            interruption = self._interruption_of(task, attempt, run, agent, self._live.get(task.id))
            if interruption is not None:
                return interruption.kind
            if _is_draining(attempt, agent):
                return "draining"
            return self._of_parked(task, attempt).kind if attempt.parked else "working"
        if task.status in _WAITING:
            if (kind := self._kinds.get(way := _way_of(task, self._runs))) is None:
                reason = self._reasons.reason_of(task)
                kind = self._kinds[way] = "queued" if reason is None else KIND_OF_WAIT[reason]
            return kind
        kinds = map(self.kind_of, unlike_tasks(self._state, self._children_of(task)))
        return min(kinds, key=RANKS.__getitem__, default="working")

    def of_task(self, task: Task) -> CurrentActivity:
        """Return what a task does; an ended one is idle."""
        activity = self._activities.get(task.id)
        if activity is None:
            activity = self._activities[task.id] = self._find(task, with_place=True)
        return activity

    def of_one_of_many(self, task: Task) -> CurrentActivity:
        """Return the same without the place in a queue, for those who ask about many tasks."""
        if task.attempt is not None:
            return self.of_task(task)
        return self._activities.get(task.id) or self._find(task, with_place=False)

    def _find(self, task: Task, *, with_place: bool) -> CurrentActivity:
        run, attempt = self._state.runs[task.run_id], task.attempt
        if attempt is None and task.ended:
            return CurrentActivity(kind="idle", words=task.status.value, since_ms=task.ended_ms)
        if not self._working or run.suspended:
            words = _NO_ENGINE if not self._working else "its run is suspended: no engine"
            return CurrentActivity(kind="suspended", words=words, ids=(run.id,))
        if attempt is not None:
            return self._of_attempt(task, attempt, run)
        if task.asks:
            return self._of_questions(task.asks.values())
        if task.status in _WAITING:
            return self._of_wait(task, with_place=with_place)
        return self._of_group(task)

    def _of_group(self, task: Task) -> CurrentActivity:
        """Return the first activity of the open nodes of a graph."""
        first: CurrentActivity | None = None
        first_node: Task | None = None
        for child in unlike_tasks(self._state, self._children_of(task)):
            activity = self.of_one_of_many(child)
            if first_of(first, activity) is activity:
                first, first_node = activity, child
        if first is None or first_node is None:
            return CurrentActivity(kind="working", words="plans", since_ms=task.started_ms)
        return copy_with(first, words=with_name(first_node.title, first.words))

    def _children_of(self, task: Task) -> Iterator[Task]:
        tasks = self._state.tasks
        return (tasks[child_id] for child_id in task.children if child_id in tasks)

    def _of_attempt(self, task: Task, attempt: Attempt, run: Run) -> CurrentActivity:
        agent = None if attempt.agent_id is None else self._state.agents[attempt.agent_id]
        live = self._live.get(task.id)
        interruption = self._interruption_of(task, attempt, run, agent, live)
        if interruption is not None:
            return interruption
        activity = self._of_parked(task, attempt) if attempt.parked else self._of_work(task, attempt, live)
        if agent is None or not _is_draining(attempt, agent):
            return activity
        if attempt.stopping == "migrate":  # it does not end: the next code goes on with it
            return copy_with(activity, kind="draining")
        prefix = "leaves" if agent.removing is not None else f"ends g{attempt.generation} for g{agent.generation}"
        return copy_with(activity, kind="draining", words=one_line(f"{prefix}: {activity.words}"))

    def _interruption_of(
        self, task: Task, attempt: Attempt, run: Run, agent: Agent | None, live: Live | None
    ) -> CurrentActivity | None:
        """Return that an attempt makes no progress, asks a person, or is about to pause."""
        silence: Silence | None = None
        if live is not None and agent is not None and not attempt.parked:
            if live.repeats:
                words = f"repeats {live.repeats}: the same results"
                return CurrentActivity(kind="stuck", words=one_line(words), ids=(task.id,))
            silence = silence_of(agent, attempt, live, self._patience_with(agent), self._now_ms)
            if silence is not None and silence.is_stuck:
                return self._of_silence(task, silence)
        if task.asks:
            return self._of_questions(task.asks.values())
        if silence is not None:
            return self._of_silence(task, silence)
        if agent is None or attempt.parked:
            return None
        if not (agent.paused or run.paused or self._is_team_paused(agent.supervisor_id)):
            return None
        pause = pause_of(self._state, run.id, agent.id)
        if pause is None:
            return None
        work = describe_work(self._state, task, attempt, live)
        words = one_line(f"{describe_pausing(self._state, agent, task)}: {work}")
        since_ms = None if attempt.stopping else stopped_since_ms(self._state, pause.id)
        return CurrentActivity(kind="pausing", words=words, since_ms=since_ms, ids=(pause.id,))

    def _of_silence(self, task: Task, silence: Silence) -> CurrentActivity:
        where = f" in {silence.step.removeprefix('tool:').replace(':', ' ')}" if silence.step else ""
        words = f"silent {describe_seconds(self._now_ms - silence.since_ms)}{where}"
        kind: ActivityKind = "stuck" if silence.is_stuck else "silent"
        return CurrentActivity(kind=kind, words=one_line(words), since_ms=silence.since_ms, ids=(task.id,))

    def _of_work(self, task: Task, attempt: Attempt, live: Live | None) -> CurrentActivity:
        parts = () if live is None else live.calls or live.steps
        since_ms = None if attempt.stopping is not None else parts[-1].since_ms if parts else attempt.started_ms
        words = describe_work(self._state, task, attempt, live)
        return CurrentActivity(kind="working", words=words, since_ms=since_ms, ids=(task.id,))

    def _of_parked(self, task: Task, attempt: Attempt) -> CurrentActivity:
        """Return why an attempt waits without a slot."""
        wait = self._reasons.wait_of(task)
        assert wait is not None
        kind = KIND_OF_WAIT[wait.reason]
        if wait.reason == "moment" and attempt.parked_for is not None:
            kind = KIND_OF_PARKED[attempt.parked_for]
        ids = wait.ids
        if wait.reason == "calls":
            tasks = self._state.tasks
            children = (child for key in attempt.waits for child in task.calls[key].children)
            open_ids = (child for child in children if child in tasks and tasks[child].ended_ms is None)
            ids = tuple(islice(open_ids, MAX_IDS))
        since_ms = attempt.back_ms if kind == "slot" and attempt.back_seq is not None else None
        if kind == "paused":
            since_ms = waits_since_ms(self._state, task, PAUSED, self._now_ms)
        return CurrentActivity(
            kind=kind, words=one_line(wait.words), since_ms=since_ms, until_ms=wait.until_ms, ids=ids
        )

    def _of_questions(self, question_ids: Iterable[str]) -> CurrentActivity:
        """Return that a person is asked."""
        questions = [self._state.escalations[an_id] for an_id in question_ids if an_id in self._state.escalations]
        if not questions:
            return CurrentActivity(kind="person", words="a person is asked")
        due_ms = min((question.due_ms for question in questions if question.due_ms is not None), default=None)
        return CurrentActivity(
            kind="person",
            words=describe_question(questions[0]),
            since_ms=questions[0].asked_ms,
            until_ms=due_ms,
            ids=tuple(question.id for question in questions),
        )

    def _of_wait(self, task: Task, *, with_place: bool) -> CurrentActivity:
        """Return why a task without an attempt waits."""
        wait = self._reasons.wait_of(task, with_place=with_place)
        if wait is None:
            return CurrentActivity(kind="queued", words="begins", since_ms=task.ready_ms or task.created_ms)
        kind = KIND_OF_WAIT[wait.reason]
        if kind == "person" and wait.ids and wait.reason == "person":
            return self._of_questions(wait.ids)
        if kind == "doubt":
            asked_ms = next((self._state.escalations[an_id].asked_ms for an_id in wait.ids), None)
            return CurrentActivity(kind=kind, words=one_line(wait.words), since_ms=asked_ms, ids=wait.ids)
        since_ms = waits_since_ms(self._state, task, _TIME_OF.get(kind, QUEUE), self._now_ms)
        if kind == "budget" and (activity := self._of_budget(task, wait, since_ms)) is not None:
            return activity
        return CurrentActivity(
            kind=kind, words=one_line(wait.words, MAX_REASON), since_ms=since_ms, until_ms=wait.until_ms, ids=wait.ids
        )

    def _of_budget(self, task: Task, wait: Wait, since_ms: int | None) -> CurrentActivity | None:
        """Return whose budget a task waits for, and the question about it."""
        state, run = self._state, self._state.runs[task.run_id]
        subjects: list[tuple[str, str]] = [("its own budget", node.id) for node in lineage_of(state, task) if node.held]
        if run.held:
            subjects.append(("the run's budget", run.id))
        for an_id in wait.ids:
            holder = state.agents.get(an_id) or state.supervisors.get(an_id)
            if holder is not None:
                subjects.append((f"the budget of {holder.name}", an_id))
        if not subjects:
            return None
        return self.held_by(*subjects[0], since_ms=since_ms)

    def held_by(self, budget: str, subject_id: str, *, since_ms: int | None = None) -> CurrentActivity:
        """Return that a budget holds work up, with the question about it if a person is asked."""
        if self._budget_questions is None:
            self._budget_questions = {
                question.subject: question for question in self._state.escalations.values() if question.kind == "budget"
            }
        question = self._budget_questions.get(subject_id)
        if question is None:
            return CurrentActivity(
                kind="budget", words=one_line(f"held: {budget} is spent"), since_ms=since_ms, ids=(subject_id,)
            )
        return CurrentActivity(
            kind="budget",
            words=one_line(f"held by {budget}, a person is asked ({question.id})"),
            since_ms=question.asked_ms,
            until_ms=question.due_ms,
            ids=(question.id,),
        )

    def _is_team_paused(self, supervisor_id: str) -> bool:
        is_paused = self._paused_teams.get(supervisor_id)
        if is_paused is None:
            above = lineage_of(self._state, self._state.supervisors[supervisor_id])
            is_paused = self._paused_teams[supervisor_id] = any(supervisor.paused for supervisor in above)
        return is_paused

    def _patience_with(self, agent: Agent) -> Patience:
        state, supervisor_id = self._state, agent.supervisor_id
        inherited = self._patience.get(supervisor_id)
        if inherited is None:
            inherited = self._patience[supervisor_id] = patience_of(state, state.supervisors[supervisor_id])
        return own_patience(state.specs[agent.spec], inherited)
