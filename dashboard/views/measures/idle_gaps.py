"""Gaps between the events of a history: which are idle, and so folded, and to how many columns.

The timeline and the time bar fold by the same rule: nothing for more than `GAP_MS` was at work or waited for anybody.
The time bar, which cannot be zoomed, also shortens waits for a person without an event, and draws them as waits.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from engine.core.events import ATTEMPT_ENDS
from store.journals.records import EventSpan

FOLD = "╱"
"""A cell of folded time."""
GAP_MS = 12_000
"""Minimum time that is folded, in which nothing was at work or waited for anybody, or without an engine."""
MAX_FOLD_COLUMNS, MIN_FOLD_COLUMNS = 9, 1
"""Columns of a folded gap."""
_CHANGES: dict[str, tuple[int, int, int]] = {
    "run_submitted": (1, 0, 0),
    "run_finished": (-1, 0, 0),
    **dict.fromkeys(("attempt_started", "retry_scheduled"), (0, 1, 0)),
    **dict.fromkeys((*(end.type for end in ATTEMPT_ENDS), "retry_due"), (0, -1, 0)),
    "escalated": (0, 0, 1),
    **dict.fromkeys(("escalation_answered", "question_withdrawn"), (0, 0, -1)),
}
"""By kind of event: how many more runs, attempts or retries, and questions are open after it."""


class QuietGap(NamedTuple):
    """Time without an event, in which nothing was at work, or a person was asked."""

    begin_ms: int
    """The last event before it, in UTC milliseconds."""
    end_ms: int
    """The first event after it."""
    is_idle: bool
    """Whether nobody was asked."""

    @property
    def duration_ms(self) -> int:
        """How long it lasted."""
        return self.end_ms - self.begin_ms


def quiet_gaps(spans: Iterable[EventSpan]) -> Iterator[QuietGap]:
    """Yield the quiet gaps of more than `GAP_MS` between summaries of a journal, the oldest first."""
    runs = work = questions = 0
    for span, later in pairwise(spans):
        for kind, count in span.counts.items():
            if kind in _CHANGES:
                more_runs, more_work, more_questions = _CHANGES[kind]
                runs, work = runs + count * more_runs, work + count * more_work
                questions += count * more_questions
        if later.first_ms - span.last_ms > GAP_MS:
            is_idle = runs <= 0 or not (work > 0 or questions > 0) or "engine_started" in later.counts
            if is_idle or questions > 0:
                yield QuietGap(span.last_ms, later.first_ms, is_idle)


def longest_gaps(durations_ms: Sequence[int], width: int) -> list[int]:
    """Return the places of the gaps that are folded in a picture of `width` columns, in order."""
    return sorted(sorted(range(len(durations_ms)), key=lambda place: -durations_ms[place])[: max(1, width // 8)])


def fold_columns(folds: int, width: int) -> int:
    """Return how many columns each of several folds takes; 0 without folds."""
    return min(MAX_FOLD_COLUMNS, max(MIN_FOLD_COLUMNS, width // 3 // folds)) if folds else 0
