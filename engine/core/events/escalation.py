"""Facts about questions to a person."""

from typing import Literal

from msgspec import field

from engine.core.fact import JsonValue, fact


@fact
class Escalated:
    """A person is asked; what it is about waits."""

    type: Literal["escalated"] = "escalated"
    at_ms: int = 0
    escalation_id: str
    kind: str
    """What it is about, such as `failure`, `budget` or `drain`."""
    subject: str
    """Id of the task, run, agent or supervisor that it is about."""
    run_id: str | None
    task_id: str | None
    question: str
    """One line."""
    options: list[str]
    default: str | None
    """The answer when nobody gives one by `due_ms`."""
    due_ms: int | None
    detail: dict[str, JsonValue] = field(default_factory=dict)


@fact
class EscalationAnswered:
    """A question has its answer; what it brings about follows."""

    type: Literal["escalation_answered"] = "escalation_answered"
    at_ms: int = 0
    escalation_id: str
    kind: str
    subject: str
    run_id: str | None
    answer: str
    output: JsonValue
    """With the answer `use`: what stands for the work."""
    by: str
    """`person`, or `default` when nobody answered in time."""
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """What was asked with it."""
