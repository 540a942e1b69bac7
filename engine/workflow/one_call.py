"""A whole workflow of a supervisor and its workers in one call."""

from collections.abc import Callable, Sequence
from typing import Any

from engine.workflow.agents import SupervisorAgent, WorkerAgent
from engine.workflow.pool import SharedMemoryPool
from engine.workflow.requests import Row


def supervisor_worker_workflow(
    request: str,
    num_workers: int = 2,
    num_tasks: int = 3,
    *,
    worker: Callable[..., Any] | None = None,
    model: str | Sequence[str] | None = None,
    on_result: Callable[[Row], object] | None = None,
) -> Row:
    """Split a request into tasks, have them done by workers, and return everything that became of them.

    A plain call that blocks until all tasks have ended; one that fails is among the `failures`, and raises nothing.

    Args:
        request: What is to be done.
        num_workers: How many workers to make.
        num_tasks: How many tasks to make of it.
        worker: The function that does a task, of its text or of `(task, ctx)`; it may be async.
        model: The model that plans, and does the tasks where there is no function; by default the one in
            `QUARTERDECK_MODEL`. Without any the answers are scripted.
        on_result: Called with each result as it comes, in the caller's thread.

    Returns:
        `request_id`, `tasks`, `results`, `failures`, `final_result`, and `planner`: who planned the tasks, `model`,
        `function` or `scripted`.

    Raises:
        RunFailed: If the tasks cannot be planned.
        ValueError: If a number is out of range.
    """
    if not isinstance(num_workers, int) or not 1 <= num_workers <= 1000:
        raise ValueError(f"num_workers must be 1 to 1,000, not {num_workers!r:.40}")
    with SharedMemoryPool() as pool:
        supervisor = SupervisorAgent(pool, model=model)
        for number in range(1, num_workers + 1):
            WorkerAgent(pool, f"worker_{number}", run=worker, model=None if worker is not None else model)
        tasks = supervisor.delegate(request, num_tasks=num_tasks)
        return supervisor.aggregate_results(tasks[0]["request_id"], on_result)
