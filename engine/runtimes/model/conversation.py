"""The messages of one attempt, and the key of its next turn.

The key is a chained hash of all messages, so that a long conversation is not hashed again each turn. Instructions,
workers, tools and the model are not part of it: they may change, and a recorded answer stays valid.
"""

import hashlib

import msgspec

from engine.core.events.attempt import Said
from engine.core.state import MAX_UTTERANCES
from engine.models.records import Message, ModelAnswer


class Conversation:
    """The messages of an attempt, without the system message."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.task = Message(role="user")
        """The message with the task."""
        self._utterances: list[Said | None] = []
        """The reference of each message to the journal; None for messages up to the task."""
        self._digest = ""

    @property
    def digest(self) -> str:
        """16 hex digits: a chained hash of the messages so far."""
        return self._digest

    @property
    def utterances(self) -> list[Said]:
        """The last messages after the task, for later runs of the conversation.

        They begin with an answer, because providers refuse a tool result without its call.
        """
        utterances = [utterance for utterance in self._utterances if utterance is not None]
        if len(utterances) <= MAX_UTTERANCES:
            return utterances
        last = utterances[1 - MAX_UTTERANCES :]
        first = next((index for index, utterance in enumerate(last) if utterance.role == "assistant"), len(last))
        return [Said(role="user", text="(What came before this is left out here.)"), *last[first:]]

    def begin(self, text: str) -> None:
        """Add the task's text after the messages of earlier runs."""
        self._utterances = [None] * len(self._utterances)
        self.task = Message(role="user", text=text)
        self._add(self.task, self.task, None)

    def add_user_text(self, text: str) -> None:
        """Add a message for the model."""
        message = Message(role="user", text=text)
        self._add(message, message, Said(role="user", text=text))

    def add_answer(self, answer: ModelAnswer, key: str = "") -> None:
        """Add an answer of the model, with the key of its step."""
        message = Message(
            role="assistant",
            text=answer.text,
            calls=answer.calls,
            thinking=answer.thinking,
            provider=answer.provider or None,
        )
        self._add(message, message, Said(role="assistant", key=key))

    def add_result(self, call_id: str, text: str, *, full_text: str, key: str = "") -> None:
        """Add the result of a call.

        Args:
            text: The result as shown to the model, possibly cut.
            full_text: The whole result, for the hash: so `result_chars` may change without changing keys.
            key: Key of the step or call with the result; empty if there is none.
        """
        message = Message(role="tool", text=text, call_id=call_id)
        utterance = Said(role="tool", key=key, call_id=call_id, text="" if key else text)
        self._add(
            message, message if full_text == text else msgspec.structs.replace(message, text=full_text), utterance
        )

    def replace_by_summary(self, summary: str, *, keep_count: int, key: str = "") -> None:
        """Replace all but the last messages by a summary.

        Args:
            summary: Text of the summary.
            keep_count: Number of last messages to keep.
            key: Key of the step with the summary.
        """
        first = len(self.messages) - keep_count
        last = list(zip(self.messages[first:], self._utterances[first:], strict=True))
        self.messages, self._utterances = [], []
        self._add(self.task, self.task, None)
        summary_message = Message(role="user", text=summary_text(summary))
        self._add(summary_message, summary_message, Said(role="summary", key=key))
        for message, utterance in last:
            self._add(message, message, utterance)

    def _add(self, message: Message, hashed: Message, utterance: Said | None) -> None:
        content = msgspec.json.encode(hashed, order="sorted")
        self._digest = hashlib.blake2b(self._digest.encode() + content, digest_size=8).hexdigest()
        self.messages.append(message)
        self._utterances.append(utterance)

    @property
    def characters(self) -> int:
        """Total length of all messages, calls included."""
        return sum(length_of(message) for message in self.messages)


def summary_text(summary: str) -> str:
    """Return the text of the message with a summary."""
    return f"What was said so far, in short:\n\n{summary}"


def length_of(message: Message) -> int:
    """Return the length of a message, its calls included."""
    return len(message.text) + sum(len(call.name) + len(str(call.arguments)) for call in message.calls)
