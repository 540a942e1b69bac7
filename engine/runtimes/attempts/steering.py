"""Messages of people to an attempt (steering).

A turn takes the waiting messages as a recorded step, so that a later attempt gets the same ones at the same turn. See
docs/reference/function-agents.md.
"""

from collections.abc import Callable

from engine.core.records.records import JsonValue
from engine.core.signals import StepFinished
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.services import of_attempt

STEERED = "steered:"
"""Prefix of the keys of steps that took messages; the number of the turn follows."""


class AttemptSteering:
    """The messages to one attempt."""

    on_steer: Callable[[bool], None] | None = None
    """Called when a message arrives; True means that the turn is to be cut short for it."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._effect = attempt.effect
        self._taken_steer_ids: set[str] = set()
        """Ids of messages that its turns have taken."""
        self._recorded_steers: dict[str, list[str]] = {}
        """Messages that turns of earlier attempts have taken, by the keys of their steps."""
        self._turns = 0

    async def take_steers(self, turn: int, again: int = 0) -> list[str]:
        """Return the messages since the last turn, once it is on disk that this turn has taken them.

        A later attempt gets the same messages at the same turn.

        Args:
            turn: Number of the turn that takes them.
            again: How often the turn has taken messages before, because it was cut short for them.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        key = steers_key(turn, again)
        if self._attempt.is_recorded(key):
            return texts_of(await self._attempt.recorded_output(key))
        step = None if self._has_later_steers(turn) else self._make_hearing_step(key)
        if step is None:
            return []
        await self._attempt.record(step)
        return texts_of(step.output)

    async def load_steers(self) -> None:
        """Load the messages that earlier attempts have taken, so that `steers` can answer without waiting."""
        for key in self._effect.steps:
            if key.startswith(STEERED):
                texts = self._recorded_steers.setdefault(steers_key(turn_of(key)), [])
                texts += texts_of(await self._attempt.recorded_output(key))

    def steers(self) -> list[str]:
        """Return the messages since the last call; each call is a turn."""
        self._turns += 1
        key = f"{STEERED}{self._turns}"
        if key in self._recorded_steers:
            return list(self._recorded_steers[key])
        step = None if self._attempt.over or self._has_later_steers(self._turns) else self._make_hearing_step(key)
        if step is None:
            return []
        self._attempt.services.signal(step)  # before the code can report anything that follows from the messages
        return texts_of(step.output)

    def notify_steer(self, *, now: bool) -> None:
        """Tell the runtime that a message waits; called by the host."""
        if self.on_steer is not None and not self._attempt.over:
            self.on_steer(now)

    def _has_later_steers(self, turn: int) -> bool:
        """Return whether a later turn of an earlier attempt took messages; then those that wait now came after it."""
        return any(turn_of(key) > turn for key in self._effect.steps if key.startswith(STEERED))

    def _make_hearing_step(self, key: str) -> StepFinished | None:
        """Return the step that takes the waiting messages; None if there are none."""
        task = self._attempt.state.tasks.get(self._effect.task_id)
        waiting = (
            {}
            if task is None
            else {steer_id: text for steer_id, text in task.steers.items() if steer_id not in self._taken_steer_ids}
        )
        if not waiting:
            return None
        self._taken_steer_ids.update(waiting)
        return StepFinished(
            **of_attempt(self._effect), name="steered", key=key, output=[*waiting.values()], steers=[*waiting]
        )


def steers_key(turn: int, again: int = 0) -> str:
    """Return the key of the step with which a turn takes messages; `again` counts earlier takes of the turn."""
    return f"{STEERED}{turn}.{again}" if again else f"{STEERED}{turn}"


def turn_of(key: str) -> int:
    """Return the number of the turn in the key of such a step."""
    return int(key[len(STEERED) :].partition(".")[0])


def texts_of(value: JsonValue) -> list[str]:
    """Return the texts of a step that took messages."""
    return [str(text) for text in value] if isinstance(value, list) else []
