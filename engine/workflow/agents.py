"""The supervisor, the workers and the coordinator of a pool, as programs know them: plain calls that block."""

import os
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Unpack

from engine.core.specs.spec import AgentSpec
from engine.runtimes.model.lookup import MODEL_VARIABLE
from engine.supervisor.requests import RunDuties
from engine.workflow.lead import MAX_TASKS, TASKS_SCHEMA, WORKER, Planner, planner_agent
from engine.workflow.pool import SharedMemoryPool, result_of
from engine.workflow.requests import OPEN, Row
from engine.workflow.tables import RequestTable, progress_of

Worker = str | tuple[str, float]
"""The name of a worker, perhaps with its share of the tasks."""


class SupervisorAgent:
    """Splits requests into tasks, gives them to workers, and joins the results.

    Args:
        pool: What it shares with the workers.
        name: Its name.
        model: The model that plans the tasks; by default the one in `QUARTERDECK_MODEL`.
        planner: A function that plans them in place of a model: of a request and a number of tasks, it returns the
            tasks, each a text or an object with a `description` and perhaps `input`, `priority` and `assigned_to`.
            Of objects with one name the last planner counts. Without either, the lines of a request are its tasks, or
            so many parts of it.
    """

    def __init__(
        self,
        pool: SharedMemoryPool,
        name: str = "supervisor",
        *,
        model: str | Sequence[str] | None = None,
        planner: Planner | None = None,
    ) -> None:
        if model is not None and planner is not None:
            raise ValueError(f"supervisor {name!r} is given a model and a planner; leave out one")
        self.name = name
        self._pool = pool
        self._planner = "scripted"
        if planner is not None:
            pool._planners[name] = planner
            self._planner = "function"
        elif model is not None or os.environ.get(MODEL_VARIABLE):
            self._planner = "model"
            spec = AgentSpec(name=planner_agent(name), model=model, output=TASKS_SCHEMA)
            if pool._planning.get(name) != spec:  # several objects may stand for one supervisor
                pool._add(spec)
                pool._planning[name] = spec

    def delegate(
        self,
        request: str,
        available_workers: Sequence[Worker] | None = None,
        num_tasks: int = 3,
        **duties: Unpack[RunDuties],
    ) -> list[Row]:
        """Plan the tasks of a request, give each to a worker, and return them; the workers begin at once.

        Args:
            request: What is to be done.
            available_workers: Names of workers, or pairs of a name and its share of the tasks; by default all workers
                of the pool, in turn.
            num_tasks: How many tasks to make of it.
            duties: As of `DynamicSupervisor.submit`, such as `priority`, `deadline_s` and `on_failure`.

        Raises:
            CommandRefusedError: If there is no such worker.
            RunFailed: If the tasks cannot be planned.
            StoreError: If the file of the pool cannot be opened.
            ValueError: If a number is out of range.
        """
        if not isinstance(request, str) or not request.strip():
            raise ValueError(f"a request must be a text, not {request!r:.70}")
        if not isinstance(num_tasks, int) or not 1 <= num_tasks <= MAX_TASKS:
            raise ValueError(f"num_tasks must be 1 to {MAX_TASKS:,}, not {num_tasks!r:.40}")
        parameters: dict[str, Any] = {
            "request": request,
            "num_tasks": num_tasks,
            "planner": self._planner,
            "supervisor": self.name,
        }
        if available_workers is not None:
            if not available_workers:
                raise ValueError("available_workers is empty; leave it out for all workers of the pool")
            parameters["workers"] = [_with_weight(worker) for worker in available_workers]
        table = self._pool._call(self._pool._work.begin, parameters, duties)
        return [each.row() for each in table.assignments]

    def aggregate_results(self, request_id: str, on_result: Callable[[Row], object] | None = None) -> Row:
        """Wait until all tasks of a request have ended, and return it with its results and failures.

        Args:
            request_id: The `request_id` of its tasks.
            on_result: Called with each result as it comes, in the caller's thread.

        Raises:
            UnknownRun: If there is no such request.
        """
        work = self._pool._work
        if on_result is not None:
            results: SimpleQueue[Row | None] = SimpleQueue()
            following = self._pool._start(work.follow, request_id, results.put)
            following.add_done_callback(lambda _: results.put(None))
            try:
                while (row := results.get()) is not None:
                    on_result(row)
            finally:
                following.cancel()
            result_of(following)
        return self._pool._call(work.finished, request_id).whole()

    def check_all_tasks_completed(self, request_id: str) -> bool:
        """Return whether every task of a request has its result."""
        assignments = self._table(request_id).assignments
        return all(each.status == "completed" or each.original is not None for each in assignments)

    def check_failures(self, request_id: str) -> list[Row]:
        """Return the failures of a request so far."""
        return self._table(request_id).failures

    def reassign_task(self, task: Mapping[str, Any], new_worker: str) -> Row:
        """Give a task to another worker, and return it as it is now.

        Its worker loses it at once. A task that has failed is done again in a request of its own.

        Args:
            task: What `delegate` returned, or anything with its `task_id` and `request_id`.
            new_worker: Name of the worker.

        Raises:
            CommandRefusedError: If it has its result, was given on already, or there is no such worker.
        """
        return self._pool._call(self._pool._work.reassign, *_fields(task, "request_id", "task_id"), new_worker)

    def _table(self, request_id: str) -> RequestTable:
        return self._pool._call(self._pool._work.table, request_id)


class WorkerAgent:
    """Does the tasks that it is given, one after the other.

    Args:
        pool: What it shares with the others.
        name: Its name in the pool.
        run: The function that does a task, of its text or of `(task, ctx)`; it may be async.
        model: The model that does it, in place of a function; by default the one in `QUARTERDECK_MODEL`. Without any
            it answers by a script: its name, and the task.

    Raises:
        CommandRefusedError: If the name is taken.
        Unusable: If the function cannot be called.
    """

    def __init__(
        self,
        pool: SharedMemoryPool,
        name: str,
        *,
        run: Callable[..., Any] | str | None = None,
        model: str | Sequence[str] | None = None,
    ) -> None:
        if run is not None and model is not None:
            raise ValueError(f"worker {name!r} is given a function and a model; leave out one")
        is_scripted = run is None and model is None and not os.environ.get(MODEL_VARIABLE)
        kind = "scripted" if is_scripted else None
        pool._add(AgentSpec(name=name, run=run, model=model, agent_type=kind, specialties=[WORKER]))
        self.name = name
        self._pool = pool

    def get_assigned_tasks(self) -> list[Row]:
        """Return its tasks that have not ended."""
        tables = self._pool._call(self._pool._work.tables)
        mine = (each for table in tables for each in table.assignments if each.worker == self.name)
        return [each.row() for each in mine if each.status in OPEN]

    def execute_task(self, task: Mapping[str, Any]) -> Row:
        """Wait until it has done a task, and return its outcome: `task_id`, `result`, `status` and `error`.

        A task that no supervisor gave it, without a `request_id`, is done as a request of its own.

        Args:
            task: One of `get_assigned_tasks`, or an object with a `description`.

        Raises:
            CommandRefusedError: If the task is given to another worker.
        """
        work = self._pool._work
        if "request_id" in task:
            return self._pool._call(work.execute, *_fields(task, "request_id", "task_id"), self.name)
        (description,) = _fields(task, "description")
        item = {key: task[key] for key in ("description", "input", "priority") if key in task}
        parameters = {
            "request": description,
            "supervisor": self.name,
            "tasks": [item],
            "workers": [[self.name, 1]],
        }
        run_id = self._pool._call(work.begin, parameters, RunDuties()).run.id
        return self._pool._call(work.finished, run_id).assignments[0].outcome()


class CoordinatorAgent:
    """Watches the requests of a pool.

    Args:
        pool: What it watches.
        name: Its name.
    """

    def __init__(self, pool: SharedMemoryPool, name: str = "coordinator") -> None:
        self.name = name
        self._pool = pool

    def monitor_progress(self, request_id: str | None = None) -> Row:
        """Return who is at work and how many tasks wait, run, are completed and have failed.

        Args:
            request_id: One request; None is all that are open or that this pool has ended.
        """
        return progress_of(self._pool._call(self._pool._work.tables, request_id))

    def resolve_conflicts(self, request_id: str | None = None) -> Row:
        """Return tasks that were asked for more than once, and how that was resolved.

        Of tasks with the same text and input in one request the first stays with its worker; the others are cancelled
        when they are planned, before anybody begins them.
        """
        conflicts = self.monitor_progress(request_id)["conflicts"]
        return {"conflicts_found": len(conflicts), "resolutions": conflicts}


def _fields(task: Mapping[str, Any], *names: str) -> list[Any]:
    """Return fields that a task must have."""
    try:
        return [task[name] for name in names]
    except (KeyError, TypeError):
        raise ValueError(f"a task must be an object with {' and '.join(names)}, not {task!r:.70}") from None


def _with_weight(worker: Worker) -> list[object]:
    """Return the name of a worker with its weight."""
    name, weight = (worker, 1.0) if isinstance(worker, str) else worker
    if not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        raise ValueError(f"the weight of worker {name!r:.70} must be above 0, not {weight!r:.40}")
    return [name, weight]
