"""What an attempt knows from before: the conversation of its run, and what its agent remembers."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from engine.core.discovery.recall import Recalled, best_insights
from engine.core.events.attempt import Said
from engine.core.queries.work.conversation import is_in_conversation
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.signals import InsightNoted, PartTold
from engine.core.state import Exchange, RunStatus
from engine.core.validation.bounds import Importance, RecallLimit, Remark, Tags
from engine.core.validation.records import check_arguments
from engine.errors import AttemptInterrupted
from engine.models.records import Message
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.values import clean


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

    async def remember(self, text: Remark, tags: Tags = (), importance: Importance = 0.5) -> str:
        """Keep something for the agent's later work; a recorded step, so that it is kept once.

        Returns:
            Its id.

        Raises:
            BadValue: If the text is empty or above 10,000 characters, a tag is none, or the importance not in [0, 1].
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        check_arguments("remember", AttemptMemory.remember, {"text": text, "tags": tags, "importance": importance})
        step_input: list[JsonValue] = [clean(text), [clean(tag) for tag in tags], importance]
        key = self._attempt.key("remember", step_input)
        if not self._attempt.is_recorded(key):
            signal = InsightNoted(
                **of_attempt(self._effect),
                key=key,
                text=clean(text),
                tags=list(map(clean, tags)),
                importance=importance,
            )
            await self._attempt.report(signal)
            task = self._attempt.state.tasks.get(self._effect.task_id)
            if task is None or key not in task.steps:  # it was not heard: the attempt is another's by now
                raise AttemptInterrupted
            return str(task.steps[key])
        return str(await self._attempt.recorded_output(key))

    async def recall(self, query: str, limit: RecallLimit = 5) -> list[Recalled]:
        """Return what the agent remembers that answers `query` best, the best first; not recorded.

        Raises:
            BadValue: If the limit is not from 1 to 100.
        """
        check_arguments("recall", AttemptMemory.recall, {"query": query, "limit": limit})
        state = self._attempt.state
        agent = state.agents.get(self._effect.agent_id)
        insights = [state.insights[insight_id] for insight_id in agent.insights] if agent is not None else []
        candidates = [
            Recalled(
                insight.id,
                str(await self._attempt.services.text(insight.text)),
                tuple(insight.tags),
                insight.importance,
            )
            for insight in insights
        ]
        return best_insights(query, candidates, limit)

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
