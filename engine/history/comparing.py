"""Aligns the recorded steps of one run in two journals: the original and a fork of it.

Tasks from before the fork have the same id in both. Newer tasks correspond by their number among the new tasks of their
parent. Within a task steps are aligned by kind and name; a step without a counterpart is paired with None.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from engine.core.events import Delegated, Event, GroupGrown, GroupPlanned, StepRecorded
from engine.core.records.records import JsonValue
from engine.history.steps import Step, step_of
from engine.reading.folding import events_of, pages
from store import Reader

Place: TypeAlias = tuple[str | int, ...]
"""Identifies a task in both journals: the id of a shared task, then the number of a new task below it, and so on."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A step in the original and its counterpart in the fork; None if one has none."""

    was: Step | None
    now: Step | None

    @property
    def is_same(self) -> bool:
        """True if both have the same output, from whichever model."""
        return (
            self.was is not None
            and self.now is not None
            and _comparable_output(self.was) == _comparable_output(self.now)
        )


def side_by_side(before: Reader, after: Reader, run_id: str, *, since_seq: int) -> list[Pair]:
    """Return the steps of a run that were recorded since a fork, in the order of the original.

    Args:
        before: The original journal.
        after: The journal of the fork.
        run_id: Id of the run in both.
        since_seq: The first event of `before` that the fork does not contain.
    """
    first = next(iter(before.records(0, 1, run_id=run_id, kinds=("run_submitted",))), None)
    was, now = _RunSteps(), _RunSteps()
    before_fork, submitted_seq = _RunSteps(), 1 if first is None else first.seq
    before_fork.read(_run_events(before, run_id, after_seq=submitted_seq - 1, until_seq=since_seq - 1))
    was.read(_run_events(before, run_id, after_seq=since_seq - 1))
    now.read(_run_events(after, run_id, after_seq=0))
    shared = before_fork.tasks
    left, right = was.by_place(shared), now.by_place(shared)
    return [pair for place in {**left, **right} for pair in _align(left.get(place, []), right.get(place, []))]


class _RunSteps:
    """The tasks and steps of a run in one journal."""

    def __init__(self) -> None:
        self._steps: dict[str, list[Step]] = {}
        self._parents: dict[str, str] = {}

    @property
    def tasks(self) -> frozenset[str]:
        """Ids of all tasks except the root."""
        return frozenset(self._parents)

    def read(self, events: Iterable[tuple[Event, Step | None]]) -> None:
        """Add the tasks and steps of some events."""
        for event, step in events:
            if step is not None:
                self._steps.setdefault(step.task_id, []).append(step)
            elif isinstance(event, GroupPlanned | GroupGrown | Delegated):
                self._parents.update(dict.fromkeys(_new_task_ids(event), event.task_id))

    def by_place(self, shared: frozenset[str]) -> dict[Place, list[Step]]:
        """Return the steps of each task, in the order of the tasks' first steps."""
        counts: dict[str, int] = {}
        places: dict[str, Place] = {}
        for task_id, parent_id in self._parents.items():
            if task_id not in shared:
                counts[parent_id] = counts.get(parent_id, 0) + 1
                places[task_id] = (*places.get(parent_id, (parent_id,)), counts[parent_id])
        return {places.get(task_id, (task_id,)): steps for task_id, steps in self._steps.items()}


def _new_task_ids(event: GroupPlanned | GroupGrown | Delegated) -> list[str]:
    if isinstance(event, Delegated):
        return [child.task_id for child in event.children]
    return [node.task_id for node in (event.nodes if isinstance(event, GroupPlanned) else event.added)]


def _run_events(
    reader: Reader, run_id: str, *, after_seq: int, until_seq: int | None = None
) -> Iterator[tuple[Event, Step | None]]:
    for records in pages(reader, after_seq, until_seq):
        run_records = [record for record in records if record.run_id == run_id]
        for record, event in zip(run_records, events_of(run_records), strict=True):
            yield event, step_of(record, event) if isinstance(event, StepRecorded) else None


def _align(was: list[Step], now: list[Step]) -> Iterator[Pair]:
    matcher = SequenceMatcher(None, [_name(step) for step in was], [_name(step) for step in now], autojunk=False)
    for _, from_was, to_was, from_now, to_now in matcher.get_opcodes():
        left, right = was[from_was:to_was], now[from_now:to_now]
        for at in range(max(len(left), len(right))):
            yield Pair(left[at] if at < len(left) else None, right[at] if at < len(right) else None)


def _name(step: Step) -> tuple[str, str]:
    return step.what, step.name


def _comparable_output(step: Step) -> JsonValue:
    """Return the output of a step; of a model's answer only text, calls and finish."""
    output = step.output
    if step.what != "model" or not isinstance(output, dict):
        return output
    calls = output.get("calls")
    called: list[JsonValue] = (
        [{**call, "id": None} for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    )
    return {"text": output.get("text"), "finish": output.get("finish"), "calls": called}
