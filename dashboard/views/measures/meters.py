"""The activity of agents in the last minute, in one line of a row: a braille meter, or a lane if there is room.

Samples are aligned to the clock, and meters are redrawn twice a second, so that they shift by whole samples and never
flicker.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from dashboard.views.drawing.lines import Span, join_spans
from dashboard.views.drawing.plots import bar, spark
from dashboard.views.measures.activity import SLOT_MS, SLOTS, Activity
from dashboard.views.measures.attempts import Lane
from dashboard.views.words.glyphs import ACTIVITY, MARK_PRECEDENCE, MARK_TONES
from engine.core.queries.team.tree import agents_of
from engine.core.state import State

SPAN_MS = 60_000
"""Period of a meter."""
TICK_MS = 500
"""Interval of redraws."""
MEMBERS_PER_TICK = 10
"""A team with so many members is measured in every second tick, with twice as many in every third one."""
METER = 10
"""Cells of a meter; each has two samples."""
_BRIGHT_CELLS = 3
"""Cells at the right end that are brighter."""
_BASE = spark([0.0, 0.0], 1, full_value=1.0)


class Samples(NamedTuple):
    """Shares from 0 to 1, the oldest first."""

    busy: Sequence[float] = ()
    waited: Sequence[float] = ()
    """Share of the time for which an attempt was parked."""


class Meters:
    """The samples of a team, cached between redraws; call `update` first in each redraw."""

    def __init__(self) -> None:
        self._activity: Activity | None = None
        self._state = State()
        self._now_ms = 0
        self._samples, self._each = 2 * METER, SPAN_MS // (2 * METER) // SLOT_MS
        self._tick = -1
        self._history: dict[str, tuple[int, int, Samples]] = {}
        """By id: the tick and the number of the last sample, and the samples."""
        self._marks: dict[str, list[tuple[int, str]]] = {}
        self._spans: dict[str, tuple[Span, ...]] = {}
        """By id: the spans of this tick's samples."""

    def update(self, activity: Activity, state: State, now_ms: int, *, lane: int = 0, anew: bool = False) -> None:
        """Begin a redraw.

        Args:
            now_ms: End of the meters.
            lane: Cells of a lane; 0 draws meters.
            anew: Drop the cache, as in the past, where any moment may follow.
        """
        samples = lane or 2 * METER
        if anew or activity is not self._activity or samples != self._samples or now_ms < self._now_ms:
            self._history, self._tick = {}, -1
        self._activity, self._state, self._now_ms = activity, state, now_ms
        self._samples, self._each = samples, SPAN_MS // samples // SLOT_MS
        if now_ms // TICK_MS != self._tick:
            self._tick, self._spans = now_ms // TICK_MS, {}
            if len(self._history) > len(state.agents) + len(state.supervisors):
                members = state.agents.keys() | state.supervisors.keys()
                self._history = {key: entry for key, entry in self._history.items() if key in members}
            self._marks = _marks_of(activity, state, now_ms - SPAN_MS)

    def spans_of(self, member_id: str, *, silent_since_ms: int | None = None) -> tuple[Span, ...]:
        """Return the meter or the lane of an agent, or of all agents of a supervisor together.

        Args:
            silent_since_ms: From when on an agent at work has been silent; None if it is not.
        """
        spans = self._spans.get(member_id)
        if spans is None:
            samples, marks, asked = self.samples(member_id), self._marks_at(member_id), self._asked(member_id)
            spans = (
                lane_spans(samples, marks, asked) if self._samples != 2 * METER else meter_spans(samples, marks, asked)
            )
            if silent_since_ms is not None:
                spans = self._silence(spans, silent_since_ms)
            self._spans[member_id] = spans
        return spans

    def _silence(self, spans: tuple[Span, ...], since_ms: int) -> tuple[Span, ...]:
        """Return a meter whose work since a moment is drawn as silence."""
        cells = [(char, span.tone) for span in spans for char in span.text]
        length_ms = SPAN_MS // len(cells)
        first = len(cells) - 1 - (self._now_ms // length_ms - since_ms // length_ms)
        silent = ACTIVITY["silent"]
        return join_spans(
            (silent.glyph, silent.tone) if place >= first and tone.startswith("busy") else (char, tone)
            for place, (char, tone) in enumerate(cells)
        )

    def samples(self, member_id: str) -> Samples:
        """Return the samples of an agent, or of all agents of a supervisor together."""
        previous = self._history.get(member_id)
        if previous is not None and previous[0] == self._tick:
            return previous[2]
        if previous is not None and not self._is_due(member_id):
            return previous[2]
        last = self._now_ms // SLOT_MS // self._each
        samples = (
            self._mean(member_id)
            if member_id in self._state.supervisors
            else self._take_samples(member_id, last, previous)
        )
        self._history[member_id] = (self._tick, last, samples)
        return samples

    def _is_due(self, member_id: str) -> bool:
        """Return whether a member is measured in this tick: large teams in turn, because they take long."""
        supervisor = self._state.supervisors.get(member_id)
        every = 1 + len(supervisor.members) // MEMBERS_PER_TICK if supervisor is not None else 1
        return (self._tick + sum(map(ord, member_id))) % every == 0

    def _take_samples(self, agent_id: str, last: int, previous: tuple[int, int, Samples] | None) -> Samples:
        """Take the samples that are new, or were incomplete, since the last redraw; reuse the others."""
        assert self._activity is not None
        lane = self._activity.lane(agent_id)
        shift = last - previous[1] if previous is not None else self._samples
        new = min(self._samples, shift + 2)  # the last but one may have changed by late events
        if previous is None or new == self._samples:
            return self._shares(lane, self._samples, 1)
        fresh, old = self._shares(lane, new, 1), previous[2]
        first, end = shift, self._samples + shift - new
        return Samples([*old.busy[first:end], *fresh.busy], [*old.waited[first:end], *fresh.waited])

    def _shares(self, lane: Lane, samples: int, slots: int) -> Samples:
        whole = self._each * SLOT_MS * max(1, slots)
        assert self._activity is not None
        busy, waited = (
            [
                min(1.0, sum_ms / whole)
                for sum_ms in counts.sums(self._now_ms, samples, self._each, until=self._activity.until_ms)
            ]
            for counts in (lane.busy, lane.waited)
        )
        return Samples(busy, waited)

    def _mean(self, supervisor_id: str) -> Samples:
        assert self._activity is not None
        if len(self._state.roots) == 1 and self._state.supervisors[supervisor_id].parent_id is None:
            return _without_leads(self._shares(self._activity.attempts.team, self._samples, len(self._state.agents)))
        each = [self.samples(agent.id) for agent in agents_of(self._state, supervisor_id)]
        if not each:
            return Samples([0.0] * self._samples, [0.0] * self._samples)
        return _without_leads(
            Samples(
                [sum(column) / len(each) for column in zip(*(samples.busy for samples in each), strict=True)],
                [sum(column) / len(each) for column in zip(*(samples.waited for samples in each), strict=True)],
            )
        )

    def _asked(self, member_id: str) -> Set[int]:
        """Return the samples in which an agent, or one of a supervisor, waited for a person."""
        assert self._activity is not None
        asked_by_member = self._activity.attempts.asked
        if not asked_by_member:
            return frozenset()
        member_ids = {member_id}
        if member_id in self._state.supervisors:
            member_ids.update(agent.id for agent in agents_of(self._state, member_id))
            member_ids.update(run.id for run in self._state.runs.values() if run.supervisor_id == member_id)
        places: set[int] = set()
        for asked_id in member_ids & asked_by_member.keys():
            sums = asked_by_member[asked_id].sums(self._now_ms, self._samples, self._each)
            places.update(place for place, asked_ms in enumerate(sums) if asked_ms)
        return places

    def _marks_at(self, member_id: str) -> Mapping[int, str]:
        """Return the marks of a row by the index of their cell."""
        per_cell = 1 if self._samples != 2 * METER else 2
        cells = self._samples // per_cell
        length = self._each * SLOT_MS * per_cell
        last = self._now_ms // length
        glyphs: dict[int, str] = {}
        for at_ms, glyph in self._marks.get(member_id, ()):
            place = cells - 1 - (last - at_ms // length)
            if 0 <= place < cells:
                glyphs[place] = min(glyph, glyphs.get(place, glyph), key=MARK_PRECEDENCE.index)
        return glyphs


def _without_leads(samples: Samples) -> Samples:
    """Return the samples of a team; waiting counts only while no agent works, because leads wait for the others."""
    return samples._replace(waited=[0.0 if busy else waited for busy, waited in zip(*samples, strict=True)])


def _marks_of(activity: Activity, state: State, since_ms: int) -> dict[str, list[tuple[int, str]]]:
    """Return the marks since a moment, by the member in whose row they belong."""
    marks: dict[str, list[tuple[int, str]]] = {}
    for mark in reversed(activity.marks):
        if mark.at_ms < since_ms:
            break
        task = state.tasks.get(mark.subject)
        subject = (task.agent_id or task.worker_id or "") if task is not None else mark.subject
        marks.setdefault(subject, []).append((mark.at_ms, mark.glyph))
    return marks


def meter_spans(samples: Samples, marks: Mapping[int, str], asked: Set[int] = frozenset()) -> tuple[Span, ...]:
    """Return two samples per cell in braille; recent work is brighter, waiting is a line in the middle.

    Args:
        asked: Samples in which a person was asked.
    """
    cells = len(samples.busy) // 2
    dots = spark(samples.busy, cells, full_value=1.0)
    return join_spans(_meter_cell(place, cells, dots[place], samples, marks, asked) for place in range(cells))


def _meter_cell(
    place: int, cells: int, dots: str, samples: Samples, marks: Mapping[int, str], asked: Set[int]
) -> tuple[str, str]:
    if place in marks:
        return marks[place], MARK_TONES[marks[place]]
    pair = slice(2 * place, 2 * place + 2)
    busy, waited = sum(samples.busy[pair]), sum(samples.waited[pair])
    if busy and not (waited > busy and dots == _BASE):  # too little work is not visible beside the waiting
        return dots, "busy" if place >= cells - _BRIGHT_CELLS else "busy-before"
    if not asked.isdisjoint((2 * place, 2 * place + 1)):
        return "⠶", "attention"
    return ("⠒", "waiting") if waited else (dots, "line")


def lane_spans(samples: Samples, marks: Mapping[int, str], asked: Set[int] = frozenset()) -> tuple[Span, ...]:
    """Return one sample per cell in blocks; `┅` is a wait for a person, `╌` another, `·` marks quarters of a minute."""
    cells = len(samples.busy)
    return join_spans(_lane_cell(place, cells, samples, marks, asked) for place in range(cells))


def _lane_cell(place: int, cells: int, samples: Samples, marks: Mapping[int, str], asked: Set[int]) -> tuple[str, str]:
    if place in marks:
        return marks[place], MARK_TONES[marks[place]]
    if samples.busy[place] > 0:
        return bar(samples.busy[place], max_level=7), "busy" if place >= cells - _BRIGHT_CELLS else "busy-before"
    if place in asked:
        return "┅", "attention"
    if samples.waited[place] > 0:
        return "╌", "waiting"
    return "·" if place * 4 % cells < 4 else " ", "line"


def lane_heading(cells: int) -> str:
    """Return the heading of lanes: the ages of their start, middle and end."""
    half = cells // 2
    return f"{'−60 s':<{half - 2}}{'−30 s':<{cells - half - 1}}now"


assert SPAN_MS // SLOT_MS <= SLOTS
