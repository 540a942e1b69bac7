"""What agents, supervisors, tasks, runs, questions and events say of themselves to a filter; one class each.

Lists ask for a thousand of them at a key: what is dear is made only where a term asks for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from dashboard.views.amounts import median
from dashboard.views.ended import EndedTask
from dashboard.views.filters import Value
from dashboard.views.glyphs import of_agent, of_run, of_task
from engine.core.spec import AgentSpec
from engine.core.state import Agent, AgentStatus, Escalation, Run, RunSummary, State, Supervisor, Task


class _Texts:
    """A subject whose texts are all at hand."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def parts(self) -> tuple[str, ...]:
        """Return its texts."""
        raise NotImplementedError

    def has(self, word: str) -> bool:
        return word in _folded(self.parts())

    def texts(self) -> Iterable[str]:
        return self.parts()

    def values(self, key: str) -> Iterable[Value]:
        asked = getattr(self, f"_{key}", None)
        return () if asked is None else asked()

    def took_ms(self) -> float | None:
        return None


@lru_cache(32_768)  # of every row at every key
def _folded(parts: tuple[str, ...]) -> str:
    return "\0".join(parts).casefold()


def _member(state: State, member_id: str | None) -> Iterator[Value]:
    if member_id is not None:
        member = state.agents.get(member_id) or state.supervisors.get(member_id)
        yield Value(member.name if member is not None else "", member_id)


def _run_of(state: State, run_id: str | None) -> Iterator[Value]:
    if run_id is not None:
        run = state.runs.get(run_id) or state.summary(run_id)
        yield Value(run.title if run is not None else "", run_id)


def _above(state: State, supervisor_id: str | None) -> Iterator[Value]:
    """Yield a supervisor and all above it: who asks for one means what is below it too."""
    while supervisor_id is not None and (supervisor := state.supervisors.get(supervisor_id)) is not None:
        yield Value(supervisor.name, supervisor_id)
        supervisor_id = supervisor.parent_id


def _models(spec: AgentSpec | None) -> Iterator[Value]:
    if spec is not None and spec.model is not None:
        yield from (Value(model) for model in ([spec.model] if isinstance(spec.model, str) else spec.model))


def _tools(spec: AgentSpec | None) -> Iterator[Value]:
    if spec is not None:
        yield from (Value(str(tool)) for tool in (*spec.tools, *spec.mcp))


_STATES = "\0".join(AgentStatus)


class OfAgent(_Texts):
    """An agent; what it takes is the median of its last attempts."""

    def __init__(self, state: State, agent: Agent) -> None:
        super().__init__(state)
        self._it = agent

    def parts(self) -> tuple[str, ...]:
        return (*self._calm(), self._it.status.value, *(task.title for task in self._at_work()))

    def has(self, word: str) -> bool:
        # A thousand are asked at each key: one text after the other, the likeliest first, and no list of them is made.
        agent, state = self._it, self._state
        if word in agent.name.casefold() or (word in _STATES and word in agent.status.value):
            return True
        for one in (agent.running, agent.parked):
            for task_id in one:
                if (task := state.tasks.get(task_id)) is not None and word in task.title.casefold():
                    return True
        if (spec := state.specs.get(agent.spec)) is not None:
            for specialty in spec.specialties:
                if word in specialty.casefold():
                    return True
        above = state.supervisors.get(agent.supervisor_id)
        while above is not None:
            if word in above.name.casefold():
                return True
            above = state.supervisors.get(above.parent_id) if above.parent_id is not None else None
        return False

    def _calm(self) -> tuple[str, ...]:
        agent, above = self._it, self._state.supervisors.get(self._it.supervisor_id)
        spec = self._state.specs.get(agent.spec)
        found = (agent.name, *spec.specialties) if spec is not None else (agent.name,)
        while above is not None:
            found += (above.name,)
            above = self._state.supervisors.get(above.parent_id) if above.parent_id is not None else None
        return found

    def _at_work(self) -> Sequence[Task]:
        tasks, agent = self._state.tasks, self._it
        return [tasks[one] for one in (*agent.running, *agent.parked) if one in tasks]

    def _agent(self) -> Iterable[Value]:
        return [Value(self._it.name, self._it.id)]

    def _supervisor(self) -> Iterable[Value]:
        return _above(self._state, self._it.supervisor_id)

    def _task(self) -> Iterable[Value]:
        return (Value(task.title, task.id) for task in self._at_work())

    def _run(self) -> Iterable[Value]:
        return (value for task in self._at_work() for value in _run_of(self._state, task.run_id))

    def _kind(self) -> Iterable[Value]:
        return [Value(spec.agent_type or "")] if (spec := self._spec()) is not None else []

    def _spec(self) -> AgentSpec | None:
        return self._state.specs.get(self._it.spec)

    def _status(self) -> Iterable[Value]:
        return [Value(self._it.status.value), Value(of_agent(self._it).word)]

    def _tool(self) -> Iterable[Value]:
        return _tools(self._spec())

    def _model(self) -> Iterable[Value]:
        return _models(self._spec())

    def took_ms(self) -> float | None:
        return median(self._it.durations_ms)


class OfSupervisor(_Texts):
    """A supervisor."""

    def __init__(self, state: State, supervisor: Supervisor) -> None:
        super().__init__(state)
        self._it = supervisor

    def parts(self) -> tuple[str, ...]:
        return (self._it.name, self._it.mode)

    def _supervisor(self) -> Iterable[Value]:
        return _above(self._state, self._it.id)

    def _kind(self) -> Iterable[Value]:
        return [Value(self._it.mode)]

    def _status(self) -> Iterable[Value]:
        supervisor = self._it
        return [Value("error" if supervisor.error is not None else "paused" if supervisor.paused else "")]

    def _run(self) -> Iterable[Value]:
        return (Value(run.title, run.id) for run in self._state.runs.values() if run.supervisor_id == self._it.id)


def worker_name(state: State, task: Task) -> str:
    """Return who works on a task, or did last."""
    worker = task.agent_id or task.worker_id
    if worker is None:
        return "engine" if task.kind in ("join", "check") else ""
    member = state.agents.get(worker) or state.supervisors.get(worker)
    return member.name if member is not None else worker


class OfTask(_Texts):
    """A task; what it takes counts from its first attempt on, up to now where it has not ended."""

    def __init__(self, state: State, task: Task, now_ms: int) -> None:
        super().__init__(state)
        self._it, self._now_ms = task, now_ms

    def parts(self) -> tuple[str, ...]:
        task = self._it
        return (task.title, of_task(task).word, task.error or "", task.id, worker_name(self._state, task))

    def _spec(self) -> AgentSpec | None:
        agent = self._state.agents.get(self._it.agent_id or self._it.worker_id or "")
        return self._state.specs.get(agent.spec) if agent is not None else None

    def _agent(self) -> Iterable[Value]:
        return [Value(worker_name(self._state, self._it), self._it.agent_id or self._it.worker_id or "")]

    def _run(self) -> Iterable[Value]:
        return _run_of(self._state, self._it.run_id)

    def _task(self) -> Iterable[Value]:
        return [Value(self._it.title, self._it.id)]

    def _supervisor(self) -> Iterable[Value]:
        return _above(self._state, self._it.supervisor_id)

    def _kind(self) -> Iterable[Value]:
        return [Value(self._it.kind)]

    def _status(self) -> Iterable[Value]:
        return [Value(self._it.status.value), Value(of_task(self._it).word)]

    def _tool(self) -> Iterable[Value]:
        return [*map(Value, self._it.calling.values()), *_tools(self._spec())]

    def _model(self) -> Iterable[Value]:
        return _models(self._spec())

    def took_ms(self) -> float | None:
        started_ms, ended_ms = self._it.started_ms, self._it.ended_ms
        return None if started_ms is None else (self._now_ms if ended_ms is None else ended_ms) - started_ms


def member_name(state: State, member_id: str) -> str:
    """Return the name of an agent or a supervisor; its id where it has left the team."""
    member = state.agents.get(member_id) or state.supervisors.get(member_id)
    return member.name if member is not None else member_id


class OfEnded(_Texts):
    """A task of a run that is over; what it takes is its last attempt."""

    def __init__(self, state: State, task: EndedTask) -> None:
        super().__init__(state)
        self._it = task

    def parts(self) -> tuple[str, ...]:
        task = self._it
        return (task.title, task.status.value, task.error or "", task.id, member_name(self._state, task.agent_id))

    def _agent(self) -> Iterable[Value]:
        return [Value(member_name(self._state, self._it.agent_id), self._it.agent_id)]

    def _run(self) -> Iterable[Value]:
        run = self._state.summary(self._it.run_id)
        return [Value(run.title if run is not None else "", self._it.run_id)]

    def _task(self) -> Iterable[Value]:
        return [Value(self._it.title, self._it.id)]

    def _supervisor(self) -> Iterable[Value]:
        agent = self._state.agents.get(self._it.agent_id)
        return _above(self._state, agent.supervisor_id) if agent is not None else []

    def _kind(self) -> Iterable[Value]:
        return [Value("agent")]

    def _status(self) -> Iterable[Value]:
        return [Value(self._it.status.value)]

    def took_ms(self) -> float | None:
        return self._it.duration_ms


class OfRun(_Texts):
    """A run, open or finished."""

    def __init__(self, state: State, run: Run | RunSummary, now_ms: int) -> None:
        super().__init__(state)
        self._it, self._now_ms = run, now_ms

    def parts(self) -> tuple[str, ...]:
        run = self._it
        error = run.error if isinstance(run, RunSummary) else run.cancelled_for or run.exceeded
        return (run.title, run.status.value, run.id, error or "")

    def _run(self) -> Iterable[Value]:
        return [Value(self._it.title, self._it.id)]

    def _supervisor(self) -> Iterable[Value]:
        return _above(self._state, self._it.supervisor_id)

    def _kind(self) -> Iterable[Value]:
        return [Value(self._it.strategy)]

    def _status(self) -> Iterable[Value]:
        return [Value(self._it.status.value), Value(of_run(self._it, working=True).word)]

    def _tasks(self) -> Iterator[Task]:
        tasks = self._state.tasks
        return (tasks[one] for one in (self._it.tasks if isinstance(self._it, Run) else ()) if one in tasks)

    def _task(self) -> Iterable[Value]:
        return (Value(task.title, task.id) for task in self._tasks())

    def _agent(self) -> Iterable[Value]:
        return (value for task in self._tasks() for value in _member(self._state, task.agent_id))

    def took_ms(self) -> float | None:
        run = self._it
        return (run.ended_ms if isinstance(run, RunSummary) else self._now_ms) - run.started_ms


class OfNeed(_Texts):
    """What waits for a person: a question, or a member or a task in trouble; what it takes is how long it waits."""

    def __init__(self, state: State, key: str, cells: Sequence[str], now_ms: int) -> None:
        """Take the id of a row of the inbox, and what the row shows."""
        super().__init__(state)
        self._cells, self._now_ms = tuple(cells), now_ms
        self._asked: Escalation | None = state.escalations.get(key)
        self._subject = self._asked.subject if self._asked is not None else key

    def parts(self) -> tuple[str, ...]:
        return self._cells

    def _found(self) -> Task | None:
        return self._state.tasks.get(self._subject)

    def _agent(self) -> Iterable[Value]:
        task = self._found()
        member = self._subject if task is None else task.agent_id or task.worker_id
        return _member(self._state, member if member in self._state.agents else None)

    def _task(self) -> Iterable[Value]:
        task = self._found()
        return [] if task is None else [Value(task.title, task.id)]

    def _run(self) -> Iterable[Value]:
        task = self._found()
        run_id = self._asked.run_id if self._asked is not None else task.run_id if task is not None else None
        return _run_of(self._state, run_id or (self._subject if self._subject in self._state.runs else None))

    def _supervisor(self) -> Iterable[Value]:
        task, agent = self._found(), self._state.agents.get(self._subject)
        above = task.supervisor_id if task is not None else agent.supervisor_id if agent is not None else self._subject
        return _above(self._state, above)

    def _kind(self) -> Iterable[Value]:
        return [Value(self._asked.kind)] if self._asked is not None else []

    def _status(self) -> Iterable[Value]:
        task = self._found()
        return [Value("waiting")] if self._asked is not None else [Value(task.status.value if task else "error")]

    def _tool(self) -> Iterable[Value]:
        tool = self._asked.detail.get("tool") if self._asked is not None else None
        return [Value(str(tool))] if tool is not None else []

    def took_ms(self) -> float | None:
        task = self._found()
        since_ms = self._asked.asked_ms if self._asked is not None else task.ended_ms if task is not None else None
        return None if since_ms is None else self._now_ms - since_ms
