"""Runs by their labels, for `/metrics`: few values, and numbers that never fall.

Rule: how a run is labelled is decided once, when it is seen first, so a value that was `other` stays `other`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from engine.core.events import RunFinished
from engine.core.queries.work.labels import metric_labels_of
from engine.core.records.records import copy_with
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import Run, State

MAX_VALUES = 50
"""Values of one key; those that come later are `other`."""
MAX_COMBINATIONS = 1_000
"""Combinations of values of several keys; in those that come later every value is `other`."""
OTHER = "other"
Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Labels of a sample: keys with their values."""


class LabelledRuns:
    """The labels of open runs, and what runs came to and used since counting began."""

    def __init__(self, state: State) -> None:
        self.ends: Counter[tuple[str, str, Labels]] = Counter()
        """Runs that ended, by supervisor, status and labels."""
        self._values: dict[str, set[str]] = {}
        self._combinations: set[Labels] = set()
        self._labels: dict[str, Labels] = {}
        """By id of an open run."""
        self._used_before: dict[str, Usage] = {}
        """What open runs had used when they were seen first."""
        self._used: dict[Labels, Usage] = {}
        """What ended runs used."""
        self.add(state, state.runs.values())

    def add(self, state: State, runs: Iterable[Run]) -> None:
        """Count new runs from now on."""
        for run in runs:
            if run.id not in self._labels:
                self._labels[run.id] = self._bounded(metric_labels_of(state, run))
                self._used_before[run.id] = copy_with(run.usage)

    def labels_of(self, run_id: str) -> Labels:
        """Return the labels of an open run in samples."""
        return self._labels.get(run_id, ())

    def end(self, event: RunFinished) -> None:
        """Count the end of a run."""
        labels, before = self._labels.pop(event.run_id, ()), self._used_before.pop(event.run_id, NO_USAGE)
        self.ends[event.figures.supervisor_id, event.status.value, labels] += 1
        if labels:
            self._used[labels] = self._used.get(labels, NO_USAGE).plus(_minus(event.figures.usage, before))

    def used(self, state: State) -> dict[Labels, Usage]:
        """Return what runs with labels have used, open ones too."""
        total = dict(self._used)
        for run_id, labels in self._labels.items():
            if labels and run_id in state.runs:
                spent = _minus(state.runs[run_id].usage, self._used_before[run_id])
                total[labels] = total.get(labels, NO_USAGE).plus(spent)
        return total

    def _bounded(self, labels: dict[str, str]) -> Labels:
        bounded = tuple((key, self._bounded_value(key, value)) for key, value in labels.items())
        if len(self._combinations) < MAX_COMBINATIONS:
            self._combinations.add(bounded)
        return bounded if bounded in self._combinations else tuple((key, OTHER) for key in labels)

    def _bounded_value(self, key: str, value: str) -> str:
        values = self._values.setdefault(key, set())
        if len(values) < MAX_VALUES:
            values.add(value)
        return value if value in values else OTHER


def _minus(usage: Usage, before: Usage) -> Usage:
    """Return what was added to a usage; an unknown amount stays unknown."""
    names = ("tokens_in", "tokens_out", "tokens_cached", "cost_usd")
    added: Any = {name: amount - (getattr(before, name) or 0) for name in names if (amount := getattr(usage, name))}
    return Usage(**added)
