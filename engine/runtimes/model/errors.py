"""Failures of model agents themselves: one class each, with a message that says what to do.

They are not retried, because a retry would repeat the recorded turns. Failures of a provider are `ModelError`s, which
may be retried.
"""

from collections.abc import Sequence

from engine.errors import PermanentFailure
from engine.models.records import ModelError


class ModelStopped(PermanentFailure):
    """Base class of failures of model agents themselves."""


class TurnLimit(ModelStopped):
    """It used up its turns."""

    def __init__(self, turns: int) -> None:
        super().__init__(f"no answer after {turns} turns; give it more with options.turns, or clearer instructions")


class Looping(ModelStopped):
    """It made the same calls three times in a row, with the same results."""

    def __init__(self, names: Sequence[str]) -> None:
        called = ", ".join(dict.fromkeys(names))
        super().__init__(f"it called {called} three times in a row with the same arguments and the same results")


class InvalidOutput(ModelStopped):
    """Its answer did not fit the `output` schema twice."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"its answer does not fit the schema of its output: {problem}")


class AnswerCut(ModelStopped):
    """Its answer was cut off by the token limit."""

    def __init__(self) -> None:
        super().__init__("its answer was cut at its longest length; raise options.max_tokens, or ask for less")


class AnswerRefused(ModelStopped):
    """The model, or its provider, refused to answer."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"the model refused to answer: {text.strip()[:300]}" if text else "the model refused to answer"
        )


class EmptyAnswer(ModelStopped):
    """Its answer was empty twice."""

    def __init__(self) -> None:
        super().__init__("the model answered nothing, twice")


def all_failed(errors: Sequence[ModelError]) -> ModelError:
    """Return the failure of an attempt whose models have all failed; retryable if one of the errors is."""
    last = errors[-1]
    if len(errors) == 1:
        return last
    retryable_errors = [error for error in errors if error.retryable]
    delays_s = [error.retry_after_s or 0.0 for error in retryable_errors]
    text = "; ".join(str(error) for error in errors)
    return ModelError(
        text,
        model=last.model,
        error_type=(retryable_errors[-1] if retryable_errors else last).error_type,
        retryable=bool(retryable_errors),
        retry_after_s=min(delays_s, default=0.0) or None,
    )
