"""The loop of a model agent: ask the model, make its calls, return the results, until it gives its final answer.

Answers and calls are recorded steps and never repeated: a later attempt walks through the same turns from the journal,
up to the point where the earlier one was cut off.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import anyio
import msgspec

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.signals import StepFinished
from engine.models.records import Call, Message, ModelAnswer, ModelError, ToolSchema
from engine.runtimes.attempts.people import steers_key
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.builtin_tools import CallResult
from engine.runtimes.model.calls import Calls
from engine.runtimes.model.compaction import Compaction
from engine.runtimes.model.conversation import Conversation, in_short
from engine.runtimes.model.errors import AnswerCut, AnswerRefused, EmptyAnswer, InvalidOutput, Looping, TurnLimit
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.output import Unfit, fits
from engine.runtimes.model.prompt import system_text
from engine.runtimes.model.turn import Turns, kept

SAME = 3
"""Identical turns in a row that count as a loop."""


class Loop:
    """One attempt of a model agent.

    Args:
        turns: Gets answers of models.
        calls: Makes the calls of an answer.
    """

    def __init__(self, work: Work, options: ModelOptions, turns: Turns, calls: Calls) -> None:
        self._work = work
        self._options = options
        self._turns = turns
        self._calls = calls
        self._said = Conversation()
        self._compaction = Compaction(work, turns, self._said, options.compact_at)
        self._besides = ""
        self._hears = True
        """Whether this is the task's own conversation, which takes messages of people."""
        self._heard: Counter[int] = Counter()
        """How often each turn has taken messages: at its beginning, and when it was cut short for them."""
        self._asking: anyio.CancelScope | None = None
        """Cancel scope of the present request."""
        self._past: list[tuple[object, object]] = []
        self._asked_again = False
        self._unreported: Callable[[], StepFinished] | None = None

    async def run(self, text: str | None = None, *, besides: str = "") -> JsonValue:
        """Return the output of the task.

        Args:
            text: The request; None means the task's own text, after the conversation that it is part of.
            besides: Text in addition to the instructions.

        Raises:
            ModelStopped: If the model does not come to an output.
            ModelError: If no model answers.
        """
        self._besides, self._hears = besides, text is None
        if text is None:
            self._work.on_steer = self._cut_short
            await self._hear_earlier()
        self._said.begin(as_text(await self._work.value()) if text is None else text)
        try:
            for turn in range(1, self._options.turns + 1):
                is_over, output = await self._turn(turn)
                if is_over:
                    if text is None:
                        self._work.says(self._said.said)
                    return output
        finally:
            if not self._work.over:  # an answer that was paid for must not be lost if the attempt stops here
                self._report()
        raise TurnLimit(self._options.turns)

    async def _turn(self, turn: int) -> tuple[bool, JsonValue]:
        """Run a turn; return whether it was the last, and the output."""
        answer, key = await self._answer(turn)
        self._said.answered(answer, key)
        if answer.finish == "length":
            raise AnswerCut
        if not answer.calls:
            return await self._end(answer)
        outcomes = await self._calls.made(answer.calls, self._report)
        self._hear(turn, answer.calls, outcomes)
        forwarded = next((one.forwarded for one in outcomes if one.forwarded is not None), None)
        if forwarded is not None:
            return True, forwarded.output
        self._look_for_loop(answer.calls, outcomes)
        return False, None

    async def _hear_earlier(self) -> None:
        """Add the messages of earlier runs of the conversation."""
        for place, one in enumerate(await self._work.heard()):
            content = one.content
            if one.role == "tool":
                shown = self._calls.results.shown(content, f"e{place}")
                self._said.heard(one.call_id, shown, whole=as_text(content))
            elif one.role == "assistant":
                text = {"text": as_text(content)}
                self._said.answered(msgspec.convert(content if isinstance(content, dict) else text, ModelAnswer))
            elif one.role == "summary":
                self._said.user(in_short(str(content["summary"]) if isinstance(content, dict) else as_text(content)))
            else:
                self._said.user(as_text(content))

    async def _answer(self, turn: int) -> tuple[ModelAnswer, str]:
        """Return the answer of a turn, from the journal or a model, and its key."""
        work, name = self._work, f"turn:{turn}"
        while work.is_recorded(steers_key(turn, self._heard[turn])):
            await self._hear_people(turn)
        shorter, is_short, key = await self._keys(name)
        if (recorded := await self._turns.recorded(key)) is not None:
            return recorded, key
        # Only now, when no answer is recorded: a message sent after a crash must not come before recorded answers.
        if await self._hear_people(turn):
            shorter, is_short, key = await self._keys(name)
        while True:
            work.raise_if_stopping()
            if (recorded := await self._turns.recorded(key)) is not None:
                return recorded, key
            await self._calls.refresh()
            system, schemas = self._told()
            if not is_short and self._compaction.is_due(len(system.text) + len(str(schemas))):
                is_short, key = True, await self._shortened(shorter, name)
                continue
            try:
                asked = await self._asked(name, key, system, schemas)
            except ModelError as error:
                if error.error_type != "context":
                    raise
                if is_short or not self._compaction.is_possible:
                    self._turns.hand_over(error)
                    continue
                is_short, key = True, await self._shortened(shorter, name)
                continue
            if asked is None:
                if await self._hear_people(turn):
                    shorter, is_short, key = await self._keys(name)
                continue
            answer, step = asked
            await self._keep(answer, partial(step, kept(answer)))
            return answer, key

    async def _asked(
        self, name: str, key: str, system: Message, schemas: Sequence[ToolSchema]
    ) -> tuple[ModelAnswer, Callable[[JsonValue], StepFinished]] | None:
        """Ask a model for the answer of a turn; None if a person's message cut the request short."""
        with anyio.CancelScope() as scope:
            self._asking = scope
            try:
                return await self._turns.ask(name, key, messages=(system, *self._said.messages), tools=schemas)
            finally:
                self._asking = None
        return None

    async def _keys(self, name: str) -> tuple[str, bool, str]:
        """Return the key of a compaction before the turn, whether it is recorded, and the key of the turn after it."""
        shorter = self._work.key("compact", self._said.digest)
        is_short = await self._compaction.recorded(shorter)
        return shorter, is_short, self._work.key(name, self._said.digest)

    async def _hear_people(self, turn: int) -> bool:
        """Add new messages of people; return whether there were any."""
        said = await self._work.take_steers(turn, self._heard[turn]) if self._hears else []
        for text in said:
            self._said.user(text)
        self._heard[turn] += bool(said)
        return bool(said)

    def _cut_short(self, now: bool) -> None:
        """Cancel the request under way for an urgent message; its usage still counts."""
        if now and self._asking is not None:
            self._asking.cancel()

    async def _shortened(self, shorter: str, name: str) -> str:
        """Summarise the conversation, and return the key of the turn after that."""
        await self._compaction.put_in_short(shorter)
        return self._work.key(name, self._said.digest)

    def _told(self) -> tuple[Message, Sequence[ToolSchema]]:
        """Return system message and tool schemas, built anew for each turn, because team and tools may change."""
        workers = None if self._calls.workers is None else self._calls.workers.now
        system = Message(role="system", text=system_text(self._work.spec, self._options, workers, self._besides))
        return system, self._calls.schemas()

    async def _keep(self, answer: ModelAnswer, step: Callable[[], StepFinished]) -> None:
        """Journal an answer before its calls are made, or together with its delegations if it has no other calls.

        A report wakes the engine's loop at once, so a delegation one iteration later would be in the next batch, which
        costs another commit. Therefore the answer is reported only when the first delegation is made.
        """
        if all(self._calls.asks_others(call) for call in answer.calls):
            self._unreported = step
        else:
            await self._work.record(step())

    def _report(self) -> None:
        """Report a pending answer."""
        if self._unreported is not None:
            step, self._unreported = self._unreported, None
            self._work.record_soon(step())

    def _hear(self, turn: int, calls: Sequence[Call], outcomes: Sequence[CallResult]) -> None:
        """Add the results to the conversation."""
        for place, (call, outcome) in enumerate(zip(calls, outcomes, strict=True)):
            text = as_text(outcome.value)
            shown = text if outcome.is_read else self._calls.results.shown(outcome.value, f"r{turn}.{place + 1}")
            whole = as_text([call.name, call.arguments]) if outcome.is_read else text
            key = outcome.key if self._work.stands_in_journal(outcome.key) else ""
            self._said.heard(call.id, shown, whole=whole, key=key)

    def _look_for_loop(self, calls: Sequence[Call], outcomes: Sequence[CallResult]) -> None:
        """Detect a loop.

        Raises:
            Looping: If the last `SAME` turns had the same calls with the same results.
        """
        values = [outcome.value for outcome in outcomes]
        self._past.append(([(call.name, call.arguments, call.invalid) for call in calls], values))
        last = self._past[-SAME:]
        if len(last) == SAME and all(one == last[0] for one in last):
            raise Looping([call.name for call in calls])

    async def _end(self, answer: ModelAnswer) -> tuple[bool, JsonValue]:
        """Handle an answer without calls: return whether it is final, and the output; otherwise ask once more.

        Raises:
            ModelStopped: If it is unusable for the second time.
        """
        self._report()
        if answer.finish == "refusal":
            raise AnswerRefused(answer.text)
        schema = self._turns.output
        if not answer.text.strip():
            return self._again("You answered nothing. Give your answer now.", EmptyAnswer())
        if schema is None:
            return True, answer.text
        try:
            return True, await fits(answer.text, schema)
        except Unfit as unfit:
            words = f"Your answer does not fit the schema of the output: {unfit}. Answer again, with the JSON alone."
            return self._again(words, InvalidOutput(str(unfit)))

    def _again(self, words: str, otherwise: Exception) -> tuple[bool, JsonValue]:
        if self._asked_again:
            raise otherwise
        self._asked_again = True
        self._said.user(words)
        return False, None
