"""Filter subjects of agents, supervisors, tasks, runs and questions; one class each.

A list may test a thousand of them at each key press: expensive values are computed only if a term needs them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Generic, TypeVar

from dashboard.views.facts.ended import EndedTask
from dashboard.views.measures.digest import Digest
from dashboard.views.words.filters import Filter, Value, label_values
from dashboard.views.words.glyphs import ACTIVITY, run_mark
from dashboard.views.words.names import format_labels
from engine.core.activities import Activities, ActivityKind
from engine.core.queries.targets import name_of
from engine.core.queries.team.figures import median
from engine.core.queries.team.tree import supervisors_from
from engine.core.queries.work.labels import labels_of
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, AgentStatus, Escalation, Run, RunSummary, State, Supervisor, Task, TaskStatus

T = TypeVar("T")


class _TextSubject(Generic[T]):
    """A subject whose texts are in the state."""

    __slots__ = ("_entity", "_now_ms", "_state")

    def __init__(self, state: State, entity: T, now_ms: int = 0) -> None:
        self._state, self._entity, self._now_ms = state, entity, now_ms

    def parts(self) -> tuple[str, ...]:
        """Return its texts."""
        raise NotImplementedError

    def has(self, word: str) -> bool:
        return word in _casefold(self.parts())

    def texts(self) -> Iterable[str]:
        return self.parts()

    def values(self, key: str) -> Iterable[Value]:
        raise NotImplementedError

    def took_ms(self) -> float | None:
        return None


@lru_cache(32_768)  # every row is tested at every key press
def _casefold(parts: tuple[str, ...]) -> str:
    return "\0".join(parts).casefold()


def _member_values(state: State, member_id: str | None) -> Iterator[Value]:
    if member_id is not None:
        member = state.agents.get(member_id) or state.supervisors.get(member_id)
        yield Value(member.name if member is not None else "", member_id)


def _run_values(state: State, run_id: str | None) -> Iterator[Value]:
    if run_id is not None:
        run = state.runs.get(run_id) or state.summary(run_id)
        yield Value(run.title if run is not None else "", run_id)


def _label_values(state: State, run_id: str | None) -> Iterator[Value]:
    return label_values(labels_of(state, run_id))


def _supervisor_values(state: State, supervisor_id: str | None) -> Iterator[Value]:
    """Return a supervisor and all above it: a filter for a supervisor includes everything below it."""
    return (Value(supervisor.name, supervisor.id) for supervisor in supervisors_from(state, supervisor_id))


def _models(spec: AgentSpec | None) -> Iterator[Value]:
    if spec is not None and spec.model is not None:
        yield from (Value(model) for model in ([spec.model] if isinstance(spec.model, str) else spec.model))


def _tools(spec: AgentSpec | None) -> Iterator[Value]:
    if spec is not None:
        yield from (Value(str(tool)) for tool in (*spec.tools, *spec.mcp))


_STATES = "\0".join((*AgentStatus, *TaskStatus, *ACTIVITY, *(mark.word for mark in ACTIVITY.values())))


def _status_values(status: str, kind: ActivityKind) -> list[Value]:
    """Return the words of a state: of the journal, of the activity, and of its mark."""
    return [Value(status), Value(kind), Value(ACTIVITY[kind].word)]


def filter_agents(state: State, agents: Iterable[Agent], row_filter: Filter, counts: Digest) -> list[Agent]:
    """Return the agents that pass a filter, in their order."""
    having = partial(_agents_with_word, state, counts)
    return row_filter.apply(agents, lambda agent: AgentSubject(state, agent, counts), having=having)


def _agents_with_word(state: State, counts: Digest, word: str) -> Callable[[Agent], bool]:
    """Return a test like `AgentSubject.has` for one word, which does not build the texts of an agent.

    Specs and supervisors, which many agents share, are tested once for all of them.
    """
    specs = {key for key, spec in state.specs.items() for specialty in spec.specialties if word in specialty.casefold()}
    supervisor_ids = {
        key
        for key in state.supervisors
        if any(word in value.name.casefold() for value in _supervisor_values(state, key))
    }
    in_states, tasks = word in _STATES, state.tasks

    def has(agent: Agent) -> bool:
        if word in agent.name.casefold() or agent.spec in specs or agent.supervisor_id in supervisor_ids:
            return True
        for at_work in (agent.running, agent.parked):
            for task_id in at_work:
                if (task := tasks.get(task_id)) is not None and word in task.title.casefold():
                    return True
        return in_states and any(word in value.name for value in _status_values(agent.status, counts.kind_of(agent)))

    return has


class AgentSubject(_TextSubject[Agent]):
    """An agent; its duration is the median of its last attempts."""

    def __init__(self, state: State, agent: Agent, counts: Digest) -> None:
        super().__init__(state, agent)
        self._counts = counts

    def parts(self) -> tuple[str, ...]:
        states = (value.name for value in self.values("status"))
        return (*self._static_texts(), *states, *(task.title for task in self._at_work()))

    def _static_texts(self) -> tuple[str, ...]:
        agent, supervisor = self._entity, self._state.supervisors.get(self._entity.supervisor_id)
        spec = self._state.specs.get(agent.spec)
        texts = (agent.name, *spec.specialties) if spec is not None else (agent.name,)
        while supervisor is not None:
            texts += (supervisor.name,)
            supervisor = self._state.supervisors.get(supervisor.parent_id) if supervisor.parent_id is not None else None
        return texts

    def _at_work(self) -> Sequence[Task]:
        tasks, agent = self._state.tasks, self._entity
        return [tasks[task_id] for task_id in (*agent.running, *agent.parked) if task_id in tasks]

    def values(self, key: str) -> Iterable[Value]:
        state, agent, spec = self._state, self._entity, self._state.specs.get(self._entity.spec)
        match key:
            case "agent":
                return [Value(agent.name, agent.id)]
            case "supervisor":
                return _supervisor_values(state, agent.supervisor_id)
            case "task":
                return (Value(task.title, task.id) for task in self._at_work())
            case "run":
                return (value for task in self._at_work() for value in _run_values(state, task.run_id))
            case "label":
                return (value for task in self._at_work() for value in _label_values(state, task.run_id))
            case "kind":
                return [Value(spec.agent_type or "")] if spec is not None else []
            case "status":
                return _status_values(agent.status, self._counts.kind_of(agent))
            case "tool":
                return _tools(spec)
            case "model":
                return _models(spec)
        return ()

    def took_ms(self) -> float | None:
        return median(self._entity.at_work_ms)


class SupervisorSubject(_TextSubject[Supervisor]):
    """A supervisor."""

    def parts(self) -> tuple[str, ...]:
        return (self._entity.name, self._entity.mode)

    def _runs(self) -> Iterator[Run]:
        return (run for run in self._state.runs.values() if run.supervisor_id == self._entity.id)

    def values(self, key: str) -> Iterable[Value]:
        state, supervisor = self._state, self._entity
        match key:
            case "supervisor":
                return _supervisor_values(state, supervisor.id)
            case "kind":
                return [Value(supervisor.mode)]
            case "status":
                return [Value("error" if supervisor.error is not None else "paused" if supervisor.paused else "")]
            case "run":
                return (Value(run.title, run.id) for run in self._runs())
            case "label":
                return (value for run in self._runs() for value in label_values(run.labels))
        return ()


def worker_name(state: State, task: Task) -> str:
    """Return the name of the agent that works on a task, or did last."""
    worker = task.agent_id or task.worker_id
    if worker is None:
        return "engine" if task.kind in ("join", "check") else ""
    return name_of(state, worker)


class TaskSubject(_TextSubject[Task]):
    """A task; its duration counts from its first attempt on, until now if it has not ended."""

    def __init__(self, state: State, task: Task, activities: Activities, now_ms: int = 0) -> None:
        super().__init__(state, task, now_ms)
        self._activities = activities

    def parts(self) -> tuple[str, ...]:
        return (*self._static_texts(), *(value.name for value in self.values("status")))

    def _static_texts(self) -> tuple[str, ...]:
        task = self._entity
        return (task.title, task.error or "", task.id, worker_name(self._state, task))

    def has(self, word: str) -> bool:
        if word in _casefold(self._static_texts()):
            return True
        return word in _STATES and any(word in value.name for value in self.values("status"))

    def _spec(self) -> AgentSpec | None:
        agent = self._state.agents.get(self._entity.agent_id or self._entity.worker_id or "")
        return self._state.specs.get(agent.spec) if agent is not None else None

    def values(self, key: str) -> Iterable[Value]:
        state, task = self._state, self._entity
        match key:
            case "agent":
                return [Value(worker_name(state, task), task.agent_id or task.worker_id or "")]
            case "run":
                return _run_values(state, task.run_id)
            case "task":
                return [Value(task.title, task.id)]
            case "supervisor":
                return _supervisor_values(state, task.supervisor_id)
            case "kind":
                return [Value(task.kind)]
            case "label":
                return _label_values(state, task.run_id)
            case "status":
                if task.ended:
                    return [Value(task.status.value)]
                return _status_values(task.status, self._activities.kind_of_task(task))
            case "tool":
                return [*map(Value, task.calling.values()), *_tools(self._spec())]
            case "model":
                return _models(self._spec())
        return ()

    def took_ms(self) -> float | None:
        started_ms, ended_ms = self._entity.started_ms, self._entity.ended_ms
        return None if started_ms is None else (self._now_ms if ended_ms is None else ended_ms) - started_ms


class EndedTaskSubject(_TextSubject[EndedTask]):
    """A task of a finished run."""

    def parts(self) -> tuple[str, ...]:
        task = self._entity
        return (task.title, task.status.value, task.error or "", task.id, name_of(self._state, task.agent_id))

    def values(self, key: str) -> Iterable[Value]:
        state, task = self._state, self._entity
        match key:
            case "agent":
                return [Value(name_of(state, task.agent_id), task.agent_id)]
            case "run":
                return _run_values(state, task.run_id)
            case "task":
                return [Value(task.title, task.id)]
            case "supervisor":
                agent = state.agents.get(task.agent_id)
                return _supervisor_values(state, agent.supervisor_id) if agent is not None else []
            case "kind":
                return [Value("agent")]
            case "label":
                return _label_values(state, task.run_id)
            case "status":
                return [Value(task.status.value)]
        return ()

    def took_ms(self) -> float | None:
        return self._entity.took_ms


class RunSubject(_TextSubject[Run | RunSummary]):
    """A run, open or finished."""

    def __init__(self, state: State, run: Run | RunSummary, activities: Activities, now_ms: int) -> None:
        """Store a run, and what it does."""
        super().__init__(state, run, now_ms)
        self._activities = activities

    def parts(self) -> tuple[str, ...]:
        run = self._entity
        error = run.error if isinstance(run, RunSummary) else run.cancelled_for or run.exceeded
        return (run.title, run.status.value, run.id, error or "", format_labels(run.labels))

    def values(self, key: str) -> Iterable[Value]:
        state, run = self._state, self._entity
        task_ids = run.tasks if isinstance(run, Run) else ()
        tasks = (state.tasks[task_id] for task_id in task_ids if task_id in state.tasks)
        match key:
            case "run":
                return [Value(run.title, run.id)]
            case "supervisor":
                return _supervisor_values(state, run.supervisor_id)
            case "kind":
                return [Value(run.strategy)]
            case "label":
                return label_values(run.labels)
            case "status":
                return [Value(run.status.value), Value(run_mark(run, self._activities).word)]
            case "task":
                return (Value(task.title, task.id) for task in tasks)
            case "agent":
                return (value for task in tasks for value in _member_values(state, task.agent_id))
        return ()

    def took_ms(self) -> float | None:
        run = self._entity
        return (run.ended_ms if isinstance(run, RunSummary) else self._now_ms) - run.started_ms


class NeedSubject(_TextSubject[str]):
    """A row of the inbox: a question, or a member or task in trouble; its duration is the time it has waited."""

    def __init__(self, state: State, key: str, cells: Sequence[str], now_ms: int) -> None:
        """Store the id of a row of the inbox, and its cells."""
        super().__init__(state, key, now_ms)
        self._cells = tuple(cells)
        self._escalation: Escalation | None = state.escalations.get(key)
        self._subject = self._escalation.subject if self._escalation is not None else key

    def parts(self) -> tuple[str, ...]:
        return self._cells

    def _task(self) -> Task | None:
        return self._state.tasks.get(self._subject)

    def values(self, key: str) -> Iterable[Value]:
        state, escalation, subject, task = self._state, self._escalation, self._subject, self._task()
        match key:
            case "agent":
                member = subject if task is None else task.agent_id or task.worker_id
                return _member_values(state, member if member in state.agents else None)
            case "task":
                return [] if task is None else [Value(task.title, task.id)]
            case "run" | "label":
                run_id = escalation.run_id if escalation is not None else task.run_id if task is not None else None
                run_id = run_id or (subject if subject in state.runs else None)
                return _run_values(state, run_id) if key == "run" else _label_values(state, run_id)
            case "supervisor":
                owner = task or state.agents.get(subject)
                return _supervisor_values(state, owner.supervisor_id if owner is not None else subject)
            case "kind":
                return [Value(escalation.kind)] if escalation is not None else []
            case "status":
                return [Value("waiting" if escalation is not None else task.status.value if task else "error")]
            case "tool":
                tool = escalation.detail.get("tool") if escalation is not None else None
                return [Value(str(tool))] if tool is not None else []
        return ()

    def took_ms(self) -> float | None:
        task = self._task()
        since_ms = (
            self._escalation.asked_ms if self._escalation is not None else task.ended_ms if task is not None else None
        )
        return None if since_ms is None else self._now_ms - since_ms
