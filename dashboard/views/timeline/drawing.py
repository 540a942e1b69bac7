"""A timeline as lines: an axis, a lane an agent under its supervisor, and sums over all on the same axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import BLANK, Line, Span, cut, joined, padded
from dashboard.views.drawing.plots import area, axis_top, bar
from dashboard.views.timeline.axis import FOLD, Axis, axis, slots_of, sums
from dashboard.views.timeline.lanes import Lanes
from dashboard.views.timeline.rows import Row
from dashboard.views.words.amounts import clock, duration, left, median
from engine.core.state import State

WIDE = 100
"""Columns from which BUSY and P50 stand at the right."""
_NAME_LEAST, _NAME_MOST, _NAME_SHARE = 18, 40, 6
_RIGHT = 17
_SIGN_TONES = {"◆": "accent", "◇": "accent", "✕": "error", "‖": "paused", "⚑": "attention", "▸": "accent", "✓": "done"}
_RARE = "✓▸‖◇◆✕⚑"
"""Where several signs fall into one column, the last of these is shown."""
SUM_HEIGHT = 5
RATE_MS = 250
"""Rates of columns that are shorter are those of so long up to them."""
NEWEST = 2
"""Columns at the right end that are in the colour of what happens now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is looked at."""

    state: State
    rows: Sequence[Row]
    begin: int
    end: int
    """Positions of the stretch of time that is shown."""
    cursor: int
    """Position of the cursor."""
    lane: int = 0
    """Number of the row under the cursor."""
    unfolded: bool = False
    busy_of: Mapping[str, int] = field(default_factory=dict)
    """Agents at work by supervisor."""
    shown_until: int | None = None
    """Position of the moment of the past that is shown: what came later is grey."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of tasks by id, as far as they are wanted."""


class Timeline(NamedTuple):
    """Lines, and what stands where in them."""

    lines: list[Line]
    axis: Axis
    left: int
    """Columns before those of time."""
    first: int
    """Number of the first row that is shown."""
    top: int
    """The line of that."""
    each: int
    """Lines a row."""


_EMPTY = Span(" ", "")


def timeline(lanes: Lanes, seen: Seen, *, width: int, height: int) -> Timeline:
    """Return exactly `height` lines."""
    most = min(_NAME_MOST, max(24, width // _NAME_SHARE), max(8, width // 3))
    before = min(most, max([_NAME_LEAST, *(len(row.name) + 4 for row in seen.rows)]))
    after = _RIGHT if width >= WIDE else 0
    found = axis(lanes, seen.begin, seen.end, max(4, width - before - after - 1), unfolded=seen.unfolded)
    cursor = found.column_of(seen.cursor)
    room = max(1, height - 2)
    agents = sum(not row.members for row in seen.rows)
    each = 2 if seen.titles and len(seen.rows) + agents <= room and _are_few(lanes, found) else 1
    first = max(0, min(seen.lane - room // 2, len(seen.rows) - room)) if len(seen.rows) > room else 0
    lines = [*_heading(lanes, found, before, after, width, cursor)]
    for number, row in list(enumerate(seen.rows))[first:]:
        if len(lines) >= height:
            break
        lines.append(_row(lanes, seen, row, found, before, width, cursor, selected=number == seen.lane))
        if each == 2 and not row.members and len(lines) < height:
            lines.append(_titles(lanes, seen, row, found, before, cursor))
    lines += _sums(lanes, found, before, width, height - len(lines), cursor)
    return Timeline([*lines, *[BLANK] * (height - len(lines))][:height], found, before, first, 2, each)


def _are_few(lanes: Lanes, found: Axis) -> bool:
    """Tell whether attempts are so long that titles fit below them."""
    newest = [*list(lanes.spans)[-50:], *lanes.open_attempts()][-50:]
    if not newest or not found.columns:
        return False
    return sum(one.end - one.begin for one in newest) / len(newest) > 5 * found.step


def _heading(lanes: Lanes, found: Axis, before: int, after: int, width: int, cursor: int | None) -> tuple[Line, Line]:
    times, marks = [" "] * len(found.columns), ["─"] * len(found.columns)
    tones = ["line"] * len(found.columns)
    free = 0
    every = max(12, len(found.columns) // 8)
    for x, column in enumerate(found.columns):
        if column.folded_ms:
            marks[x], tones[x] = " " if _fold_of(found, x)[1] >= 3 else FOLD, "line"
            continue
        if x >= free + 3 and x + 5 < len(times) and x % every == every // 2:
            at_ms = lanes.moment(column.begin)
            said = clock(at_ms) if every * found.step >= 1000 else f"{clock(at_ms)[3:]}.{at_ms % 1000:03}"
            times[x - 4 : x - 4 + len(said)] = said
            marks[x], free = "┬", x + 6
    for x, column in enumerate(found.columns):
        begin, many = _fold_of(found, x)
        if column.folded_ms and begin == x and many >= 3:
            said = cut(left(column.folded_ms, most=many), many).center(many)
            marks[x : x + many] = said
            tones[x : x + many] = ["muted"] * many
    if cursor is not None:
        marks[cursor], tones[cursor] = "▼", "accent"
    head = padded(" LANES", before) + "".join(times)
    right = "BUSY      P50 " if after else ""
    room = width - len(head) - len(right)
    first = Line((Span(head + " " * max(0, room) + right, "heading"),), tone="raised")
    return first, Line((Span(" " * before), *joined(zip(marks, tones, strict=True))))


def _fold_of(found: Axis, x: int) -> tuple[int, int]:
    """Return where the gap of a column begins, and how many columns it has."""
    column = found.columns[x]
    begin = x
    while begin and found.columns[begin - 1] == column:
        begin -= 1
    end = x
    while end + 1 < len(found.columns) and found.columns[end + 1] == column:
        end += 1
    return begin, end - begin + 1


def _row(
    lanes: Lanes, seen: Seen, row: Row, found: Axis, before: int, width: int, cursor: int | None, *, selected: bool
) -> Line:
    if row.members or row.depth == 0:
        cells = _line_of_supervisor(lanes, row, found)
        right, tone = f"{seen.busy_of.get(row.id, 0):,} of {len(row.members):,} ", "strong"
    else:
        cells = _line_of_agent(lanes, seen, row, found)
        agent = seen.state.agents.get(row.id)
        at_work = agent is not None and bool(agent.running or agent.parked)
        right, tone = _figures(lanes, seen, row, found), "" if at_work else "muted"
    _mark(lanes, row, found, cells)
    if seen.shown_until is not None:
        for x, column in enumerate(found.columns):
            if column.begin > seen.shown_until:
                cells[x] = Span(cells[x].text, "line")
    if cursor is not None:
        under = cells[cursor]
        cells[cursor] = Span("│", "accent") if under.text in " ─╌" else Span(under.text, "strong")
    name = " " * (2 * row.depth) + row.name
    edge = Span("▌", "accent") if selected else Span(" ")
    spans = [edge, Span(padded(name, before - 2) + " ", "strong" if selected else tone), *joined(cells)]
    if width >= WIDE:
        blank = width - before - len(cells) - len(right) - 1
        spans += [Span(" " * max(0, blank)), Span(right, "muted")]
    return Line(tuple(spans), key=row.id, tone="selected" if selected else "")


def _line_of_agent(lanes: Lanes, seen: Seen, row: Row, found: Axis) -> list[Span]:
    lane = lanes.lanes.get(row.id)
    if lane is None:
        return [Span(FOLD, "line") if column.folded_ms else _EMPTY for column in found.columns]
    agent = seen.state.agents.get(row.id)
    at_once = max(1, agent.max_concurrency if agent is not None else 1)
    busy, waited = sums(lane.busy, lanes, found), sums(lane.waited, lanes, found)
    ended, failed = sums(lane.ended, lanes, found), sums(lane.failed, lanes, found)
    out = []
    newest = len(found.columns) - NEWEST
    for x, column in enumerate(found.columns):
        if column.folded_ms:
            out.append(Span(FOLD, "line"))
        elif failed[x] and 3 * failed[x] >= failed[x] + ended[x]:
            out.append(Span("✕", "error"))
        elif busy[x] > 0:
            share = busy[x] / max(1, (column.end - column.begin) * at_once)
            out.append(Span(bar(share, most=7), "busy" if x >= newest else "busy-before"))
        elif ended[x]:
            out.append(Span("▁", "busy-before"))
        elif waited[x] > 0:
            out.append(Span("╌", "waiting"))
        else:
            out.append(_EMPTY)
    return out


def _line_of_supervisor(lanes: Lanes, row: Row, found: Axis) -> list[Span]:
    """Return a line where any agent below it is at work or waits."""
    known = [lane for member in row.members if (lane := lanes.lanes.get(member)) is not None]
    whole = len(known) == len(lanes.lanes)
    slots = slots_of(found.columns, lanes.slot_ms)
    left = [x for x, column in enumerate(found.columns) if not column.folded_ms]
    for lane in [lanes.team] if whole else known:
        for counter in (lane.busy, lane.waited, lane.ended):
            left = [x for x in left if not any(counter[slots[x][0] : slots[x][1]])]
        if not left:
            break
    idle = set(left)
    return [
        Span(FOLD, "line") if column.folded_ms else _EMPTY if x in idle else Span("─", "guide")
        for x, column in enumerate(found.columns)
    ]


def _mark(lanes: Lanes, row: Row, found: Axis, cells: list[Span]) -> None:
    for mark in lanes.marks:
        if mark.subject == row.id:
            x = found.column_of(mark.at)
            if x is not None and _RARE.find(mark.sign) >= _RARE.find(cells[x].text):
                cells[x] = Span(mark.sign, _SIGN_TONES[mark.sign])


def _figures(lanes: Lanes, seen: Seen, row: Row, found: Axis) -> str:
    lane, agent = lanes.lanes.get(row.id), seen.state.agents.get(row.id)
    time = sum(column.end - column.begin for column in found.columns)
    at_once = max(1, agent.max_concurrency if agent is not None else 1)
    share = sum(sums(lane.busy, lanes, found)) / (time * at_once) if lane is not None and time else 0.0
    p50 = duration(median(agent.at_work_ms)) if agent is not None else "gone"
    return f"{min(1.0, share):>5.0%} {p50:>10}"


def _titles(lanes: Lanes, seen: Seen, row: Row, found: Axis, before: int, cursor: int | None) -> Line:
    """Return the line below a lane: titles of its attempts, where they have room."""
    cells = [Span(FOLD, "line") if column.folded_ms else _EMPTY for column in found.columns]
    for one in (*lanes.spans, *lanes.open_attempts()):
        title = seen.titles.get(one.task_id)
        begin, end = found.column_of(max(one.begin, seen.begin)), found.column_of(min(one.end, seen.end))
        if one.agent_id == row.id and title and begin is not None and end is not None and end - begin >= 5:
            said = _by_cell(cut(title, end - begin))
            if all(cell == _EMPTY for cell in cells[max(0, begin - 1) : begin + len(said)]):
                cells[begin : begin + len(said)] = said
    if cursor is not None and cells[cursor] == _EMPTY:
        cells[cursor] = Span("│", "accent")
    return Line((Span(" " * before), *joined(cells)), key=row.id)


def _by_cell(text: str) -> list[Span]:
    """Return a text as one span a cell: after a wide character stands an empty one."""
    found: list[Span] = []
    at = 0
    for char in text:
        wide = cell_len(char)
        if not wide and found:  # a mark on the character before
            found[at] = Span(found[at].text + char, "muted")
        elif wide:
            at = len(found)
            found += [Span(char, "muted"), *[Span("", "muted")] * (wide - 1)]
    return found


def _sums(lanes: Lanes, found: Axis, before: int, width: int, room: int, cursor: int | None) -> list[Line]:
    """Return as many sums over all agents as there is room for."""
    team = lanes.team
    done, failed = sums(team.ended, lanes, found), sums(team.failed, lanes, found)
    busy = sums(team.busy, lanes, found)
    lengths = [max(1, one.end - one.begin) for one in found.columns]
    least = max(RATE_MS, lanes.slot_ms)
    plots = (
        ("done/s", _a_second(done, lengths, least), ("plot-low", "plot-mid", "plot-high")),
        ("at work", [one / each for one, each in zip(busy, lengths, strict=True)], ("busy-before",)),
        ("failed/s", _a_second(failed, lengths, least), ("error",)),
    )
    lines: list[Line] = []
    for title, values, tones in plots:
        if room - len(lines) < SUM_HEIGHT + 1:
            break
        lines += [_rule(found, before, cursor), *_plot(title, values, found, before, width, tones, cursor)]
    return lines


def _a_second(counts: Sequence[int], lengths: Sequence[int], least_ms: int) -> list[float]:
    """Return rates, each over so many milliseconds up to it at least: one end in a short column is not hundreds."""
    rates, first, added, over_ms = list[float](), 0, 0, 0
    for count, length in zip(counts, lengths, strict=True):
        added, over_ms = added + count, over_ms + length
        while over_ms - lengths[first] >= least_ms:
            added, over_ms, first = added - counts[first], over_ms - lengths[first], first + 1
        rates.append(1000 * added / max(over_ms, least_ms))
    return rates


def _rule(found: Axis, before: int, cursor: int | None) -> Line:
    cells = [Span(FOLD if column.folded_ms else "┄", "line") for column in found.columns]
    if cursor is not None:
        cells[cursor] = Span("│", "accent")
    return Line((Span(" " * before), *joined(cells)))


def _plot(
    title: str, values: Sequence[float], found: Axis, before: int, width: int, tones: Sequence[str], cursor: int | None
) -> list[Line]:
    top = axis_top(max(values, default=0.0))
    doubled = [value for value in values for _ in (0, 1)]
    lines = []
    for row, drawn in enumerate(area(doubled, len(values), SUM_HEIGHT, most=top, base=True)):
        tone = tones[min(len(tones) - 1, (SUM_HEIGHT - 1 - row) * len(tones) // SUM_HEIGHT)]
        cells = [
            Span(FOLD, "line") if column.folded_ms else Span(char, tone)
            for column, char in zip(found.columns, drawn, strict=True)
        ]
        if cursor is not None:
            there = cells[cursor].text
            cells[cursor] = Span("│", "accent") if there == " " else Span(there, "strong")
        said = f"{top:g}" if row == 0 else "0" if row == SUM_HEIGHT - 1 else ""
        label = padded(f" {title}" if row == 0 else "", max(0, before - 8)) + padded(said, 6, right=True)
        spans = [Span(label, "muted"), Span(" ┤" if said else "  ", "line"), *joined(cells)]
        if row == SUM_HEIGHT - 1 and width >= WIDE and values:
            value = values[-1 if cursor is None else cursor]
            told = f"{value:.1f} at ▼ " if value < 10 else f"{value:,.0f} at ▼ "
            spans += [Span(" " * max(0, width - before - len(cells) - len(told))), Span(told, "muted")]
        lines.append(Line(tuple(spans)))
    return lines
