"""How test files are handed to workers: those that take long first, and a test that ends its worker runs once."""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """A file to a worker, where a test that hung or crashed is not handed out again with the rest of its file.

    xdist would hand it to the next worker, and so on until no worker is left: ten minutes for each.
    """

    def remove_node(self, node: WorkerController) -> str | None:
        """Take a worker off, hand what it had not done to the others, and return the test that it did not end."""
        workload: dict[str, dict[str, bool]] = self.assigned_work.pop(node)
        undone = [(scope, test) for scope, unit in workload.items() for test, done in unit.items() if not done]
        if not undone:
            return None
        scope, crashed = undone[0]
        workload[scope][crashed] = True
        self.workqueue.update({scope: unit for scope, unit in workload.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed


LONG_FIRST = ("simulation", "chaos", "web", "snapshot", "pilot", "runtime", "meaning", "contract")
"""Kinds of tests, by what a file of them takes; the others take less."""


def by_file(config: Any, log: Any) -> ByFile | None:
    """Return the scheduler for `--dist loadfile`, and leave others to xdist."""
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # by the number of tests: a file of two that take a minute each came last
    return ByFile(config, log)


def long_ones_first(items: list[pytest.Item]) -> None:
    """Sort tests by their kind; within one, the order stays."""
    rank = {kind: place for place, kind in enumerate(LONG_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.parent.name, len(rank)))
