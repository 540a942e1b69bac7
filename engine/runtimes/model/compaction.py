"""Compaction: summarises a conversation that exceeds a share of the model's context, as a recorded step.

The message with the task is kept, and the last answer with its results if they fit. The model itself summarises the
messages in between; if it writes no summary in two tries, excerpts of their beginning and end are kept.
"""

import json

from engine.core.records.records import JsonValue
from engine.models.records import Message
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.conversation import Conversation, length_of
from engine.runtimes.model.turn import Turns, is_text

CHARACTERS_PER_TOKEN = 4
"""Average number of characters of a token."""
KEPT_SHARE = 0.3
"""Largest share of the context at which the last answer and its results are kept verbatim."""
_SUMMARISED_SHARE = 0.6
"""Share of the context for the messages to be summarised, which leaves room for the summary."""
_EXCERPT_SHARE = 0.2
"""Share of the context for excerpts of these messages, if the model writes no summary."""
_SUMMARY_PROMPT = (
    "Write down what this conversation has come to, for yourself to go on from: what was asked for, what was found out"
    " and decided, with names, numbers and quotes that matter, and what is left to do. Write nothing else."
)


class Compaction:
    """Summarises the conversation of one attempt.

    Args:
        turns: Asks the model for summaries.
        share: Share of the context above which the conversation is compacted.
    """

    def __init__(self, work: Work, turns: Turns, conversation: Conversation, share: float) -> None:
        self._work = work
        self._turns = turns
        self._conversation = conversation
        self._share = share

    def is_due(self, extra_characters: int) -> bool:
        """Return True once the conversation exceeds its share of the context.

        Args:
            extra_characters: Characters of a request in addition to the conversation.
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
        output = await self._work.attempt.recorded_output(key)
        assert isinstance(output, dict)
        self._conversation.replace_by_summary(str(output["summary"]), keep_count=int(str(output["kept"])), key=key)
        return True

    async def summarise(self, key: str) -> None:
        """Summarise the conversation, as a recorded step.

        Raises:
            ModelError: If no model answers.
        """
        messages = self._conversation.messages
        # Only after the task: answers before it are from earlier runs.
        task_place = next(place for place, message in enumerate(messages) if message is self._conversation.task)
        answer_places = [place for place, message in enumerate(messages) if message.role == "assistant"]
        last_place = max((place for place in answer_places if place > task_place), default=len(messages))
        keep_count = len(messages) - last_place
        if sum(map(length_of, messages[last_place:])) / CHARACTERS_PER_TOKEN > KEPT_SHARE * self._context_tokens:
            keep_count = 0
        if keep_count + 1 >= len(messages):
            keep_count = 0  # otherwise there would be nothing to summarise
        task = self._conversation.task
        middle = [message for message in messages[: len(messages) - keep_count] if message is not task]
        text = self._cut_text([task, *middle], _SUMMARISED_SHARE)
        request = Message(role="user", text=f"{_SUMMARY_PROMPT}\n\n{text}")
        answer, step = await self._turns.ask("compact", key, messages=[request], tools=(), kind="compact", plain=True)
        summary = answer.text if is_text(answer) else self._cut_text(middle, _EXCERPT_SHARE)
        output: dict[str, JsonValue] = {"summary": summary, "kept": keep_count, "messages": len(middle)}
        await self._work.attempt.record(step(output))
        self._conversation.replace_by_summary(summary, keep_count=keep_count, key=key)

    def _cut_text(self, messages: list[Message], share: float) -> str:
        """Return messages as one text, cut in the middle if it exceeds a share of the context."""
        text = "\n\n".join(_message_text(message) for message in messages)
        limit = int(self._context_tokens * CHARACTERS_PER_TOKEN * share)
        if len(text) <= limit:
            return text
        return f"{text[: limit // 2]}\n[{len(text) - limit:,} characters left out]\n{text[-(limit // 2) :]}"


def _message_text(message: Message) -> str:
    calls = "".join(f"\n[calls {call.name} {json.dumps(call.arguments, ensure_ascii=False)}]" for call in message.calls)
    return f"{message.role}: {message.text}{calls}"
