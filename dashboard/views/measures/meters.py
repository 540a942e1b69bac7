"""What agents were at in the last minute, as one line of a row: a braille meter, or a lane where there is room.

Samples lie on the clock and are taken twice a second, so that a meter shifts by whole samples and never shimmers.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import Span, joined
from dashboard.views.drawing.plots import bar, spark
from dashboard.views.measures.activity import SLOT_MS, SLOTS, Activity, Track
from engine.core.queries.team.tree import agents_of
from engine.core.state import State

SPAN_MS = 60_000
"""How far back a meter reaches."""
TICK_MS = 500
"""A meter is drawn anew this often."""
METER = 10
"""Cells of a meter; each has two samples."""
_NEWEST = 3
"""Cells at the right end that are brighter."""
_BASE = spark([0.0, 0.0], 1, most=1.0)
_TONES = {"◆": "accent", "◇": "accent", "‖": "paused", "✕": "error", "⚑": "attention"}
_RANKS = "✕⚑◆◇‖"
"""Which mark stands in a cell that has several, the first before the others."""


class Samples(NamedTuple):
    """Shares from 0 to 1, the oldest first."""

    busy: Sequence[float] = ()
    waited: Sequence[float] = ()
    """Time in which an attempt waited for what it delegated, or for a person."""


class Meters:
    """The samples of a team, kept from one look to the next; `look` first, then ask."""

    def __init__(self) -> None:
        self._activity: Activity | None = None
        self._state = State()
        self._now_ms = 0
        self._samples, self._each = 2 * METER, SPAN_MS // (2 * METER) // SLOT_MS
        self._tick = -1
        self._kept: dict[str, tuple[int, int, Samples]] = {}
        """By id: the tick and the number of the last sample, and the samples."""
        self._marks: dict[str, list[tuple[int, str]]] = {}
        self._drawn: dict[str, tuple[Span, ...]] = {}
        """By id: what was drawn of this tick's samples."""

    def look(self, activity: Activity, state: State, now_ms: int, *, lane: int = 0, anew: bool = False) -> None:
        """Look at a team.

        Args:
            now_ms: Where the meters end.
            lane: Cells of a lane; 0 draws meters.
            anew: Keep nothing of the look before, as in the past, where any moment may follow.
        """
        samples = lane or 2 * METER
        if anew or activity is not self._activity or samples != self._samples or now_ms < self._now_ms:
            self._kept, self._tick = {}, -1
        self._activity, self._state, self._now_ms = activity, state, now_ms
        self._samples, self._each = samples, SPAN_MS // samples // SLOT_MS
        if now_ms // TICK_MS != self._tick:
            self._tick, self._drawn = now_ms // TICK_MS, {}
            if len(self._kept) > len(state.agents) + len(state.supervisors):
                members = state.agents.keys() | state.supervisors.keys()
                self._kept = {key: kept for key, kept in self._kept.items() if key in members}
            self._marks = _marks_of(activity, state, now_ms - SPAN_MS)

    def of(self, member_id: str) -> tuple[Span, ...]:
        """Return the meter or the lane of an agent, or of all agents of a supervisor together."""
        drawn = self._drawn.get(member_id)
        if drawn is None:
            samples, marks = self.samples(member_id), self._marks_at(member_id)
            drawn = lane_spans(samples, marks) if self._samples != 2 * METER else meter_spans(samples, marks)
            self._drawn[member_id] = drawn
        return drawn

    def samples(self, member_id: str) -> Samples:
        """Return the samples of an agent, or of all agents of a supervisor together."""
        kept = self._kept.get(member_id)
        if kept is not None and kept[0] == self._tick:
            return kept[2]
        last = self._now_ms // SLOT_MS // self._each
        samples = self._mean(member_id) if member_id in self._state.supervisors else self._taken(member_id, last, kept)
        self._kept[member_id] = (self._tick, last, samples)
        return samples

    def _taken(self, agent_id: str, last: int, kept: tuple[int, int, Samples] | None) -> Samples:
        """Take the samples that are not over, or were not there, at the last look; the others stay."""
        assert self._activity is not None
        track = self._activity.track(agent_id)
        shift = last - kept[1] if kept is not None else self._samples
        new = min(self._samples, shift + 2)  # the one before the last may still get what came late
        if kept is None or new == self._samples:
            return self._shares(track, self._samples, 1)
        fresh, old = self._shares(track, new, 1), kept[2]
        first, end = shift, self._samples + shift - new
        return Samples([*old.busy[first:end], *fresh.busy], [*old.waited[first:end], *fresh.waited])

    def _shares(self, track: Track, samples: int, slots: int) -> Samples:
        whole = self._each * SLOT_MS * max(1, slots)
        assert self._activity is not None
        work = track.work(self._now_ms, samples, self._each, until_ms=self._activity.until_ms)
        return Samples(*([min(1.0, one / whole) for one in found] for found in work))

    def _mean(self, supervisor_id: str) -> Samples:
        assert self._activity is not None
        if len(self._state.roots) == 1 and self._state.supervisors[supervisor_id].parent_id is None:
            return _without_leads(self._shares(self._activity.team, self._samples, len(self._state.agents)))
        each = [self.samples(agent.id) for agent in agents_of(self._state, supervisor_id)]
        if not each:
            return Samples([0.0] * self._samples, [0.0] * self._samples)
        return _without_leads(
            Samples(
                [sum(column) / len(each) for column in zip(*(one.busy for one in each), strict=True)],
                [sum(column) / len(each) for column in zip(*(one.waited for one in each), strict=True)],
            )
        )

    def _marks_at(self, member_id: str) -> Mapping[int, str]:
        """Return the marks of a row by the place of their cell."""
        per_cell = 1 if self._samples != 2 * METER else 2
        cells = self._samples // per_cell
        length = self._each * SLOT_MS * per_cell
        last = self._now_ms // length
        found: dict[int, str] = {}
        for at_ms, glyph in self._marks.get(member_id, ()):
            place = cells - 1 - (last - at_ms // length)
            if 0 <= place < cells and (place not in found or _RANKS.index(glyph) < _RANKS.index(found[place])):
                found[place] = glyph
        return found


def _without_leads(samples: Samples) -> Samples:
    """Return the samples of a team: waiting counts only while no agent works, because leads wait for the others."""
    return samples._replace(waited=[0.0 if busy else one for busy, one in zip(*samples, strict=True)])


def _marks_of(activity: Activity, state: State, since_ms: int) -> dict[str, list[tuple[int, str]]]:
    """Return the marks since a moment by the agent or the supervisor in whose row they stand."""
    found: dict[str, list[tuple[int, str]]] = {}
    for mark in reversed(activity.marks):
        if mark.at_ms < since_ms:
            break
        task = state.tasks.get(mark.subject)
        subject = (task.agent_id or task.worker_id or "") if task is not None else mark.subject
        found.setdefault(subject, []).append((mark.at_ms, mark.glyph))
    return found


def meter_spans(samples: Samples, marks: Mapping[int, str]) -> tuple[Span, ...]:
    """Return two samples a cell in braille; work is brighter at the newer end, waiting a line in the middle."""
    cells = len(samples.busy) // 2
    drawn = spark(samples.busy, cells, most=1.0)
    return joined(_meter_cell(place, cells, drawn[place], samples, marks) for place in range(cells))


def _meter_cell(place: int, cells: int, drawn: str, samples: Samples, marks: Mapping[int, str]) -> tuple[str, str]:
    if place in marks:
        return marks[place], _TONES[marks[place]]
    pair = slice(2 * place, 2 * place + 2)
    busy, waited = sum(samples.busy[pair]), sum(samples.waited[pair])
    if busy and not (waited > busy and drawn == _BASE):  # else too little to be seen beside what waits
        return drawn, "busy" if place >= cells - _NEWEST else "busy-before"
    return ("⠒", "waiting") if waited else (drawn, "line")


def lane_spans(samples: Samples, marks: Mapping[int, str]) -> tuple[Span, ...]:
    """Return one sample a cell in blocks, seven eighths high at most; `╌` waits, `·` marks each quarter of a minute."""
    cells = len(samples.busy)
    return joined(_lane_cell(place, cells, samples, marks) for place in range(cells))


def _lane_cell(place: int, cells: int, samples: Samples, marks: Mapping[int, str]) -> tuple[str, str]:
    if place in marks:
        return marks[place], _TONES[marks[place]]
    if samples.busy[place] > 0:
        return bar(samples.busy[place], most=7), "busy" if place >= cells - _NEWEST else "busy-before"
    if samples.waited[place] > 0:
        return "╌", "waiting"
    return "·" if place * 4 % cells < 4 else " ", "line"


def lane_heading(cells: int) -> str:
    """Return what stands above lanes: how long ago their beginning, their middle and their end are."""
    half = cells // 2
    return f"{'−60 s':<{half - 2}}{'−30 s':<{cells - half - 1}}now"


assert SPAN_MS // SLOT_MS <= SLOTS
