"""The messages of one attempt so far, and the key of its next turn.

The key is a hash of every message so far, chained, so that a long conversation is not hashed anew each turn. What the
model is told besides (its instructions, the workers, its tools, which model it is) is not part of it: that is built
anew each turn, and an answer that was given stays one.
"""

import hashlib

import msgspec

from engine.core.events.attempt import Said
from engine.core.state import UTTERANCES
from engine.models.records import Message, ModelAnswer


class Conversation:
    """The messages of an attempt, without the system message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.task = Message(role="user")
        """What the task asks for."""
        self._said: list[Said | None] = []
        """Where each message stands in the journal; None before the task."""
        self._digest = ""

    @property
    def digest(self) -> str:
        """16 hex digits: a chained hash of the messages so far."""
        return self._digest

    @property
    def said(self) -> list[Said]:
        """What was said after the task, as later runs are to be told it: a bounded number of messages, the last ones.

        They begin with an answer, so that no result stands without its call.
        """
        said = [one for one in self._said if one is not None]
        if len(said) <= UTTERANCES:
            return said
        last = said[1 - UTTERANCES :]
        first = next((place for place, one in enumerate(last) if one.role == "assistant"), len(last))
        return [Said(role="user", text="(What came before this is left out here.)"), *last[first:]]

    def begin(self, text: str) -> None:
        """Begin with the messages of earlier runs and the task's own text."""
        self._said = [None] * len(self._said)
        self.task = Message(role="user", text=text)
        self._add(self.task, self.task, None)

    def user(self, text: str) -> None:
        """Add what the model is asked."""
        message = Message(role="user", text=text)
        self._add(message, message, Said(role="user", text=text))

    def answered(self, answer: ModelAnswer, key: str = "") -> None:
        """Add what the model said, and the key of the step that has it."""
        message = Message(
            role="assistant",
            text=answer.text,
            calls=answer.calls,
            thinking=answer.thinking,
            provider=answer.provider or None,
        )
        self._add(message, message, Said(role="assistant", key=key))

    def heard(self, call_id: str, text: str, *, whole: str, key: str = "") -> None:
        """Add the result of a call.

        Args:
            call_id: The call.
            text: What the model is shown.
            whole: What the result is, which does not depend on how much of it is shown.
            key: Of the step or the call that has the result; empty where none has.
        """
        message = Message(role="tool", text=text, call_id=call_id)
        said = Said(role="tool", key=key, call_id=call_id, text="" if key else text)
        self._add(message, message if whole == text else msgspec.structs.replace(message, text=whole), said)

    def summed_up(self, summary: str, *, kept: int, key: str = "") -> None:
        """Go on from a summary of what was said before, and the last messages as they are.

        Args:
            summary: Its text.
            kept: How many of the last messages.
            key: Of the step that has it.
        """
        first = len(self.messages) - kept
        last = list(zip(self.messages[first:], self._said[first:], strict=True))
        self.messages, self._said = [], []
        self._add(self.task, self.task, None)
        short = Message(role="user", text=in_short(summary))
        self._add(short, short, Said(role="summary", key=key))
        for message, said in last:
            self._add(message, message, said)

    def _add(self, message: Message, hashed: Message, said: Said | None) -> None:
        content = msgspec.json.encode(hashed, order="sorted")
        self._digest = hashlib.blake2b(self._digest.encode() + content, digest_size=8).hexdigest()
        self.messages.append(message)
        self._said.append(said)

    @property
    def characters(self) -> int:
        """How long all of it is, calls included."""
        return sum(length_of(message) for message in self.messages)


def in_short(summary: str) -> str:
    """Return the message with the summary of what came before."""
    return f"What was said so far, in short:\n\n{summary}"


def length_of(message: Message) -> int:
    """Return how many characters a message has, its calls included."""
    return len(message.text) + sum(len(call.name) + len(str(call.arguments)) for call in message.calls)
