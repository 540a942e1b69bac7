"""The newest events as lines that stay readable at any rate.

Above `CALM` events per second, routine events of an agent within a second are joined into one line, and starts are left
out. Failures, swaps and questions always have a line of their own, with the actor in bold.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import engine.core.events as on
from dashboard.views.drawing.lines import BLANK, Line, Span, cut, cut_path, join_columns, spread
from dashboard.views.event_log import Entry
from dashboard.views.facts.steps import EMPTY_INPUTS
from dashboard.views.routine_events import BOOKKEEPING
from dashboard.views.words.amounts import clock, duration, pluralize
from dashboard.views.words.glyphs import event_glyph
from dashboard.views.words.names import Names, without_title
from dashboard.views.words.sentences import sentence
from engine.core.records.values import preview

CALM = 15.0
"""Events per second above which routine ones are joined."""
KIND_MIN_WIDTH = 120
"""Minimum cells to show the seq and the kind of an event."""
_MAX_CACHED = 4_000
_MAX_SCANNED = 2_000
"""Maximum events that are scanned."""
_ROUTINE = (on.AttemptStarted, on.AttemptDone, on.StepRecorded, on.Delegated, on.GroupPlanned)
"""Events that are joined or left out at a high rate."""
_PLAIN = {"": "muted", "accent": "", "strong": ""}
"""Tones of sentences after a glyph, which has the colour already."""
_QUIET = {"", "muted", "done"}
"""Tones of routine sentences."""


class TailLine(NamedTuple):
    """One line of the tail before it is fitted into a width."""

    seq: int
    at_ms: int
    glyph: str
    glyph_tone: str
    actor: str
    text: str
    tone: str
    took_ms: float | None
    kind: str
    bold: bool = False
    more: int = 0
    """Number of other events joined into it."""


class ScreenTail:
    """The tail of one screen; caches lines, because outputs may be long."""

    def __init__(self) -> None:
        self._lines_by_seq: dict[int, TailLine] = {}
        self._names_key: object = None
        """Version of the names for the cached lines."""

    def lines(
        self, entries: Iterable[Entry], names: Names, width: int, height: int, *, events_per_s: float
    ) -> list[Line]:
        """Return the newest events, the newest at the bottom.

        Args:
            entries: The newest first.
            height: In lines; unused lines are blank, at the bottom.
            events_per_s: The current rate.
        """
        if self._names_key != (called := (names, names.renames)):
            self._names_key, self._lines_by_seq = called, {}
        return draw_tail(
            newest_lines(entries, names, height, joins=events_per_s > CALM, cache=self._lines_by_seq), width, height
        )


def draw_tail(tail_lines: Sequence[TailLine], width: int, height: int) -> list[Line]:
    """Draw lines, the first one at the top, padded to `height`."""
    actor_width = max((len(tail_line.actor) for tail_line in tail_lines), default=0)
    lines = [
        _draw_line(tail_line, width, max(8, min(actor_width, max(20, width // 6), width // 4)))
        for tail_line in tail_lines
    ]
    return [*lines, *[BLANK] * (height - len(lines))]


def tail_title(events_per_s: float) -> str:
    """Return the text at the end of the hairline above the tail."""
    rate = f"{events_per_s:,.0f} a second"
    return f"{rate}, routine ones joined" if events_per_s > CALM else rate


def newest_lines(
    entries: Iterable[Entry], names: Names, max_lines: int, *, joins: bool, cache: dict[int, TailLine] | None = None
) -> list[TailLine]:
    """Return the lines of the newest events, the newest last; `cache` has lines by seq."""
    cache = {} if cache is None else cache
    if len(cache) > _MAX_CACHED:
        cache.clear()
    lines: list[TailLine] = []
    more: list[int] = []
    places: dict[tuple[str, int, str], int] = {}
    oldest_s = 0
    for scanned, entry in enumerate(entries):
        if scanned >= _MAX_SCANNED or (len(lines) >= max_lines and not joins):
            break
        event = entry.event
        if entry.kind in BOOKKEEPING or (joins and isinstance(event, on.AttemptStarted)):
            continue
        if not joins or not isinstance(event, _ROUTINE):
            if len(lines) < max_lines:
                lines.append(_cached_line(entry, names, cache))
                more.append(0)
            continue
        second = entry.at_ms // 1000
        key = (getattr(event, "agent_id", None) or "", second, entry.kind)
        if key in places:
            more[places[key]] += 1
        elif len(lines) < max_lines:
            oldest_s = min(second, oldest_s) if places else second
            places[key] = len(lines)
            lines.append(_cached_line(entry, names, cache))
            more.append(0)
        elif second < oldest_s or not places:
            break  # older events belong to no visible line
    return [_join_count(tail_line, others) for tail_line, others in zip(reversed(lines), reversed(more), strict=True)]


def _cached_line(entry: Entry, names: Names, cache: dict[int, TailLine]) -> TailLine:
    if entry.seq not in cache:
        cache[entry.seq] = to_tail_line(entry, names)
    return cache[entry.seq]


def _join_count(tail_line: TailLine, more: int) -> TailLine:
    if not more:
        return tail_line
    verb, _, rest = tail_line.text.partition(" ")
    return tail_line._replace(text=f"{verb} {more + 1}, last: {rest}", tone="muted", more=more)


def to_tail_line(entry: Entry, names: Names) -> TailLine:
    """Return the line of an event."""
    event = entry.event
    glyph, glyph_tone = event_glyph(entry.kind, event)
    agent_id = getattr(event, "agent_id", None)
    supervisor_id = getattr(event, "supervisor_id", None)
    actor = (agent_id is None and getattr(event, "sender", None)) or names.of(agent_id or supervisor_id)
    short = _SHORT.get(type(event))
    took_ms = getattr(event, "duration_ms", None)
    if short is not None:
        text, tone = short(event, names)
        bold = tone == "error"
    else:
        event_sentence = sentence(event, names)
        if isinstance(event, on.EngineStarted):  # its sentence starts with the process
            actor = f"engine {event.pid}"
        text = event_sentence.text.removeprefix(f"{actor}: ").removeprefix(f"{actor} ").removeprefix("was ")
        tone = event_sentence.tone
        bold = tone not in _QUIET
    return TailLine(entry.seq, entry.at_ms, glyph, glyph_tone, actor, text, tone, took_ms, entry.kind, bold)


def _describe_done(event: on.AttemptDone, names: Names) -> tuple[str, str]:
    return f"finished {names.work(event)}", ""


def _describe_failure(event: on.AttemptFailed, names: Names) -> tuple[str, str]:
    work = names.work(event)
    return f"failed {work}: {preview(without_title(event.error, work), 200)}", "error"


def _describe_start(event: on.AttemptStarted, names: Names) -> tuple[str, str]:
    return f"took {names.work(event)}", "muted"


def _describe_delegation(event: on.Delegated, names: Names) -> tuple[str, str]:
    first = event.children[0].title if event.children else "nothing"
    more = f", and {pluralize(len(event.children) - 1, 'other task')}" if len(event.children) > 1 else ""
    return f"delegated {preview(first, 80)}{more}", "muted"


def _describe_step(event: on.StepRecorded, names: Names) -> tuple[str, str]:
    name = event.name.removeprefix("tool:")
    if event.what == "model":
        answer = event.output.get("text") if isinstance(event.output, dict) else None
        return f"said {preview(str(answer), 200)}" if answer else "called a model", "muted"
    arguments = "" if event.input in EMPTY_INPUTS else one_line(event.input, 80)
    return f"{name}({arguments}) → {one_line(event.output, 120)}", "muted"


_SHORT: dict[type, Callable[[Any, Names], tuple[str, str]]] = {
    on.AttemptDone: _describe_done,
    on.AttemptFailed: _describe_failure,
    on.AttemptStarted: _describe_start,
    on.Delegated: _describe_delegation,
    on.StepRecorded: _describe_step,
}


def one_line(value: Any, max_characters: int) -> str:
    """Return a JSON value in a few words."""
    return preview(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), max_characters)


def _draw_line(tail_line: TailLine, width: int, actor_width: int) -> Line:
    wide = width >= KIND_MIN_WIDTH
    # Without a time, the text gets its room.
    took = "" if tail_line.took_ms is None else duration(tail_line.took_ms)
    fixed = 8 + 1 + actor_width + 3 + (7 + 19 + 2 if wide else 0)
    both = max(4, width - fixed)
    room = max(4, both - (max(8, len(took)) + 1 if took else 0))
    verb, _, rest = tail_line.text.partition(" ")
    path = verb == "finished" and not tail_line.more
    text = f"{verb} {cut_path(rest, max(1, room - len(verb) - 1))}" if path else tail_line.text
    parts = [
        ([Span(clock(tail_line.at_ms), "faint")], 8),
        *([([Span(f"{tail_line.seq:>7,}", "faint")], 7)] if wide else []),
        ([Span(tail_line.glyph, tail_line.glyph_tone)], 1),
        ([Span(cut(tail_line.actor, actor_width), "strong" if tail_line.bold else "muted")], actor_width),
        (
            spread(
                [Span(cut(text, room), _PLAIN.get(tail_line.tone, tail_line.tone))], [Span(took)] if took else [], both
            ).spans,
            both,
        ),
        *([([Span(tail_line.kind, "faint")], 19)] if wide else []),
    ]
    return join_columns(parts, key=f"event:{tail_line.seq}")
