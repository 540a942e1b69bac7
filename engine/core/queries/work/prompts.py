"""Rebuilds the prompt of a recorded model step as it was sent: parts, earlier runs, messages and results.

Texts in the journal are references here; the caller reads them. Corrections after an empty or invalid answer are not
recorded, and are missing.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from engine.core.events import StepRecorded
from engine.core.queries.work.conversation import visible_exchanges
from engine.core.records.keys import stem_of
from engine.core.records.values import StoredValue
from engine.core.state import Exchange, State, Task

Role: TypeAlias = Literal["part", "user", "assistant", "tool", "steer", "summary"]
"""`part`: a system prompt or the schemas of tools, with their hash as the content; `steer`: a message of a person, sent
as the user's; `summary`: a summary of the messages before."""


class SentMessage(NamedTuple):
    """One message of a prompt."""

    role: Role
    content: StoredValue | dict[str, Any] | list[Any]
    """A text, or the recorded answer of an assistant, or the recorded step of a summary."""
    name: str = ""
    """Name of the tool whose result it is; empty for other roles."""


def prompt_of(
    state: State, task: Task | None, step: StepRecorded | None, before: Sequence[StepRecorded]
) -> list[SentMessage]:
    """Return the messages that the model was sent for a step.

    Args:
        task: The task; None if its run has ended, then earlier runs and the request are missing.
        step: The step of a model; None for the next one.
        before: The steps of the task before it, oldest first.
    """
    if step is None:  # the next step is sent the same parts as the last one that has any
        step = next((earlier_step for earlier_step in reversed(before) if earlier_step.parts), None)
    system_parts = [SentMessage("part", part) for part in (step.parts if step is not None else ())]
    requests: list[SentMessage] = []
    messages: list[SentMessage] = []
    if task is not None:
        for exchange in visible_exchanges(state, task):
            if any(utterance.role == "summary" for utterance in exchange.said):
                messages = []
            messages += _messages_of(exchange)
        requests = [SentMessage("user", task.input)]
    results = _CallResults(state, task, before)
    messages += requests
    for earlier_step in before:
        if earlier_step.what == "compact" and isinstance(earlier_step.output, dict):
            kept_count = int(str(earlier_step.output.get("kept") or 0))
            kept_messages = messages[max(0, len(messages) - kept_count) :]
            messages = [*requests, SentMessage("summary", earlier_step.output), *kept_messages]
        elif earlier_step.steers:
            texts = earlier_step.output if isinstance(earlier_step.output, list) else [earlier_step.output]
            messages += [SentMessage("steer", text) for text in texts]
        elif earlier_step.what == "model":
            messages += [SentMessage("assistant", earlier_step.output), *results.results_of(earlier_step.output)]
        elif earlier_step.what == "tool" and earlier_step.key not in results.answered_keys:
            messages.append(SentMessage("tool", earlier_step.output, earlier_step.name.removeprefix("tool:")))
    return system_parts + messages


def _messages_of(exchange: Exchange) -> list[SentMessage]:
    """Return the messages of an earlier run."""
    request = SentMessage("user", exchange.request)
    if not exchange.said:
        return [request, SentMessage("assistant", exchange.output if exchange.error is None else exchange.error)]
    return [request, *(SentMessage(utterance.role, utterance.content) for utterance in exchange.said)]


class _CallResults:
    """The recorded results of the calls in a task's model answers."""

    def __init__(self, state: State, task: Task | None, steps: Sequence[StepRecorded]) -> None:
        self._state, self._task = state, task
        self._steps = {step.key: step for step in steps}
        self._counts: Counter[str] = Counter()
        self.answered_keys: set[str] = set()
        """Keys of the results that were returned for an answer."""
        agent = None if task is None else state.agents.get(task.agent_id or "")
        names = None if agent is None else state.spec_of(agent).options.get("tool_names")
        self._own_names = {str(alias): name for name, alias in names.items()} if isinstance(names, dict) else {}

    def results_of(self, answer: Any) -> list[SentMessage]:
        """Return the results of the calls of an answer, in their order."""
        calls = answer.get("calls") if isinstance(answer, dict) else None
        results = [self._result(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        return [result for result in results if result is not None]

    def _result(self, call: dict[str, Any]) -> SentMessage | None:
        name, arguments = str(call.get("name")), call.get("invalid", call.get("arguments"))
        stem = stem_of(f"call:{self._own_names.get(name, name)}", arguments)
        self._counts[stem] += 1
        key = f"{stem}:{self._counts[stem]}"
        if (step := self._steps.get(key)) is not None:
            self.answered_keys.add(key)
            return SentMessage("tool", step.output, name)
        recorded_call = None if self._task is None else self._task.calls.get(key)
        if recorded_call is None or not recorded_call.children or recorded_call.open:
            return None
        return SentMessage("tool", self._state.tasks[recorded_call.children[0]].output, name)
