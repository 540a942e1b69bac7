"""One answer of a model: a recorded step, taken from the journal where it stands there, else asked for.

Rule: one request at a time and no retries. A model that fails hands over to the next one of the list at once; where
none is left the attempt fails, and the failure policies of the agent say what follows.
"""

from collections.abc import Sequence

import msgspec

from engine.core.fact import JsonValue
from engine.core.signals import StepFinished
from engine.models.records import Answer, Chunk, Message, ModelError, ModelRequest, ToolSchema
from engine.runtimes.model.endings import all_failed
from engine.runtimes.model.lookup import NamedModel
from engine.runtimes.work import Work, of_attempt


class Turns:
    """Asks the models of one attempt.

    Args:
        work: The attempt.
        models: Those of its agent, in the order in which they are asked.
        params: What goes with each request.
        output: JSON Schema of the answer; None is text.
    """

    def __init__(
        self, work: Work, models: Sequence[NamedModel], *, params: dict[str, JsonValue], output: JsonValue
    ) -> None:
        self._work = work
        self._models = list(models)
        self._params = params
        self._output = output
        self._errors: list[ModelError] = []

    @property
    def model(self) -> NamedModel:
        """The one that is asked next."""
        return self._models[0]

    async def recorded(self, key: str) -> Answer | None:
        """Return the answer that stands in the journal, if it does."""
        if not self._work.is_recorded(key):
            return None
        return msgspec.convert(await self._work.recorded(key), Answer)

    async def ask(
        self, name: str, key: str, *, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> tuple[Answer, StepFinished]:
        """Ask until a model answers, and return the answer with the step to be recorded.

        Raises:
            ModelError: If none of them did.
        """
        work = self._work
        async with work.step():
            began_ms = work.now_ms()
            with work.step_limit(name):
                answer = await self._answer(messages, tools)
            step = StepFinished(
                **of_attempt(work.effect),
                what="model",
                name=name,
                key=key,
                input={"model": self.model.name, "is": self.model.spec.model or "replies", "messages": len(messages)},
                output=_kept(answer),
                duration_ms=work.now_ms() - began_ms,
                usage=work.take_spent(),
            )
            return answer, step

    async def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Answer:
        while True:
            work, model = self._work, self.model
            request = ModelRequest(
                name=model.name,
                model=model.spec,
                messages=tuple(messages),
                tools=tuple(tools),
                output=self._output,
                params=self._params,
            )
            try:
                return await work.ask_model(request, self._show)
            except ModelError as error:
                work.model_erred(error)
                self._errors.append(error)
                if len(self._models) == 1:
                    raise all_failed(self._errors) from error
                del self._models[0]
            work.raise_if_stopping()

    def _show(self, chunk: Chunk) -> None:
        show = self._work.emit if chunk.kind == "text" else self._work.thought
        show(chunk.text)


def _kept(answer: Answer) -> JsonValue:
    """Return what the journal keeps of an answer; its usage is that of the step."""
    kept: dict[str, JsonValue] = msgspec.to_builtins(answer)
    kept.pop("usage", None)
    return kept
