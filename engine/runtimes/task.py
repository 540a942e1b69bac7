"""What a function is told about its task: the `task` of `f(task, ctx)`. See docs/reference/function-agents.md."""

import json
from dataclasses import dataclass
from pathlib import Path

from engine.core.records import JsonValue
from engine.models.records import Message


@dataclass(frozen=True, slots=True)
class TaskInput:
    """One result of work that came before."""

    agent: str
    """Name of the member that made it."""
    title: str
    output: JsonValue


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work, with everything an agent may want to know about it."""

    id: str
    title: str
    text: str
    """What to work on, as the strategy puts it: the task's own input, the output before it, or all of them."""
    value: JsonValue
    """The task's own input as it was given; another agent may have given a list or an object."""
    request: JsonValue
    """What the run was asked for."""
    inputs: list[TaskInput]
    """Results of all tasks before it: those before the teams around it first, its direct predecessor last."""
    folder: Path | None
    """The team's folder."""
    attempt: int
    """1 on the first try."""
    options: dict[str, JsonValue]
    """What the agent's spec says under `options`."""
    conversation: tuple[Message, ...] = ()
    """What was asked and answered before in the conversation that the run belongs to."""


def as_text(value: JsonValue) -> str:
    """Return `value` where it is a text, else its JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def in_context(value: JsonValue, inputs: list[TaskInput]) -> str:
    """Return what a task is asked for, with every result before it under the name of its agent."""
    parts = [as_text(value)] + [f"## {one.agent}\n\n{as_text(one.output)}" for one in inputs]
    return "\n\n".join(parts)
