"""Commands about requests and the way they are worked on."""

from dataclasses import field
from typing import Literal

from pydantic import JsonValue

from engine.core.commands.team import Target
from engine.core.fact import fact
from engine.core.spec import Aggregation, FailurePolicy


@fact
class Submit:
    """Give a request to a supervisor."""

    type: Literal["submit"] = "submit"
    request: JsonValue
    supervisor: Target | None = None
    """None is the first root."""
    on_failure: list[FailurePolicy] = field(default_factory=list)
    """What happens when a task of it fails, in place of what its agents' specs say."""


@fact
class Cancel:
    """Stop a run or a task at its next steps, and keep what is done."""

    type: Literal["cancel"] = "cancel"
    target: Target
    reason: str = "cancelled by the operator"


@fact
class RetryWork:
    """Try a failed or backing-off task again now; or submit the request of a finished run again."""

    type: Literal["retry_work"] = "retry_work"
    target: Target


@fact
class SwitchStrategy:
    """Change how a supervisor coordinates, in the middle of its runs."""

    type: Literal["switch_strategy"] = "switch_strategy"
    supervisor: Target | None = None
    mode: str | None = None
    """None keeps the mode and changes the aggregation only."""
    aggregation: Aggregation | None = None
    aggregator: str | None = None
    preserve_agent_states: bool = True
    """False stops what is at work at its next step and keeps its partial results as context."""
    scope: Literal["open", "new"] = "open"
    """`open` rewires open runs too; `new` leaves them as they are."""
