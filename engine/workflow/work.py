"""What a pool does in the loop of its thread: submit requests, follow them, and read how they stand."""

from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from engine.core.discovery.nearest import nearest
from engine.core.errors import did_you_mean
from engine.core.events import Delegated, Event, RunFinished
from engine.core.records.values import preview
from engine.core.specs.failure_policies import Failover
from engine.core.specs.spec import AgentSpec
from engine.core.state import Run, RunSummary, State, TaskStatus
from engine.errors import CommandRefusedError, HostStopped, OpenRun, UnknownRun
from engine.reading.folding import finished_run, fold_file, fold_from
from engine.supervisor.dynamic import DynamicSupervisor
from engine.supervisor.requests import RunDuties
from engine.workflow.lead import workers_in
from engine.workflow.requests import OPEN, REASSIGNED, Assignment, ReadText, Request, Row, status_of
from engine.workflow.tables import RequestTable
from store import Reader

MAX_REQUESTS = 100
"""Ended requests of a pool on a file that are kept in memory; older ones are read from the file."""
TAKE_OVER = (Failover(on=("AgentCrashed", "ProcessDied")),)
"""What happens by default to the tasks of a worker that dies: another worker takes them over."""


class PoolWork:
    """The requests of a pool. Use it from the loop of the pool's thread."""

    def __init__(self, team: DynamicSupervisor, file: Path | None) -> None:
        self._team = team
        self._engine = team._engine
        self._file = file
        self._ending: OrderedDict[str, Request] = OrderedDict()
        """Requests whose tasks have ended or are being stopped, oldest first; the state drops them at their end."""
        self._is_open = False
        self._lock = anyio.Lock()
        """Held while the engine starts, and while a task is reassigned."""

    async def open(self) -> None:
        """Start the engine, unless it runs; raises StoreError if the file cannot be opened."""
        if not self._is_open:
            async with self._lock:
                if not self._is_open:
                    await self._team.__aenter__()
                    self._is_open = True

    async def leave(self) -> None:
        """End the engine."""
        if self._is_open:
            await self._team.__aexit__(None, None, None)

    async def add(self, spec: AgentSpec) -> None:
        """Add an agent to the team."""
        await self.open()
        await self._team.add_agent(spec)

    def keep(self, run_id: str) -> None:
        """Keep the tasks of a request, which leave the state at its end."""
        if run_id in self._engine.state.runs:
            self._ending[run_id] = Request.of(self._engine.state, run_id)
            if self._file is not None and len(self._ending) > MAX_REQUESTS:
                self._ending.popitem(last=False)

    async def begin(self, parameters: Mapping[str, Any], duties: RunDuties) -> RequestTable:
        """Submit a request, and return it once its tasks are planned.

        Raises:
            RunFailed: If it ended before.
            CommandRefusedError: If there is no such worker, or a duty is invalid.
        """
        await self.open()
        self._check_workers(name for name, _ in parameters.get("workers", ()))
        with self._engine.events() as events:
            duties = RunDuties(**{"on_failure": TAKE_OVER, **duties})
            run_id = await self._team.submit(dict(parameters), None, **duties)
            async for event in _of_run(events, run_id):
                if isinstance(event, RunFinished):
                    await self._team.wait(run_id)
                if isinstance(event, Delegated) and event.call_kind == "plan":
                    break
        return await self.table(run_id)

    async def tables(self, run_id: str | None = None) -> list[RequestTable]:
        """Return one request; or all that are open and those of this pool that have ended, oldest first."""
        if run_id is not None:
            return [await self.table(run_id)]
        state, text = await self._newest()
        requests = {**self._ending, **{run_id: Request.of(state, run_id) for run_id in state.runs}}
        in_order = sorted(requests, key=lambda run_id: int(run_id[1:]))
        return [await RequestTable.read(requests[run_id], state, text) for run_id in in_order]

    async def table(self, run_id: str) -> RequestTable:
        """Return a request as it stands; raises UnknownRun."""
        return await RequestTable.read(*await self._request(run_id))

    async def _request(self, run_id: str) -> tuple[Request, State, ReadText]:
        """Return a request, the state that it is in, and the reader of its texts; raises UnknownRun."""
        state, text = await self._newest()
        if run_id in state.runs:
            request = Request.of(state, run_id)
        elif run_id in self._ending:
            request = self._ending[run_id]
        elif self._file is None:
            raise UnknownRun(run_id)
        else:
            state = await anyio.to_thread.run_sync(_state_before_end, self._file, run_id)
            request = Request.of(state, run_id)
        return request, state, text

    async def _assignment(self, run_id: str, task_id: str) -> Assignment:
        """Return one task of a request; the others are not read, as callers ask for each of thousands."""
        request, state, text = await self._request(run_id)
        task = next((task for task in request.tasks if task.id == task_id), None)
        if task is None:
            raise CommandRefusedError("unknown_task", f"request {run_id} has no task {task_id!r:.70}")
        return await Assignment.read(task, state, text)

    async def _newest(self) -> tuple[State, ReadText]:
        """Return the newest state and the reader of its texts: of the engine, or of the file while none runs here."""
        if self._is_open or self._file is None:
            return self._engine.state, self._engine.text
        return await anyio.to_thread.run_sync(fold_file, self._file), self._engine.text

    async def finished(self, run_id: str) -> RequestTable:
        """Wait until a request has ended, and return it.

        Raises:
            OpenRun: If no engine runs here that could end it.
            UnknownRun: If there is none.
        """
        if self._is_open:
            await self._engine.wait_for_run(run_id)
        elif run_id in (await self._newest())[0].runs:
            raise OpenRun(run_id)
        return await self.table(run_id)

    async def follow(self, run_id: str, take: Callable[[Row], object]) -> None:
        """Give each result of a request to `take`, as it comes."""
        with self._engine.events() as events:
            state, text = await self._newest()
            is_open = run_id in state.runs
            tasks = Request.of(state, run_id).tasks if is_open else []
            open_tasks = {task.id: task for task in tasks if task.status is not TaskStatus.DONE}
            for row in (await self.table(run_id)).results:
                if row["metadata"]["task_id"] not in open_tasks:
                    take(row)
            if not is_open:
                return
            async for event in _of_run(events, run_id):
                task = open_tasks.get(getattr(event, "task_id", None) or "")
                if task is not None and task.status is TaskStatus.DONE:
                    take((await Assignment.read(open_tasks.pop(task.id), state, text)).result())
                if isinstance(event, RunFinished):
                    return

    async def execute(self, run_id: str, task_id: str, worker: str) -> Row:
        """Wait until a worker has ended a task that it was given, and return the outcome."""
        with self._engine.events() as events:
            assignment = await self._assignment(run_id, task_id)
            if assignment.worker != worker:
                reason = f"task {task_id} is given to {assignment.worker}; reassign it to {worker} first"
                raise CommandRefusedError("not_assigned", reason)
            if assignment.status in OPEN:
                async for _ in _of_run(events, run_id):
                    task = self._engine.state.tasks.get(task_id)
                    if task is None or status_of(task) not in OPEN:
                        break
        return (await self._assignment(run_id, task_id)).outcome()

    async def reassign(self, run_id: str, task_id: str, worker: str) -> Row:
        """Give a task to another worker: at once, or if it has ended without a result, in a run of its own.

        Raises:
            CommandRefusedError: If it has a result, was given on already, or there is no such worker.
        """
        await self.open()
        async with self._lock:
            assignment = await self._assignment(run_id, task_id)
            if assignment.status in OPEN:
                self._check_workers([worker])
                await self._team.reassign(task_id, worker, now=True)
                return (await self._assignment(run_id, task_id)).row()
            self._check_without_result(assignment)
            value: Any = assignment.input
            item = value if isinstance(value, dict) and "description" in value else {"description": value}
            parameters = {
                "request": assignment.description,
                "supervisor": (await self.table(run_id)).parameters.get("supervisor"),
                "tasks": [{**item, "priority": assignment.task.priority}],
                "workers": [[worker, 1]],
            }
            again = await self.begin(parameters, RunDuties(labels={REASSIGNED: task_id}))
            return again.assignments[0].row()

    def _check_without_result(self, assignment: Assignment) -> None:
        state, task_id = self._engine.state, assignment.task.id
        runs: list[Run | RunSummary] = [*state.runs.values(), *state.finished]
        again = next((run.id for run in runs if run.labels.get(REASSIGNED) == task_id), None)
        if assignment.original is not None:
            raise CommandRefusedError("duplicate", f"task {task_id} is a {assignment.task.error}; reassign that one")
        if assignment.status == "completed":
            raise CommandRefusedError("has_result", f"task {task_id} has its result already; nothing to reassign")
        if again is not None:
            reason = f"task {task_id} was given on already, as request {again}; reassign the task of that one"
            raise CommandRefusedError("given_on", reason)

    def _check_workers(self, names: Iterable[str]) -> None:
        workers = workers_in(self._engine.state)
        if not workers:
            raise CommandRefusedError("no_worker", "the pool has no worker; make one first: WorkerAgent(pool, 'name')")
        for name in names:
            if name not in workers:
                hint = did_you_mean(nearest(name, workers), f"there are {preview(', '.join(workers))}")
                raise CommandRefusedError("unknown_agent", f"the pool has no worker {name!r:.70}; {hint}")


async def _of_run(events: AsyncIterable[tuple[int, Event]], run_id: str) -> AsyncIterator[Event]:
    """Yield the events of a run that is open; raises HostStopped if the engine ends first."""
    async for _, event in events:
        if getattr(event, "run_id", None) == run_id:
            yield event
    raise HostStopped("the request was still open")


def _state_before_end(file: Path, run_id: str) -> State:
    """Return the last state of a file in which a run was open."""
    with Reader(file) as reader:
        summary = finished_run(reader, run_id)
        if summary is None:
            raise UnknownRun(run_id)
        return fold_from(reader, summary.seq - 1)
