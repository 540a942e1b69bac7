"""The `task` of `f(task, ctx)`. See docs/reference/function-agents.md.

Requests and inputs may be large, and most tasks do not read them, so they are copied on first use.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.models.records import Message
from engine.runtimes.values import copy_json


@dataclass(frozen=True)
class TaskInput:
    """The result of a task before this one."""

    agent: str
    """Name of the member that produced it."""
    title: str
    _output: JsonValue = field(repr=False)

    @cached_property
    def output(self) -> JsonValue:
        """Its output."""
        return copy_json(self._output)


@dataclass(frozen=True)
class Task:
    """A task, with everything that an agent may need to know about it."""

    id: str
    title: str
    text: str
    """The text to work on, chosen by the strategy: the task's own input, the output before it, or all of them."""
    value: JsonValue
    """The task's own input as it was given; another agent may have given a list or an object."""
    _request: JsonValue = field(repr=False)
    inputs: list[TaskInput]
    """Results of all earlier tasks, outermost team first; the direct predecessor is last."""
    folder: Path | None
    """The team's folder."""
    attempt: int
    """1 on the first try."""
    options: dict[str, JsonValue]
    """`options` of the agent's spec."""
    conversation: tuple[Message, ...] = ()
    """Earlier requests and answers of the run's conversation."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of the run."""

    @cached_property
    def request(self) -> JsonValue:
        """The request of the run."""
        return copy_json(self._request)


def with_earlier_results(value: JsonValue, inputs: list[TaskInput]) -> str:
    """Return the input of a task, followed by every earlier result under the name of its agent."""
    parts = [as_text(value)] + [f"## {task_input.agent}\n\n{as_text(task_input._output)}" for task_input in inputs]
    return "\n\n".join(parts)
