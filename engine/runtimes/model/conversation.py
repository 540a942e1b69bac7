"""What was said so far in one attempt, and the key of the turn that comes next.

The key is a hash of every message so far, chained, so that a long conversation is not hashed anew each turn. What the
model is told besides (its instructions, the workers, its tools, which model it is) is not part of it: that is built
anew each turn, and an answer that was given stays one.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from engine.models.records import Answer, Message


class Conversation:
    """The messages of an attempt, without the system message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.task = Message(role="user")
        """What the task asks for."""
        self._digest = ""

    @property
    def digest(self) -> str:
        """16 hex digits that are the same after the same messages."""
        return self._digest

    def say(self, *messages: Message) -> None:
        """Add messages."""
        for message in messages:
            self._add(message, message)

    def heard(self, call_id: str, text: str, *, whole: str) -> None:
        """Add the result of a call.

        Args:
            call_id: The call.
            text: What the model is shown.
            whole: What the result is, which does not depend on how much of it is shown.
        """
        message = Message(role="tool", text=text, call_id=call_id)
        self._add(message, message if whole == text else msgspec.structs.replace(message, text=whole))

    def _add(self, message: Message, hashed: Message) -> None:
        content = msgspec.json.encode(hashed, order="sorted")
        self._digest = hashlib.blake2b(self._digest.encode() + content, digest_size=8).hexdigest()
        self.messages.append(message)

    def begin(self, earlier: Sequence[Message], text: str) -> None:
        """Begin with what was said before, and with what the task asks for."""
        self.task = Message(role="user", text=text)
        self.say(*earlier, self.task)

    def user(self, text: str) -> None:
        """Add what the model is asked."""
        self.say(Message(role="user", text=text))

    def answered(self, answer: Answer) -> None:
        """Add what the model said."""
        self.say(
            Message(
                role="assistant",
                text=answer.text,
                calls=answer.calls,
                thinking=answer.thinking,
                provider=answer.provider or None,
            )
        )

    def replace(self, messages: Sequence[Message]) -> None:
        """Go on from other messages: what was said before is in them in short."""
        self.messages = []
        self.say(*messages)

    @property
    def characters(self) -> int:
        """How long all of it is, calls included."""
        return sum(length_of(message) for message in self.messages)


def length_of(message: Message) -> int:
    """Return how many characters a message has, its calls included."""
    return len(message.text) + sum(len(call.name) + len(str(call.arguments)) for call in message.calls)
