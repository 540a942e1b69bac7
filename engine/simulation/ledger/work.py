"""Independent bookkeeping of runs, tasks, attempts and questions; which tasks are ready, and with which inputs."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.core.queries.work.conversation import visible_exchanges
from engine.core.records.values import StoredValue
from engine.core.specs.check import Check, Joining, Takes
from engine.core.specs.limits import Limits
from engine.core.specs.spec import AgentSpec, FailurePolicy
from engine.core.state import NOBODY, OF_ATTEMPTS, Escalation, Run, State, Task, TaskStatus
from engine.runtimes.attempts.steering import STEERED
from engine.simulation.ledger import Ledger, make_entry


@dataclass(slots=True)
class AttemptEntry:
    """An attempt at work."""

    number: int
    agent_id: str | None
    generation: int
    spec: AgentSpec | None = field(default=None, compare=False)
    """The spec of its generation, as of its start."""
    parked: bool = False
    awaited_calls: list[str] = field(default_factory=list, compare=False)
    """Calls that it waits for, parked or not."""
    parked_for: str | None = field(default=None, compare=False)
    """The reason why it waits without a slot; None if only for delegated work."""
    needs_slot: bool = field(default=False, compare=False)
    """It is parked, and one of its steps needs a slot."""
    stop_reasons: set[str] = field(default_factory=set, compare=False)
    """All reasons for which it was asked to stop."""


@dataclass(slots=True)
class Job:
    """A task. Fields with `compare=False` have no counterpart in the state."""

    id: str
    run_id: str
    parent_id: str | None
    kind: str
    title: str = field(compare=False)
    worker_id: str | None = field(compare=False)
    supervisor_id: str = field(compare=False)
    queue: str | None
    priority: int
    created_ms: int
    after: list[str] = field(default_factory=list)
    sees: list[str] | None = None
    takes: Takes = "request"
    need: int | None = field(default=None, compare=False)
    is_met: bool = field(default=False, compare=False)
    """It has as many answers as it needs."""
    join: Joining | None = None
    check: Check | None = None
    optional: bool = False
    tolerated: bool = False
    passed_by: bool = False
    call_key: str | None = None
    asked_by: str | None = None
    """The task that delegated it, if a switch of strategy has made it a node of a graph; it still gets the outcome."""
    children: list[str] = field(default_factory=list)
    calls: dict[str, list[str]] = field(default_factory=dict)
    outcome: TaskStatus | None = None
    """None while it is open."""
    output: Any = None
    """The whole output, whatever its size."""
    error: str | None = field(default=None, compare=False)
    ended_ms: int | None = None
    attempt: AttemptEntry | None = None
    attempts: int = 0
    agent_id: str | None = None
    """The last agent that worked on it."""
    steps: dict[str, Any] = field(default_factory=dict)
    calling: dict[str, str] = field(default_factory=dict)
    question: str | None = None
    asks: dict[str, str] = field(default_factory=dict)
    """Open questions of its attempts, by their keys."""
    steers: dict[str, str] = field(default_factory=dict)
    """Messages that its next turn takes."""
    read_messages: list[str] = field(default_factory=list, compare=False)
    """Messages that its turns have read since it last started from its input."""
    in_doubt: bool = False
    retrying_until_ms: int | None = None
    cancelling: bool = False
    exceeded: bool = False
    is_on_hold: bool = False
    deadline_ms: int | None = field(default=None, compare=False)
    """Its own deadline, without inherited ones."""
    preemptions: int = 0
    planned: bool = False
    """For a group: its graph was planned."""
    is_claimed: bool = field(default=False, compare=False)
    """A team took it from a shared queue."""
    outcome_id: str | None = None
    """For a group: the node whose output is its output."""
    failed: str | None = field(default=None, compare=False)
    """For a group: why it cannot succeed."""
    begun_ms: int | None = None
    """For a group: when the first attempt below it began."""
    planned_ms: int = field(default=0, compare=False)
    """For a group: when its graph was planned; that of a request waits for the runs that it comes after."""


@dataclass(slots=True)
class RunEntry:
    """A run."""

    id: str
    supervisor_id: str
    root_id: str
    request: Any
    priority: int
    submitted_ms: int
    on_failure: list[FailurePolicy]
    limits: Limits | None
    category: str | None
    after: list[str]
    deadline_ms: int | None
    conversation: str | None = None
    remembers: list[str] = field(default_factory=list)
    """The last runs of its conversation that had ended when it was submitted."""
    tasks: list[str] = field(default_factory=list)
    paused: bool = False
    cancelling: bool = False
    exceeded: bool = False
    is_on_hold: bool = False


@dataclass(slots=True)
class Question:
    """A question that waits for a person."""

    id: str
    kind: str
    subject: str
    run_id: str | None
    due_ms: int | None
    left_ms: int | None
    """Remaining time until its deadline, while its run is paused."""


class JobLedger(Ledger):
    """Every open run with its tasks; every open question."""

    def __init__(self, resolve: Callable[[StoredValue], Any], home_of: Callable[[str | None], str]) -> None:
        self.resolve = resolve
        """Returns the value in the journal for a reference."""
        self.home_of = home_of
        """Returns the supervisor of a queue."""
        self.runs: dict[str, RunEntry] = {}
        self.jobs: dict[str, Job] = {}
        self.questions: dict[str, Question] = {}
        self.conversations: dict[tuple[str, str], list[str]] = {}
        """Ended runs by supervisor and name of the conversation."""
        self.ended_twice: list[str] = []
        """Tasks that got a second outcome without being reopened."""
        self.hand_overs: dict[str, tuple[int, int]] = {}
        """For each supervisor: number of its ended graphs, and their coordination overhead in milliseconds."""
        self.past: Counter[str] = Counter()
        """The totals of finished runs."""

    # Questions

    def totals(self) -> Counter[str]:
        """Return the numbers of runs and of agent tasks, and how many of these succeeded and failed."""
        return self.past + self.count(self.jobs.values()) + Counter(runs=len(self.runs))

    @staticmethod
    def count(jobs: Iterable[Job]) -> Counter[str]:
        """Return how many of some tasks are agent tasks, and how many of these succeeded and failed."""
        ends = [job.outcome for job in jobs if job.kind == "agent"]
        return Counter(tasks=len(ends), done=ends.count(TaskStatus.DONE), failed=ends.count(TaskStatus.FAILED))

    def subject(self, event: Any) -> Job | RunEntry:
        """Return the task, or else the run, that an event is about."""
        return self.jobs[event.task_id] if event.task_id is not None else self.runs[event.run_id]

    def lineage(self, job: Job) -> Iterator[Job]:
        """Yield a task and its ancestors."""
        ancestor: Job | None = job
        while ancestor is not None:
            yield ancestor
            ancestor = self.jobs.get(ancestor.parent_id or "")

    def subtree(self, task_id: str) -> list[Job]:
        """Return a task and its descendants."""
        jobs = [self.jobs[task_id]]
        for job in jobs:
            jobs += [self.jobs[child] for child in job.children]
        return jobs

    def open_under(self, run_id: str, task_id: str | None) -> list[Job]:
        """Return the open tasks of a run, or of a task and its descendants."""
        jobs = [self.jobs[job_id] for job_id in self.runs[run_id].tasks] if task_id is None else self.subtree(task_id)
        return [job for job in jobs if job.outcome is None]

    def passes(self, task_id: str) -> bool:
        """Return whether dependents of a task may begin after its outcome."""
        job = self.jobs[task_id]
        if job.outcome is TaskStatus.SKIPPED:
            return job.optional
        return job.outcome in (TaskStatus.DONE, TaskStatus.CANCELLED) or (
            job.outcome is TaskStatus.FAILED and (job.optional or job.tolerated)
        )

    def is_on_hold(self, job: Job) -> bool:
        """Return whether a pause of its run, or a question about a budget, holds a task back."""
        run = self.runs[job.run_id]
        return run.paused or run.is_on_hold or any(ancestor.is_on_hold for ancestor in self.lineage(job))

    def is_over(self, job: Job) -> bool:
        """Return whether a task or one of its ancestors is being cancelled."""
        return self.runs[job.run_id].cancelling or any(ancestor.cancelling for ancestor in self.lineage(job))

    def is_ready(self, job: Job) -> bool:
        """Return whether an agent task waits only for a slot."""
        return self.waits_for_nothing(job) and not self.is_on_hold(job)

    def waits_for_nothing(self, job: Job) -> bool:
        """Return whether an agent task waits only for a slot or the end of a pause."""
        is_idle = job.outcome is None and job.attempt is None and job.retrying_until_ms is None
        has_open_question = job.question is not None or job.in_doubt or bool(job.calling)
        if job.kind != "agent" or not is_idle or has_open_question:
            return False
        return self.are_ended(job.after)

    def are_ended(self, task_ids: Iterable[str]) -> bool:
        """Return whether all of these tasks have ended."""
        return all(self.jobs[task_id].outcome is not None for task_id in task_ids)

    def is_answered(self, job: Job) -> bool:
        """Return whether all calls of a parked attempt are answered, or one of its steps needs a slot."""
        attempt = job.attempt
        if attempt is None or not attempt.parked:
            return False
        return attempt.needs_slot or not (attempt.parked_for or self.find_awaited(job))

    def find_awaited(self, job: Job) -> list[str]:
        """Return the open tasks that an attempt waits for."""
        waits = job.attempt.awaited_calls if job.attempt is not None else []
        return [child for key in waits for child in job.calls.get(key, ()) if self.jobs[child].outcome is None]

    def deadline_ms(self, job: Job) -> int | None:
        """Return the effective deadline of a task: the earliest of its own and of what it is part of."""
        moments = [self.runs[job.run_id].deadline_ms, *(ancestor.deadline_ms for ancestor in self.lineage(job))]
        return min((moment for moment in moments if moment is not None), default=None)

    def at_work(self, agent_id: str) -> list[Job]:
        """Return the tasks with an attempt of an agent, parked ones included."""
        return [job for job in self.jobs.values() if job.attempt is not None and job.attempt.agent_id == agent_id]

    def graph_predecessors(self, job: Job) -> list[Job]:
        """Return the nodes of its graph that a task sees: those it was told to see, else all before it, as planned."""
        if job.sees is not None:
            return [self.jobs[task_id] for task_id in job.sees if self.jobs[task_id].kind != "check"]
        reached: set[str] = set()
        front = {*job.after}
        while front:
            reached |= front
            front = {before for task_id in front for before in self.jobs[task_id].after} - reached
        siblings = self.jobs[job.parent_id].children if job.parent_id is not None else []
        return [
            self.jobs[sibling_id]
            for sibling_id in siblings
            if sibling_id in reached and self.jobs[sibling_id].kind in ("agent", "group")
        ]

    def inputs_of(self, job: Job) -> list[Job]:
        """Return the tasks whose outputs a task gets: first those of enclosing graphs, then those of its own."""
        if job.takes == "own":
            return []
        input_jobs: list[Job] = []
        for ancestor in self.lineage(job):
            if ancestor.takes != "own" and (ancestor.after or ancestor.sees):
                input_jobs = [*self.graph_predecessors(ancestor), *input_jobs]
            if ancestor.call_key is not None:
                break
        return [input_job for input_job in input_jobs if input_job.output is not None]

    # Writing

    def add(self, job: Job) -> None:
        """Add a task."""
        self.jobs[job.id] = job
        self.runs[job.run_id].tasks.append(job.id)
        if job.parent_id is not None:
            self.jobs[job.parent_id].children.append(job.id)

    def end(self, task_id: str, outcome: TaskStatus, at_ms: int, error: str | None = None) -> None:
        """Give a task its outcome, and withdraw questions about it."""
        job = self.jobs[task_id]
        if job.outcome is not None:
            self.ended_twice.append(f"{task_id} was {job.outcome} and ends again as {outcome}")
        job.outcome, job.error, job.ended_ms = outcome, error, at_ms
        job.attempt = None
        job.retrying_until_ms = None
        job.in_doubt = False
        job.steers = {}
        self.withdraw(None, task_id)

    def pass_by(self, task_id: str, at_ms: int, reason: str) -> None:
        """Skip a task that was removed from its graph."""
        self.jobs[task_id].passed_by, self.jobs[task_id].optional = True, False
        self.end(task_id, TaskStatus.SKIPPED, at_ms, reason)

    def ask_to_stop(self, task_ids: list[str], reason: str) -> None:
        """Note why attempts were asked to stop."""
        for task_id in task_ids:
            attempt = self.jobs[task_id].attempt
            if attempt is not None:
                attempt.stop_reasons.add(reason)

    def withdraw(self, kind: str | None, subject: str) -> None:
        """Withdraw questions about a subject; None is any kind."""
        for question in [*self.questions.values()]:
            if question.subject == subject and kind in (None, question.kind):
                self.drop_question(question.id)
        if subject in self.jobs:
            self.update_question(self.jobs[subject])

    def drop_question(self, question: str) -> None:
        """Drop a question."""
        job = self.jobs.get(self.questions.pop(question).subject)
        if job is not None:
            job.asks = {key: other_id for key, other_id in job.asks.items() if other_id != question}

    def update_question(self, job: Job) -> None:
        """Let a task wait for the first question about it that none of its attempts has asked."""
        questions = (question for question in self.questions.values() if question.subject == job.id)
        job.question = next(
            (question.id for question in questions if question.kind not in (*OF_ATTEMPTS, NOBODY)), None
        )

    def adopt(self, state: State) -> None:
        """Take over imported work from the state."""
        for supervisor in state.supervisors.values():
            for name, conversation in supervisor.conversations.items():
                run_ids = [exchange.run_id for exchange in conversation.exchanges.values()]
                self.conversations.setdefault((supervisor.id, name), run_ids)
        for run in state.runs.values():
            self.runs.setdefault(run.id, self.to_run_entry(state, run))
        for task in state.tasks.values():
            self.jobs.setdefault(task.id, self.to_job(state, task))
        for escalation in state.escalations.values():
            self.questions.setdefault(escalation.id, to_question(escalation))
        for supervisor in state.supervisors.values():
            self.hand_overs.setdefault(supervisor.id, (supervisor.hand_overs, supervisor.hand_over_ms))
        totals = Counter(
            tasks=state.tasks_total, done=state.tasks_done, failed=state.tasks_failed, runs=state.runs_total
        )
        totals.subtract(self.count(self.jobs.values()) + Counter(runs=len(self.runs)))
        self.past = totals

    def to_run_entry(self, state: State, run: Run) -> RunEntry:
        """Convert a run of the state."""
        return make_entry(
            RunEntry,
            run,
            request=self.resolve(run.request),
            submitted_ms=run.started_ms,
            tasks=[*run.tasks],
            exceeded=run.exceeded is not None,
            is_on_hold=run.held,
            remembers=[exchange.run_id for exchange in visible_exchanges(state, state.tasks[run.root_id])],
        )

    def to_job(self, state: State, task: Task) -> Job:
        """Convert a task of the state."""
        timer = state.timers.get(f"deadline:{task.id}")
        attempt = task.attempt
        steps = {key: self.resolve(value) for key, value in task.steps.items()}
        return make_entry(
            Job,
            task,
            after=[*task.after],
            children=[*task.children],
            calls={call.key: [*call.children] for call in task.calls.values()},
            outcome=task.status if task.ended else None,
            output=self.resolve(task.output),
            steps=steps,
            calling=dict(task.calling),
            read_messages=[text for key, texts in steps.items() if key.startswith(STEERED) for text in texts],
            question=task.escalation_id,
            asks=dict(task.asks),
            steers=dict(task.steers),
            in_doubt=task.status is TaskStatus.IN_DOUBT,
            retrying_until_ms=task.retry_at_ms,
            exceeded=task.exceeded is not None,
            is_on_hold=task.held,
            deadline_ms=None if timer is None else timer.due_ms,
            planned=task.mode is not None,
            attempt=None
            if attempt is None
            else AttemptEntry(attempt.number, attempt.agent_id, attempt.generation, parked=attempt.parked),
            failed=task.error if task.kind == "group" and not task.ended else None,
        )


def to_question(escalation: Escalation) -> Question:
    """Convert a question of the state."""
    return make_entry(Question, escalation)
