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

CHARACTERS = 4
"""About how many characters a token has."""
KEPT = 0.3
"""Largest share of the context at which the last answer and its results are kept verbatim."""
_ROOM = 0.6
"""Share of the context for what is to be summarised, which leaves room for the summary."""
_CUT = 0.2
"""Share of the context for the beginning and the end of it, where the model writes no summary."""
_ASKED = (
    "Write down what this conversation has come to, for yourself to go on from: what was asked for, what was found out"
    " and decided, with names, numbers and quotes that matter, and what is left to do. Write nothing else."
)


class Compaction:
    """Summarises the conversation of one attempt.

    Args:
        turns: Who is asked for it.
        share: Of the context, from which on it is done.
    """

    def __init__(self, work: Work, turns: Turns, said: Conversation, share: float) -> None:
        self._work = work
        self._turns = turns
        self._said = said
        self._share = share

    def is_due(self, besides: int) -> bool:
        """Return True once the conversation exceeds its share of the context.

        Args:
            besides: Characters that a request holds besides.
        """
        tokens = self._turns.context_tokens
        return (
            tokens is not None
            and self.is_possible
            and (self._said.characters + besides) / CHARACTERS > self._share * tokens
        )

    @property
    def _context_tokens(self) -> float:
        """Size of the context; if unknown, the size that last did not fit."""
        return self._turns.context_tokens or self._said.characters / CHARACTERS

    @property
    def is_possible(self) -> bool:
        """True if there is anything to summarise."""
        return len(self._said.messages) > 1

    async def recorded(self, key: str) -> bool:
        """Resume from the summary recorded at this place, if there is one."""
        if not self._work.is_recorded(key):
            return False
        kept = await self._work.recorded(key)
        assert isinstance(kept, dict)
        self._said.summed_up(str(kept["summary"]), kept=int(str(kept["kept"])), key=key)
        return True

    async def put_in_short(self, key: str) -> None:
        """Have the model summarise it, as a recorded step.

        Raises:
            ModelError: If no model answers.
        """
        messages = self._said.messages
        # An answer of an earlier run is not the last one of this.
        since = next(at for at, one in enumerate(messages) if one is self._said.task)
        last = max((at for at, one in enumerate(messages) if at > since and one.role == "assistant"), default=None)
        last = len(messages) if last is None else last
        kept = len(messages) - last
        if sum(map(length_of, messages[last:])) / CHARACTERS > KEPT * self._context_tokens:
            kept = 0
        if kept + 1 >= len(messages):
            kept = 0  # there is nothing else
        middle = [one for one in messages[: len(messages) - kept] if one is not self._said.task]
        asked = Message(role="user", text=f"{_ASKED}\n\n{self._told([self._said.task, *middle], _ROOM)}")
        answer, step = await self._turns.ask("compact", key, messages=[asked], tools=(), what="compact", plain=True)
        summary = answer.text if is_text(answer) else self._told(middle, _CUT)
        output: dict[str, JsonValue] = {"summary": summary, "kept": kept, "messages": len(middle)}
        await self._work.record(step(output))
        self._said.summed_up(summary, kept=kept, key=key)

    def _told(self, messages: list[Message], share: float) -> str:
        """Return messages as one text, cut in the middle where it takes more than a share of the context."""
        text = "\n\n".join(_told(message) for message in messages)
        room = int(self._context_tokens * CHARACTERS * share)
        if len(text) <= room:
            return text
        return f"{text[: room // 2]}\n[{len(text) - room:,} characters left out]\n{text[-(room // 2) :]}"


def _told(message: Message) -> str:
    calls = "".join(f"\n[calls {call.name} {json.dumps(call.arguments, ensure_ascii=False)}]" for call in message.calls)
    return f"{message.role}: {message.text}{calls}"
