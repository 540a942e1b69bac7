"""One answer of a model: a recorded step, from the journal if it is there, otherwise requested.

Rule: one request at a time and no retries. If a model fails, the next one of the list is asked at once; if none is
left, the attempt fails, and the agent's failure policies decide.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from engine.core.records.records import JsonValue
from engine.core.signals import StepFinished
from engine.models.records import Chunk, Message, ModelAnswer, ModelError, ModelRequest, ToolSchema
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.errors import all_failed
from engine.runtimes.model.lookup import NamedModel


class Turns:
    """Asks the models of one attempt.

    Args:
        models: Models of its agent, in the order of failover.
        output: JSON Schema of the answer; None is text.
    """

    def __init__(
        self, work: Work, models: Sequence[NamedModel], *, params: dict[str, JsonValue], output: JsonValue
    ) -> None:
        self._work = work
        self._models = list(models)
        self._params = params
        self.output = output
        """JSON Schema of the answer; None is text."""
        self._errors: list[ModelError] = []

    @property
    def model(self) -> NamedModel:
        """The model that is asked next."""
        return self._models[0]

    @property
    def context_tokens(self) -> int | None:
        """Size of its context in tokens; None if unknown."""
        return self._work.models.context_tokens(self.model.spec)

    async def recorded_answer(self, key: str) -> ModelAnswer | None:
        """Return the recorded answer of a turn; None if there is none."""
        if not self._work.attempt.is_recorded(key):
            return None
        return msgspec.convert(await self._work.attempt.recorded_output(key), ModelAnswer)

    async def ask(
        self,
        name: str,
        key: str,
        *,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        kind: Literal["model", "compact"] = "model",
        plain: bool = False,
    ) -> tuple[ModelAnswer, Callable[[JsonValue], StepFinished]]:
        """Ask the models in turn until one answers.

        Args:
            name: Name of the step.
            key: Key of the step.
            kind: Kind of the step.
            plain: Ask for text without a schema, and do not show it as output; a model that answers without text is
                asked once more.

        Returns:
            The answer, and a function that makes the step to record from its output.

        Raises:
            ModelError: If all models fail.
        """
        work = self._work
        async with work.slot.step(kind, name):
            began_ms = work.attempt.now_ms()
            with work.limits.step(name):
                answer = await self._answer(messages, tools, plain=plain)
                if plain and not is_text(answer):
                    again = Message(role="user", text="Answer with text alone; there are no tools to call.")
                    answer = await self._answer([*messages, again], tools, plain=plain)
            system_messages = [messages[0]] if messages and messages[0].role == "system" else []
            step_input: dict[str, JsonValue] = {
                "model": self.model.name,
                "messages": len(messages) - len(system_messages),
            }
            duration_ms = work.attempt.now_ms() - began_ms
            usage = work.models.take_spent()

        def step(output: JsonValue) -> StepFinished:
            return StepFinished(
                **of_attempt(work.effect),
                what=kind,
                name=name,
                key=key,
                input=step_input,
                output=output,
                duration_ms=duration_ms,
                usage=usage,
                parts=[
                    work.memory.store_part(part)
                    for part in (system_messages[0].text if system_messages else "", msgspec.to_builtins(tools))
                    if part
                ],
            )

        return answer, step

    async def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, plain: bool) -> ModelAnswer:
        while True:
            work, model = self._work, self.model
            request = ModelRequest(
                name=model.name,
                model=model.spec,
                messages=tuple(messages),
                tools=tuple(tools),
                output=None if plain else self.output,
                params=self._params,
            )
            try:
                return await work.models.ask(request, _ignore_chunk if plain else self._show)
            except ModelError as error:
                work.models.record_error(error)
                if error.error_type == "context" and not plain:
                    raise  # the caller shortens the conversation first
                self.use_next_model(error)
            work.attempt.raise_if_stopping()

    def use_next_model(self, error: ModelError) -> None:
        """Switch to the next model.

        Raises:
            ModelError: If none is left.
        """
        self._errors.append(error)
        if len(self._models) == 1:
            raise all_failed(self._errors) from error
        del self._models[0]

    def _show(self, chunk: Chunk) -> None:
        show = self._work.live.emit if chunk.kind == "text" else self._work.live.show_thought
        show(chunk.text)


def is_text(answer: ModelAnswer) -> bool:
    """Return whether an answer contains usable text."""
    return answer.finish != "refusal" and bool(answer.text.strip())


def _ignore_chunk(chunk: Chunk) -> None:
    """Ignore text that is not output."""


def answer_record(answer: ModelAnswer) -> JsonValue:
    """Return an answer as recorded in the journal; its usage is in the step."""
    record: dict[str, JsonValue] = msgspec.to_builtins(answer)
    record.pop("usage", None)
    return record
