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
from engine.runtimes.attempts.steering import steers_key
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.builtin_tools import CallResult
from engine.runtimes.model.calls import Calls
from engine.runtimes.model.compaction import Compaction
from engine.runtimes.model.conversation import Conversation, summary_text
from engine.runtimes.model.errors import AnswerCut, AnswerRefused, EmptyAnswer, InvalidOutput, Looping, TurnLimit
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.output import SchemaMismatch, parse_output_in_thread
from engine.runtimes.model.prompt import system_text
from engine.runtimes.model.turn import Turns, answer_record

LOOP_TURNS = 3
"""Identical turns in a row that count as a loop."""
SILENCE_LOOK_MS = 5_000
"""Time between two looks at a request whose silence would end it."""


class ModelLoop:
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
        self._conversation = Conversation()
        self._compaction = Compaction(work, turns, self._conversation, options.compact_at)
        self._extra_instructions = ""
        self._takes_steers = True
        """Whether this is the task's own conversation, which takes messages of people."""
        self._steers_taken: Counter[int] = Counter()
        """By turn: how often it has taken messages, at its beginning or after a cancelled request."""
        self._request_scope: anyio.CancelScope | None = None
        """Cancel scope of the present request."""
        self._past_turns: list[tuple[object, object]] = []
        self._has_retried = False
        self._unreported: Callable[[], StepFinished] | None = None

    async def run(self, text: str | None = None, *, extra_instructions: str = "") -> JsonValue:
        """Return the output of the task.

        Args:
            text: The request; None means the task's own text, after the conversation that it is part of.
            extra_instructions: Text in addition to the instructions.

        Raises:
            ModelStopped: If the model does not produce an output.
            ModelError: If no model answers.
        """
        self._extra_instructions = extra_instructions
        self._takes_steers = text is None
        self._work.on_patient_stop = self._cut_silence
        if text is None:
            self._work.steering.on_steer = self._cut_short
            await self._add_earlier_messages()
        self._conversation.begin(as_text(await self._work.value()) if text is None else text)
        try:
            for turn in range(1, self._options.turns + 1):
                is_over, output = await self._turn(turn)
                if is_over:
                    if text is None:
                        self._work.memory.leave_utterances(self._conversation.utterances)
                    return output
        finally:
            if not self._work.attempt.over:  # an answer that was paid for must not be lost if the attempt stops here
                self._report()
        raise TurnLimit(self._options.turns)

    async def _turn(self, turn: int) -> tuple[bool, JsonValue]:
        """Run a turn; return whether it was the last, and the output."""
        answer, key = await self._answer(turn)
        self._conversation.add_answer(answer, key)
        if answer.finish == "length":
            raise AnswerCut
        if not answer.calls:
            return await self._finish(answer)
        if self._work.attempt.is_paused:
            self._report()  # an answer that was paid for must not be lost if the engine ends during the pause
            await self._work.slot.wait_while_paused()
        outcomes = await self._calls.perform(answer.calls, self._report)
        self._add_results(turn, answer.calls, outcomes)
        forwarded = next((outcome.forwarded for outcome in outcomes if outcome.forwarded is not None), None)
        if forwarded is not None:
            return True, forwarded.output
        self._check_loop(answer.calls, outcomes)
        return False, None

    async def _add_earlier_messages(self) -> None:
        """Add the messages of earlier runs of the conversation."""
        for index, message in enumerate(await self._work.memory.transcript()):
            content = message.content
            if message.role == "tool":
                excerpt = self._calls.results.excerpt_of(content, f"e{index}")
                self._conversation.add_result(message.call_id, excerpt, full_text=as_text(content))
            elif message.role == "assistant":
                text = {"text": as_text(content)}
                self._conversation.add_answer(
                    msgspec.convert(content if isinstance(content, dict) else text, ModelAnswer)
                )
            elif message.role == "summary":
                self._conversation.add_user_text(
                    summary_text(str(content["summary"]) if isinstance(content, dict) else as_text(content))
                )
            else:
                self._conversation.add_user_text(as_text(content))

    async def _answer(self, turn: int) -> tuple[ModelAnswer, str]:
        """Return the answer of a turn, from the journal or a model, and its key."""
        work = self._work
        name = f"turn:{turn}"
        while work.attempt.is_recorded(steers_key(turn, self._steers_taken[turn])):
            await self._add_steers(turn)
        compaction_key, is_compacted, key = await self._keys(name)
        if (recorded_answer := await self._turns.recorded_answer(key)) is not None:
            return recorded_answer, key
        # Only now, when no answer is recorded: a message sent after a crash must not come before recorded answers.
        if await self._add_steers(turn):
            compaction_key, is_compacted, key = await self._keys(name)
        while True:
            work.attempt.raise_if_stopping()
            if (recorded_answer := await self._turns.recorded_answer(key)) is not None:
                return recorded_answer, key
            await self._calls.refresh()
            system, schemas = self._system_and_tools()
            if not is_compacted and self._compaction.is_due(len(system.text) + len(str(schemas))):
                is_compacted = True
                key = await self._summarise(compaction_key, name)
                continue
            try:
                reply = await self._request_answer(name, key, system, schemas)
            except ModelError as error:
                if error.error_type != "context":
                    raise
                if is_compacted or not self._compaction.is_possible:
                    self._turns.use_next_model(error)
                    continue
                is_compacted = True
                key = await self._summarise(compaction_key, name)
                continue
            if reply is None:
                if await self._add_steers(turn):
                    compaction_key, is_compacted, key = await self._keys(name)
                continue
            answer, step = reply
            await self._record_answer(answer, partial(step, answer_record(answer)))
            return answer, key

    async def _request_answer(
        self, name: str, key: str, system: Message, schemas: Sequence[ToolSchema]
    ) -> tuple[ModelAnswer, Callable[[JsonValue], StepFinished]] | None:
        """Ask a model for the answer of a turn; None if the request was cut short, by a message or for its silence."""
        with anyio.CancelScope() as scope:
            self._request_scope = scope
            try:
                return await self._turns.ask(name, key, messages=(system, *self._conversation.messages), tools=schemas)
            finally:
                self._request_scope = None
        return None

    async def _keys(self, name: str) -> tuple[str, bool, str]:
        """Return the key of a compaction before the turn, whether it is recorded, and the key of the turn after it."""
        compaction_key = self._work.attempt.key("compact", self._conversation.digest)
        is_compacted = await self._compaction.resume(compaction_key)
        return compaction_key, is_compacted, self._work.attempt.key(name, self._conversation.digest)

    async def _add_steers(self, turn: int) -> bool:
        """Add new messages of people; return whether there were any."""
        texts = await self._work.steering.take_steers(turn, self._steers_taken[turn]) if self._takes_steers else []
        for text in texts:
            self._conversation.add_user_text(text)
        if texts:
            self._steers_taken[turn] += 1
        return bool(texts)

    def _cut_short(self, now: bool) -> None:
        """Cancel the request under way for an urgent message; its usage still counts."""
        if now and self._request_scope is not None:
            self._request_scope.cancel()

    def _cut_silence(self) -> None:
        """Cancel the request under way once it is silent, for a model that is to be swapped may never answer."""
        if self._request_scope is None or self._work.attempt.over:
            return
        if self._work.is_silent:
            self._request_scope.cancel()
        else:
            self._work.attempt.call_later(SILENCE_LOOK_MS, self._cut_silence)

    async def _summarise(self, compaction_key: str, name: str) -> str:
        """Summarise the conversation, and return the key of the turn after that."""
        await self._compaction.summarise(compaction_key)
        return self._work.attempt.key(name, self._conversation.digest)

    def _system_and_tools(self) -> tuple[Message, Sequence[ToolSchema]]:
        """Return system message and tool schemas, built anew for each turn, because team and tools may change."""
        lead = self._calls.workers
        workers, template = (None, "") if lead is None else (lead.available, lead.template)
        text = system_text(self._work.spec, self._options, workers, self._extra_instructions, template)
        return Message(role="system", text=text), self._calls.schemas()

    async def _record_answer(self, answer: ModelAnswer, step: Callable[[], StepFinished]) -> None:
        """Journal an answer before its calls are made, or together with its delegations if it has no other calls.

        A report wakes the engine's loop at once, so a delegation one iteration later would be in the next batch, which
        costs another commit. Therefore the answer is reported only when the first delegation is made.
        """
        if all(self._calls.only_delegates(call) for call in answer.calls):
            self._unreported = step
        else:
            await self._work.attempt.record(step())

    def _report(self) -> None:
        """Report a pending answer."""
        if self._unreported is not None:
            step = self._unreported
            self._unreported = None
            self._work.record_soon(step())

    def _add_results(self, turn: int, calls: Sequence[Call], outcomes: Sequence[CallResult]) -> None:
        """Add the results to the conversation."""
        for index, (call, outcome) in enumerate(zip(calls, outcomes, strict=True)):
            text = as_text(outcome.value)
            excerpt = text if outcome.is_read else self._calls.results.excerpt_of(outcome.value, f"r{turn}.{index + 1}")
            full_text = as_text([call.name, call.arguments]) if outcome.is_read else text
            key = outcome.key if self._work.memory.is_in_journal(outcome.key) else ""
            self._conversation.add_result(call.id, excerpt, full_text=full_text, key=key)

    def _check_loop(self, calls: Sequence[Call], outcomes: Sequence[CallResult]) -> None:
        """Check that the model does not repeat itself.

        Raises:
            Looping: If the last `LOOP_TURNS` turns had the same calls with the same results.
        """
        values = [outcome.value for outcome in outcomes]
        self._past_turns.append(([(call.name, call.arguments, call.invalid) for call in calls], values))
        last = self._past_turns[-LOOP_TURNS:]
        repeats = len(last) > 1 and last[-1] == last[-2]
        self._work.live.pulse.repeats = ", ".join(call.name for call in calls) if repeats else ""
        if len(last) == LOOP_TURNS and all(past_turn == last[0] for past_turn in last):
            raise Looping([call.name for call in calls])

    async def _finish(self, answer: ModelAnswer) -> tuple[bool, JsonValue]:
        """Handle an answer without calls: return whether it is final, and the output; otherwise ask once more.

        Raises:
            ModelStopped: If it is unusable for the second time.
        """
        self._report()
        if answer.finish == "refusal":
            raise AnswerRefused(answer.text)
        schema = self._turns.output
        if not answer.text.strip():
            return self._ask_again("You answered nothing. Give your answer now.", EmptyAnswer())
        if schema is None:
            return True, answer.text
        try:
            return True, await parse_output_in_thread(answer.text, schema)
        except SchemaMismatch as mismatch:
            text = f"Your answer does not fit the schema of the output: {mismatch}. Answer again, with the JSON alone."
            return self._ask_again(text, InvalidOutput(str(mismatch)))

    def _ask_again(self, text: str, failure: Exception) -> tuple[bool, JsonValue]:
        """Ask for another answer; raise `failure` if that was done before."""
        if self._has_retried:
            raise failure
        self._has_retried = True
        self._conversation.add_user_text(text)
        return False, None
