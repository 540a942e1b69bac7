"""A conversation that outgrows a share of the model's context is summarised, by a recorded step, never silently.

What is kept as it was: what the task asks for, and the last answer with its results where they fit. What was between
is written down by the model itself; of a model that writes nothing down, twice, the beginning and the end are kept.
"""

import json

from engine.core.records.records import JsonValue
from engine.models.records import Message
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.conversation import Conversation, length_of
from engine.runtimes.model.turn import Turns, is_text

CHARACTERS_PER_TOKEN = 4
"""About how many characters a token has."""
KEPT_SHARE = 0.3
"""Largest share of the context at which the last answer and its results are kept verbatim."""
_SUMMARISED_SHARE = 0.6
"""Share of the context for what is to be summarised, which leaves room for the summary."""
_EXCERPT_SHARE = 0.2
"""Share of the context for the beginning and the end of it, where the model writes no summary."""
_SUMMARY_PROMPT = (
    "Write down what this conversation has come to, for yourself to go on from: what was asked for, what was found out"
    " and decided, with names, numbers and quotes that matter, and what is left to do. Write nothing else."
)


class Compaction:
    """Summarises the conversation of one attempt.

    Args:
        turns: Who is asked for it.
        share: Of the context, from which on it is done.
    """

    def __init__(self, work: Work, turns: Turns, conversation: Conversation, share: float) -> None:
        self._work = work
        self._turns = turns
        self._conversation = conversation
        self._share = share

    def is_due(self, extra_characters: int) -> bool:
        """Return True once the conversation exceeds its share of the context.

        Args:
            extra_characters: Characters that a request holds besides.
        """
        tokens = self._turns.context_tokens
        return (
            tokens is not None
            and self.is_possible
            and (self._conversation.characters + extra_characters) / CHARACTERS_PER_TOKEN > self._share * tokens
        )

    @property
    def _context_tokens(self) -> float:
        """Size of the context; if unknown, the size that last did not fit."""
        return self._turns.context_tokens or self._conversation.characters / CHARACTERS_PER_TOKEN

    @property
    def is_possible(self) -> bool:
        """True if there is anything to summarise."""
        return len(self._conversation.messages) > 1

    async def resume(self, key: str) -> bool:
        """Resume from the summary recorded at this place, if there is one."""
        if not self._work.attempt.is_recorded(key):
            return False
        output = await self._work.attempt.recorded(key)
        assert isinstance(output, dict)
        self._conversation.replace_by_summary(str(output["summary"]), keep_count=int(str(output["kept"])), key=key)
        return True

    async def summarise(self, key: str) -> None:
        """Have the model summarise it, as a recorded step.

        Raises:
            ModelError: If no model answers.
        """
        messages = self._conversation.messages
        # An answer of an earlier run is not the last one of this.
        task_place = next(place for place, message in enumerate(messages) if message is self._conversation.task)
        last_place = max(
            (place for place, message in enumerate(messages) if place > task_place and message.role == "assistant"),
            default=None,
        )
        last_place = len(messages) if last_place is None else last_place
        keep_count = len(messages) - last_place
        if sum(map(length_of, messages[last_place:])) / CHARACTERS_PER_TOKEN > KEPT_SHARE * self._context_tokens:
            keep_count = 0
        if keep_count + 1 >= len(messages):
            keep_count = 0  # there is nothing else
        middle = [
            message for message in messages[: len(messages) - keep_count] if message is not self._conversation.task
        ]
        request = Message(
            role="user",
            text=f"{_SUMMARY_PROMPT}\n\n{self._cut_text([self._conversation.task, *middle], _SUMMARISED_SHARE)}",
        )
        answer, step = await self._turns.ask("compact", key, messages=[request], tools=(), kind="compact", plain=True)
        summary = answer.text if is_text(answer) else self._cut_text(middle, _EXCERPT_SHARE)
        output: dict[str, JsonValue] = {"summary": summary, "kept": keep_count, "messages": len(middle)}
        await self._work.attempt.record(step(output))
        self._conversation.replace_by_summary(summary, keep_count=keep_count, key=key)

    def _cut_text(self, messages: list[Message], share: float) -> str:
        """Return messages as one text, cut in the middle where it takes more than a share of the context."""
        text = "\n\n".join(_message_text(message) for message in messages)
        limit = int(self._context_tokens * CHARACTERS_PER_TOKEN * share)
        if len(text) <= limit:
            return text
        return f"{text[: limit // 2]}\n[{len(text) - limit:,} characters left out]\n{text[-(limit // 2) :]}"


def _message_text(message: Message) -> str:
    calls = "".join(f"\n[calls {call.name} {json.dumps(call.arguments, ensure_ascii=False)}]" for call in message.calls)
    return f"{message.role}: {message.text}{calls}"
