"""The newest events as lines that stay readable at any rate: who, what, how long.

Above `CALM` events a second what an agent finished within a second is one line, and starts are left out. Failures,
swaps and what concerns people have always a line of their own, and only there stands who it was in bold.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import engine.core.events as on
from dashboard.views.drawing.lines import BLANK, Line, Span, columns, cut, cut_path, spread
from dashboard.views.event_log import Entry
from dashboard.views.facts.steps import NOTHING
from dashboard.views.words.amounts import clock, duration, pluralize
from dashboard.views.words.glyphs import of_event
from dashboard.views.words.names import Names, without
from dashboard.views.words.sentences import sentence
from engine.core.records.values import preview

CALM = 15.0
"""Events a second above which routine ones are joined."""
KIND_FROM = 120
"""Cells from which on the kind of an event stands at the end of its line, and its seq after its time."""
_KEPT = 4_000
_SCANNED = 2_000
"""Events that are looked through at most."""
_UNSAID = frozenset({
    "part_recorded", "pool_watched", "queue_made", "budget_timed", "need_met", "slot_wanted", "attempt_parked",
    "attempt_resumed", "call_answered", "call_rejoined", "retry_due", "item_taken", "item_returned", "plan_asked",
    "tool_started", "supervisor_added", "agent_added", "spec_registered", "group_ended",
})  # fmt: skip
"""Bookkeeping: the Events screen has it."""
_ROUTINE = (on.AttemptStarted, on.AttemptDone, on.StepRecorded, on.Delegated, on.GroupPlanned)
"""Left out or joined where much happens."""
_PLAIN = {"": "muted", "accent": "", "strong": ""}
"""Tones of sentences behind a glyph that says it already."""
_QUIET = {"", "muted", "done"}
"""Tones of sentences that are no news."""


class Told(NamedTuple):
    """One line of the tail before it is fitted into a width."""

    seq: int
    at_ms: int
    glyph: str
    glyph_tone: str
    who: str
    what: str
    tone: str
    took_ms: float | None
    kind: str
    bold: bool = False
    more: int = 0
    """How many others it stands for."""


class Tail:
    """The tail of one screen; what was said of an event is kept, because outputs may be long."""

    def __init__(self) -> None:
        self._told: dict[int, Told] = {}
        self._called: object = None
        """What members were called when that was said."""

    def lines(
        self, entries: Iterable[Entry], names: Names, width: int, height: int, *, events_per_s: float
    ) -> list[Line]:
        """Return the newest events, the newest at the bottom.

        Args:
            entries: The newest first.
            height: In lines; those that are not needed are blank ones below.
            events_per_s: How much happens.
        """
        if self._called != (called := (names, names.renames)):
            self._called, self._told = called, {}
        return tail(newest(entries, names, height, joins=events_per_s > CALM, known=self._told), width, height)


def tail(told: Sequence[Told], width: int, height: int) -> list[Line]:
    """Return lines of what is told, the first at the top."""
    who = max((len(one.who) for one in told), default=0)
    lines = [_drawn(one, width, max(8, min(who, max(20, width // 6), width // 4))) for one in told]
    return [*lines, *[BLANK] * (height - len(lines))]


def tail_title(events_per_s: float) -> str:
    """Return what stands at the end of the hairline above the tail."""
    rate = f"{events_per_s:,.0f} a second"
    return f"{rate}, routine ones joined" if events_per_s > CALM else rate


def newest(
    entries: Iterable[Entry], names: Names, most: int, *, joins: bool, known: dict[int, Told] | None = None
) -> list[Told]:
    """Return so many lines of what happened last, the newest last; `known` are those that were told before."""
    known = {} if known is None else known
    if len(known) > _KEPT:
        known.clear()
    lines: list[Told] = []
    more: list[int] = []
    places: dict[tuple[str, int, str], int] = {}
    oldest_s = 0
    for scanned, entry in enumerate(entries):
        if scanned >= _SCANNED or (len(lines) >= most and not joins):
            break
        event = entry.event
        if entry.kind in _UNSAID or (joins and isinstance(event, on.AttemptStarted)):
            continue
        if not joins or not isinstance(event, _ROUTINE):
            if len(lines) < most:
                lines.append(_known(entry, names, known))
                more.append(0)
            continue
        second = entry.at_ms // 1000
        key = (getattr(event, "agent_id", None) or "", second, entry.kind)
        if key in places:
            more[places[key]] += 1
        elif len(lines) < most:
            oldest_s = min(second, oldest_s) if places else second
            places[key] = len(lines)
            lines.append(_known(entry, names, known))
            more.append(0)
        elif second < oldest_s or not places:
            break  # nothing older belongs to a line that is shown
    return [_counted(one, others) for one, others in zip(reversed(lines), reversed(more), strict=True)]


def _known(entry: Entry, names: Names, known: dict[int, Told]) -> Told:
    if entry.seq not in known:
        known[entry.seq] = tell(entry, names)
    return known[entry.seq]


def _counted(one: Told, more: int) -> Told:
    if not more:
        return one
    verb, _, rest = one.what.partition(" ")
    return one._replace(what=f"{verb} {more + 1}, last: {rest}", tone="muted", more=more)


def tell(entry: Entry, names: Names) -> Told:
    """Return what the tail says of an event."""
    event = entry.event
    glyph, glyph_tone = of_event(entry.kind, event)
    agent_id = getattr(event, "agent_id", None)
    supervisor_id = getattr(event, "supervisor_id", None)
    who = (agent_id is None and getattr(event, "sender", None)) or names.of(agent_id or supervisor_id)
    short = _SHORT.get(type(event))
    took_ms = getattr(event, "duration_ms", None)
    if short is not None:
        what, tone = short(event, names)
        bold = tone == "error"
    else:
        said = sentence(event, names)
        if isinstance(event, on.EngineStarted):  # its sentence begins with its process
            who = f"engine {event.pid}"
        what, tone = said.text.removeprefix(f"{who}: ").removeprefix(f"{who} ").removeprefix("was "), said.tone
        bold = tone not in _QUIET
    return Told(entry.seq, entry.at_ms, glyph, glyph_tone, who, what, tone, took_ms, entry.kind, bold)


def _done(event: on.AttemptDone, names: Names) -> tuple[str, str]:
    return f"finished {names.work(event)}", ""


def _failed(event: on.AttemptFailed, names: Names) -> tuple[str, str]:
    work = names.work(event)
    return f"failed {work}: {preview(without(event.error, work), 200)}", "error"


def _started(event: on.AttemptStarted, names: Names) -> tuple[str, str]:
    return f"took {names.work(event)}", "muted"


def _delegated(event: on.Delegated, names: Names) -> tuple[str, str]:
    first = event.children[0].title if event.children else "nothing"
    more = f", and {pluralize(len(event.children) - 1, 'other task')}" if len(event.children) > 1 else ""
    return f"delegated {preview(first, 80)}{more}", "muted"


def _step(event: on.StepRecorded, names: Names) -> tuple[str, str]:
    name = event.name.removeprefix("tool:")
    if event.what == "model":
        said = event.output.get("text") if isinstance(event.output, dict) else None
        return f"said {preview(str(said), 200)}" if said else "called a model", "muted"
    given = "" if event.input in NOTHING else one_line(event.input, 80)
    return f"{name}({given}) → {one_line(event.output, 120)}", "muted"


_SHORT: dict[type, Callable[[Any, Names], tuple[str, str]]] = {
    on.AttemptDone: _done,
    on.AttemptFailed: _failed,
    on.AttemptStarted: _started,
    on.Delegated: _delegated,
    on.StepRecorded: _step,
}


def one_line(value: Any, most: int) -> str:
    """Return a JSON value in a few words."""
    return preview(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), most)


def _drawn(told: Told, width: int, who: int) -> Line:
    wide = width >= KIND_FROM
    took = "" if told.took_ms is None else duration(told.took_ms)  # an event without has that room for its words
    fixed = 8 + 1 + who + 3 + (7 + 19 + 2 if wide else 0)
    both = max(4, width - fixed)
    room = max(4, both - (max(8, len(took)) + 1 if took else 0))
    verb, _, rest = told.what.partition(" ")
    path = verb == "finished" and not told.more
    what = f"{verb} {cut_path(rest, max(1, room - len(verb) - 1))}" if path else told.what
    parts = [
        ([Span(clock(told.at_ms), "faint")], 8),
        *([([Span(f"{told.seq:>7,}", "faint")], 7)] if wide else []),
        ([Span(told.glyph, told.glyph_tone)], 1),
        ([Span(cut(told.who, who), "strong" if told.bold else "muted")], who),
        (
            spread([Span(cut(what, room), _PLAIN.get(told.tone, told.tone))], [Span(took)] if took else [], both).spans,
            both,
        ),
        *([([Span(told.kind, "faint")], 19)] if wide else []),
    ]
    return columns(parts, key=f"event:{told.seq}")
