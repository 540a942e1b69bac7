"""What a model was told for a recorded step, put together as it was sent: parts, earlier runs, messages and results.

Texts that stand in the journal are references here; the caller reads them. What a model was told because its answer was
empty or did not fit its schema is not recorded, and not here.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from engine.core.events import StepRecorded
from engine.core.queries.work.conversation import remembered_by
from engine.core.records.keys import stem_of
from engine.core.records.values import StoredValue
from engine.core.state import Exchange, State, Task

Role: TypeAlias = Literal["part", "user", "assistant", "tool", "steer", "summary"]
"""`part`: a system prompt or the schemas of tools, whose hash stands in place of the content; `steer`: a person, as the
model's user; `summary`: what was said before, in short."""


class Sent(NamedTuple):
    """One message."""

    role: Role
    content: StoredValue | dict[str, Any] | list[Any]
    """Of an assistant, its recorded answer, or a text; of a summary, its recorded step, or a text."""
    name: str = ""
    """Of a tool: what was called."""


def prompt_of(state: State, task: Task | None, step: StepRecorded | None, before: Sequence[StepRecorded]) -> list[Sent]:
    """Return what the model was told for a step.

    Args:
        task: The task; None when its run has ended, then earlier runs and its request are missing.
        step: The step of a model; None is the one that comes next.
        before: The steps of its task before it, the oldest first.
    """
    parts = step if step is not None else next((one for one in reversed(before) if one.parts), None)
    told = [Sent("part", part) for part in (parts.parts if parts is not None else ())]
    asked: list[Sent] = []
    said: list[Sent] = []
    if task is not None:
        for exchange in remembered_by(state, task):
            if any(one.role == "summary" for one in exchange.said):
                said = []
            said += _exchanged(exchange)
        asked = [Sent("user", task.input)]
    results = _Results(state, task, before)
    said += asked
    for one in before:
        if one.what == "compact" and isinstance(one.output, dict):
            kept = int(str(one.output.get("kept") or 0))
            said = [*asked, Sent("summary", one.output), *said[max(0, len(said) - kept) :]]
        elif one.steers:
            said += [Sent("steer", text) for text in (one.output if isinstance(one.output, list) else [one.output])]
        elif one.what == "model":
            said += [Sent("assistant", one.output), *results.of(one.output)]
        elif one.what == "tool" and one.key not in results.told:
            said.append(Sent("tool", one.output, one.name.removeprefix("tool:")))
    return told + said


def _exchanged(exchange: Exchange) -> list[Sent]:
    """Return the messages of an earlier run."""
    asked = Sent("user", exchange.request)
    if not exchange.said:
        return [asked, Sent("assistant", exchange.output if exchange.error is None else exchange.error)]
    return [asked, *(Sent(one.role, one.content) for one in exchange.said)]


class _Results:
    """What the calls of the answers of a task came to, as far as that is recorded."""

    def __init__(self, state: State, task: Task | None, steps: Sequence[StepRecorded]) -> None:
        self._state, self._task = state, task
        self._steps = {one.key: one for one in steps}
        self._counts: Counter[str] = Counter()
        self.told: set[str] = set()
        """Keys of those that stand behind the answer that asked for them."""
        agent = None if task is None else state.agents.get(task.agent_id or "")
        names = None if agent is None else state.spec_of(agent).options.get("tool_names")
        self._own = {str(said): name for name, said in names.items()} if isinstance(names, dict) else {}

    def of(self, answer: Any) -> list[Sent]:
        """Return the results of the calls of an answer, in their order."""
        calls = answer.get("calls") if isinstance(answer, dict) else None
        found = [self._result(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        return [one for one in found if one is not None]

    def _result(self, call: dict[str, Any]) -> Sent | None:
        name, said = str(call.get("name")), call.get("invalid", call.get("arguments"))
        stem = stem_of(f"call:{self._own.get(name, name)}", said)
        self._counts[stem] += 1
        key = f"{stem}:{self._counts[stem]}"
        if (step := self._steps.get(key)) is not None:
            self.told.add(key)
            return Sent("tool", step.output, name)
        asked = None if self._task is None else self._task.calls.get(key)
        if asked is None or not asked.children or asked.open:
            return None
        return Sent("tool", self._state.tasks[asked.children[0]].output, name)
