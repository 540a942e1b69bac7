"""Facts about failures: who takes over, what a person said, circuits and restarts."""

from typing import Literal

from engine.core.fact import fact


@fact
class TaskFailedOver:
    """A task that failed on one agent was given to another; its finished steps are kept."""

    type: Literal["task_failed_over"] = "task_failed_over"
    at_ms: int
    run_id: str
    task_id: str
    from_id: str | None
    """The agent that failed on it last."""
    to_id: str
    queue: str
    """Where it waits: the other agent's own queue."""
    reason: str


@fact
class TaskTriedAnew:
    """A failed task is tried again because a person said so, or the default; its failure policies begin anew."""

    type: Literal["task_tried_anew"] = "task_tried_anew"
    at_ms: int
    run_id: str
    task_id: str
    queue: str
    by: str
    """`person` or `default`."""


@fact
class TaskAnswered:
    """A person gave the output of a task in place of its agent."""

    type: Literal["task_answered"] = "task_answered"
    at_ms: int
    run_id: str
    task_id: str
