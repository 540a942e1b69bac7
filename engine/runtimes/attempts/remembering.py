"""What an attempt knows from before, and leaves for later: the conversation of its run, and parts of prompts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from engine.core.events.attempt import Said
from engine.core.queries.work.conversation import is_in_conversation
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.signals import PartTold
from engine.core.state import Exchange, RunStatus
from engine.models.records import Message
from engine.runtimes.attempts.attempt import Attempt


@dataclass(frozen=True, slots=True)
class EarlierMessage:
    """A message of an earlier run of the conversation."""

    role: Literal["user", "assistant", "tool", "summary"]
    content: JsonValue
    """The recorded answer or a text of an assistant; the recorded step of a summary; the whole result of a tool."""
    call_id: str = ""


class AttemptMemory:
    """The memory of an attempt: the conversation before it, and what it leaves for later ones."""

    utterances: Sequence[Said] = ()
    """What a model said and heard, for later runs of the conversation."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._effect = attempt.effect

    async def conversation(self) -> tuple[Message, ...]:
        """Return what was asked and answered before in the conversation of the run; nothing of what was delegated.

        It stays the same for as long as the run is open, also in another engine.
        """
        text = self._attempt.services.text
        messages: list[Message] = []
        for exchange in self._effect.conversation:
            messages.append(Message("user", as_text(await text(exchange.request))))
            messages.append(Message("assistant", _answer(exchange, await text(exchange.output))))
        return tuple(messages)

    async def transcript(self) -> list[EarlierMessage]:
        """Return the whole conversation before the request, as a model is told it: calls and their results too.

        What a run has put in short stands for all before it.
        """
        text = self._attempt.services.text
        messages: list[EarlierMessage] = []
        for exchange in self._effect.conversation:
            request = EarlierMessage("user", as_text(await text(exchange.request)))
            if any(utterance.role == "summary" for utterance in exchange.said):
                messages = []
            messages.append(request)
            if exchange.status is not RunStatus.DONE or not exchange.said:
                messages.append(EarlierMessage("assistant", _answer(exchange, await text(exchange.output))))
            else:
                messages += [
                    EarlierMessage(utterance.role, await text(utterance.content), utterance.call_id)
                    for utterance in exchange.said
                ]
        return messages

    def leave_utterances(self, utterances: list[Said]) -> None:
        """Leave what was said in this attempt to later runs of the conversation, if it is part of one."""
        state = self._attempt.state
        task = state.tasks.get(self._effect.task_id)
        if task is not None and is_in_conversation(state, task):
            self.utterances = utterances

    def is_in_journal(self, key: str) -> bool:
        """Return whether the journal has the result of a call by its key: as a step, or as its one task."""
        task = self._attempt.state.tasks.get(self._effect.task_id)
        return task is not None and (key in task.steps or (key in task.calls and len(task.calls[key].children) == 1))

    def store_part(self, value: JsonValue) -> str:
        """Write a part of a prompt into the journal, where it does not stand there yet, and return its hash."""
        content = msgspec.json.encode(value, order="sorted")
        name = hashlib.blake2b(content, digest_size=16).hexdigest()
        if name not in self._attempt.state.parts:
            self._attempt.services.signal(PartTold(hash=name, value=value))
        return name


def _answer(exchange: Exchange, output: JsonValue) -> str:
    """Return what a run came to, in words."""
    if exchange.status is not RunStatus.DONE:
        return f"({exchange.status.value}: {exchange.error or 'it does not say why'})"
    return "" if output is None else as_text(output)
