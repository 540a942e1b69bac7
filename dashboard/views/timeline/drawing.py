"""A timeline as lines: an axis, a lane for each member, and plots of the sums on the same axis."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import BLANK, Line, Span, cut, join_spans, pad
from dashboard.views.drawing.plots import area, axis_top, bar
from dashboard.views.measures.attempts import Lane
from dashboard.views.measures.idle_gaps import FOLD
from dashboard.views.timeline.axis import Axis, column_sums, cut_axis, slots_of
from dashboard.views.timeline.lanes import Lanes
from dashboard.views.timeline.rows import LaneRow
from dashboard.views.words.amounts import clock, countdown, duration
from dashboard.views.words.glyphs import ACTIVITY, MARK_PRECEDENCE, MARK_TONES, TIME
from engine.core.queries.team.figures import median
from engine.core.state import State

FIGURES_MIN_WIDTH = 100
"""Minimum columns for BUSY and P50 at the right."""
_MIN_NAME_WIDTH, _MAX_NAME_WIDTH, _NAME_SHARE = 18, 40, 6
_FIGURES_WIDTH = 17
_NO_LANE = Lane(1, 1)
_WAITS: dict[str, Span] = {kind: Span(mark.glyph, mark.tone) for kind, mark in TIME.items()}
_SIGN_TONES = {**MARK_TONES, "✓": "done"}
SUM_HEIGHT = 5
RATE_MS = 250
"""Minimum period of a rate, in milliseconds; shorter columns use a moving window."""
BRIGHT_COLUMNS = 2
"""Columns at the right end in the colour of current work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """The visible part of a timeline, and its data."""

    state: State
    rows: Sequence[LaneRow]
    begin: int
    end: int
    """Positions of the visible period."""
    cursor: int
    """Position of the cursor."""
    lane: int = 0
    """Number of the row under the cursor."""
    unfolded: bool = False
    busy_of: Mapping[str, int] = field(default_factory=dict)
    """Agents at work by supervisor."""
    open_steps: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)
    """What agents do that the journal does not have yet: from which position on which kind of time, or `silent`."""
    shown_until: int | None = None
    """Position of the past moment that is shown; later columns are grey."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of tasks by id; empty draws no titles."""


class Timeline(NamedTuple):
    """Lines, and the geometry for the mouse."""

    lines: list[Line]
    axis: Axis
    left: int
    """Columns before the first column of time."""
    first: int
    """Number of the first visible row."""
    top: int
    """The line of the first visible row."""
    each: int
    """Lines per row."""


_EMPTY = Span(" ", "")
_LINES = f" ─{TIME['delegated'].glyph}{TIME['person'].glyph}"
"""Signs that the cursor replaces."""
ASKS_LINE = Span(TIME["person"].glyph, TIME["person"].tone)
"""Drawn while a person is asked and no attempt of the member is at work."""
WORK = {
    "model": ("⣀⣤⣶⣿", TIME["model"].tone),
    "tool": ("░▒▓", TIME["tool"].tone),
    "code": ("▁▂▃▄▅▆▇", TIME["code"].tone),
    "silent": (ACTIVITY["silent"].glyph, ACTIVITY["silent"].tone),
}
"""Glyphs of work from the smallest to the largest share of the slots, and its tone, by kind of time."""
_LEGEND = (
    *((signs, signs[-1], tone, kind) for kind, (signs, tone) in WORK.items() if kind != "silent"),
    *((mark.glyph, mark.glyph, mark.tone, mark.word) for kind, mark in TIME.items() if kind not in WORK),
    (WORK["silent"][0], *WORK["silent"], "silent"),
    ("✕", "✕", "error", "failed"),
    (FOLD, FOLD, "faint", "nothing at work"),
    ("◆", "◆", "accent", "swap"),
    ("◇", "◇", "accent", "strategy"),
    ("⚑", "⚑", "attention", "asks"),
    ("▸", "▸", "accent", "request"),
    ("✓", "✓", "done", "done"),
)
"""Signs that stand for the same, the one that the legend shows, its tone and its word."""
LEGEND_MIN_HEIGHT = 12
"""Minimum lines of a timeline for a legend."""


def draw_timeline(lanes: Lanes, view: TimelineView, *, width: int, height: int) -> Timeline:
    """Return a timeline of exactly `height` lines."""
    max_name_width = min(_MAX_NAME_WIDTH, max(24, width // _NAME_SHARE), max(8, width // 3))
    before = min(max_name_width, max([_MIN_NAME_WIDTH, *(len(row.name) + 4 for row in view.rows)]))
    after = _FIGURES_WIDTH if width >= FIGURES_MIN_WIDTH else 0
    axis = cut_axis(lanes, view.begin, view.end, max(4, width - before - after - 1), unfolded=view.unfolded)
    cursor = axis.column_of(view.cursor)
    legend_height = int(height >= LEGEND_MIN_HEIGHT)
    height -= legend_height
    rows_height = max(1, height - 2)
    agents = sum(not row.members for row in view.rows)
    lines_per_lane = 2 if view.titles and len(view.rows) + agents <= rows_height and _has_title_room(lanes, axis) else 1
    first = (
        max(0, min(view.lane - rows_height // 2, len(view.rows) - rows_height)) if len(view.rows) > rows_height else 0
    )
    lines = [*_heading(lanes, axis, before, after, width, cursor)]
    drawn = set[str]()
    for number, row in list(enumerate(view.rows))[first:]:
        if len(lines) >= height:
            break
        cells = _cells(lanes, view, row, axis)
        drawn.update(cell.text for cell in cells)
        lines.append(_lane_line(lanes, view, row, axis, cells, before, width, cursor, selected=number == view.lane))
        if lines_per_lane == 2 and not row.members and len(lines) < height:
            lines.append(_titles(lanes, view, row, axis, before, cursor))
    lines += _sums(lanes, axis, before, width, height - len(lines), cursor)
    lines = [*lines, *[BLANK] * (height - len(lines))][:height]
    return Timeline([*lines, *[_legend(drawn, width)] * legend_height], axis, before, first, 2, lines_per_lane)


def _legend(drawn: Set[str], width: int) -> Line:
    """Return what the drawn signs stand for, as far as there is room."""
    spans: list[Span] = []
    for signs, sign, tone, word in _LEGEND:
        if not drawn.isdisjoint(signs) and width >= len(sign) + len(word) + 4:
            spans += [Span(f" {sign}", tone), Span(f" {word} ", "muted")]
            width -= len(sign) + len(word) + 3
    return Line(tuple(spans))


def _has_title_room(lanes: Lanes, axis: Axis) -> bool:
    """Return whether attempts are long enough for titles below them."""
    newest = [*list(lanes.spans)[-50:], *lanes.open_attempts()][-50:]
    if not newest or not axis.columns:
        return False
    return sum(attempt.end - attempt.begin for attempt in newest) / len(newest) > 5 * axis.step


def _heading(lanes: Lanes, axis: Axis, before: int, after: int, width: int, cursor: int | None) -> tuple[Line, Line]:
    times, marks = [" "] * len(axis.columns), ["─"] * len(axis.columns)
    tones = ["line"] * len(axis.columns)
    free = 0
    every = max(12, len(axis.columns) // 8)
    for x, column in enumerate(axis.columns):
        if column.folded_ms:
            marks[x], tones[x] = " " if _fold_of(axis, x)[1] >= 3 else FOLD, "line"
            continue
        if x >= free + 3 and x + 5 < len(times) and x % every == every // 2:
            at_ms = lanes.moment(column.begin)
            label = clock(at_ms) if every * axis.step >= 1000 else f"{clock(at_ms)[3:]}.{at_ms % 1000:03}"
            times[x - 4 : x - 4 + len(label)] = label
            marks[x], free = "┬", x + 6
    for x, column in enumerate(axis.columns):
        begin, fold_width = _fold_of(axis, x)
        if column.folded_ms and begin == x and fold_width >= 3:
            label = cut(countdown(column.folded_ms, max_width=fold_width), fold_width).center(fold_width)
            marks[x : x + fold_width] = label
            tones[x : x + fold_width] = ["muted"] * fold_width
    if cursor is not None:
        marks[cursor], tones[cursor] = "▼", "accent"
    head = pad(" LANES", before) + "".join(times)
    right = "BUSY      P50 " if after else ""
    blank = width - len(head) - len(right)
    first = Line((Span(head + " " * max(0, blank) + right, "heading"),), tone="raised")
    return first, Line((Span(" " * before), *join_spans(zip(marks, tones, strict=True))))


def _fold_of(axis: Axis, x: int) -> tuple[int, int]:
    """Return the first column of a column's gap, and the number of its columns."""
    column = axis.columns[x]
    begin = x
    while begin and axis.columns[begin - 1] == column:
        begin -= 1
    end = x
    while end + 1 < len(axis.columns) and axis.columns[end + 1] == column:
        end += 1
    return begin, end - begin + 1


def _cells(lanes: Lanes, view: TimelineView, row: LaneRow, axis: Axis) -> list[Span]:
    """Return a lane, a span for each column."""
    is_team = bool(row.members) or row.depth == 0
    cells = _supervisor_spans(lanes, row, axis) if is_team else _agent_spans(lanes, view, row, axis)
    _put_marks(lanes, row, axis, cells)
    return cells


def _lane_line(
    lanes: Lanes,
    view: TimelineView,
    row: LaneRow,
    axis: Axis,
    cells: list[Span],
    before: int,
    width: int,
    cursor: int | None,
    *,
    selected: bool,
) -> Line:
    if row.members or row.depth == 0:
        right, tone = f"{view.busy_of.get(row.id, 0):,} of {len(row.members):,} ", "strong"
    else:
        agent = view.state.agents.get(row.id)
        at_work = agent is not None and bool(agent.running or agent.parked)
        right, tone = _figures(lanes, view, row, axis), "" if at_work else "muted"
    if view.shown_until is not None:
        for x, column in enumerate(axis.columns):
            if column.begin > view.shown_until:
                cells[x] = Span(cells[x].text, "line")
    if cursor is not None:
        under = cells[cursor]
        cells[cursor] = Span("│", "accent") if under.text in _LINES else Span(under.text, "strong")
    name = " " * (2 * row.depth) + row.name
    edge = Span("▌", "accent") if selected else Span(" ")
    spans = [edge, Span(pad(name, before - 2) + " ", "strong" if selected else tone), *join_spans(cells)]
    if width >= FIGURES_MIN_WIDTH:
        blank = width - before - len(cells) - len(right) - 1
        spans += [Span(" " * max(0, blank)), Span(right, "muted")]
    return Line(tuple(spans), key=row.id, tone="selected" if selected else "")


def _agent_spans(lanes: Lanes, view: TimelineView, row: LaneRow, axis: Axis) -> list[Span]:
    lane = lanes.lanes.get(row.id, _NO_LANE)
    agent = view.state.agents.get(row.id)
    at_once = max(1, agent.max_concurrency if agent is not None else 1)
    busy, waited = column_sums(lane.busy, lanes, axis), column_sums(lane.waited, lanes, axis)
    done, failed = column_sums(lane.done, lanes, axis), column_sums(lane.failed, lanes, axis)
    waits = {kind: column_sums(counts, lanes, axis) for kind, counts in lane.waits.items()}
    steps = {kind: column_sums(counts, lanes, axis) for kind, counts in lane.steps.items()}
    asked = _asked_columns(lanes, [row.id], axis)
    out = []
    open_steps = view.open_steps.get(row.id, ())
    for x, column in enumerate(axis.columns):
        longest_wait = max(waits, key=lambda kind: waits[kind][x], default="")
        if column.folded_ms:
            out.append(Span(FOLD, "line"))
        elif failed[x] and 3 * failed[x] >= failed[x] + done[x]:
            out.append(Span("✕", "error"))
        elif busy[x] > 0:
            taken = Counter({kind: sums[x] for kind, sums in steps.items()})
            kind = ["code", *(kind for since, kind in open_steps if since < column.end)][-1]
            taken[kind] += busy[x] - taken.total()
            signs, tone = WORK[taken.most_common(1)[0][0]]
            share = min(1.0, busy[x] / max(1, (column.end - column.begin) * at_once))
            out.append(Span(signs[ceil(share * len(signs) - 1e-9) - 1], tone))
        elif x in asked and longest_wait != "budget":
            out.append(ASKS_LINE)
        elif done[x]:
            out.append(Span(WORK["code"][0][0], WORK["code"][1]))
        elif longest_wait and waits[longest_wait][x] > 0:
            out.append(_WAITS[longest_wait])
        elif waited[x] > 0:
            out.append(_WAITS["delegated"])
        else:
            out.append(_EMPTY)
    return out


def _asked_columns(lanes: Lanes, member_ids: Sequence[str], axis: Axis) -> set[int]:
    """Return the columns in which one of some members waited for a person."""
    ids = set(member_ids)
    columns = set[int]()
    for member_id in ids & lanes.asked.keys():
        columns.update(x for x, asked in enumerate(column_sums(lanes.asked[member_id], lanes, axis)) if asked)
    return columns


def _supervisor_spans(lanes: Lanes, row: LaneRow, axis: Axis) -> list[Span]:
    """Return a line over the columns in which any agent below a supervisor is at work or waits."""
    member_lanes = [lane for member in row.members if (lane := lanes.lanes.get(member)) is not None]
    whole = len(member_lanes) == len(lanes.lanes)
    slots = slots_of(axis.columns, lanes.slot_ms)
    shares = _team_shares(lanes, row, axis) if row.is_folded else {}
    left = [x for x, column in enumerate(axis.columns) if not column.folded_ms and x not in shares]
    for lane in [lanes.team] if whole else member_lanes:
        if not left:
            break
        for counts in (lane.busy, lane.waited, lane.done):
            values = counts.until(lanes.newest)
            left = [x for x in left if not any(values[slots[x][0] : slots[x][1]])]
    idle, asked = set(left), _asked_columns(lanes, [row.id, *row.members], axis)
    newest = len(axis.columns) - BRIGHT_COLUMNS
    return [
        ASKS_LINE
        if x in asked
        else Span(FOLD, "line")
        if column.folded_ms
        else _EMPTY
        if x in idle
        else Span(bar(shares[x], max_level=7), "busy" if x >= newest else "busy-before")
        if x in shares
        else Span("─", "guide")
        for x, column in enumerate(axis.columns)
    ]


def _team_shares(lanes: Lanes, row: LaneRow, axis: Axis) -> dict[int, float]:
    """Return by column the share of its members' time in which a folded team was at work, where it was."""
    busy, each = lanes.busy_of(row.id, row.members), max(1, len(row.members))
    return {
        x: min(1.0, busy_ms / max(1, (axis.columns[x].end - axis.columns[x].begin) * each))
        for x, (first, end) in enumerate(slots_of(axis.columns, lanes.slot_ms))
        if (busy_ms := sum(busy[first:end]))
    }


def _put_marks(lanes: Lanes, row: LaneRow, axis: Axis, cells: list[Span]) -> None:
    for mark in lanes.marks:
        if mark.subject == row.id:
            x = axis.column_of(mark.at)
            if x is not None and cells[x].text not in MARK_PRECEDENCE[: MARK_PRECEDENCE.index(mark.sign)]:
                cells[x] = Span(mark.sign, _SIGN_TONES[mark.sign])


def _figures(lanes: Lanes, view: TimelineView, row: LaneRow, axis: Axis) -> str:
    lane, agent = lanes.lanes.get(row.id), view.state.agents.get(row.id)
    time = sum(column.end - column.begin for column in axis.columns)
    at_once = max(1, agent.max_concurrency if agent is not None else 1)
    share = sum(column_sums(lane.busy, lanes, axis)) / (time * at_once) if lane is not None and time else 0.0
    p50 = duration(median(agent.at_work_ms)) if agent is not None else "gone"
    return f"{min(1.0, share):>5.0%} {p50:>10}"


def _titles(lanes: Lanes, view: TimelineView, row: LaneRow, axis: Axis, before: int, cursor: int | None) -> Line:
    """Return the line below a lane, with the titles of attempts that are long enough."""
    cells = [Span(FOLD, "line") if column.folded_ms else _EMPTY for column in axis.columns]
    for attempt in (*lanes.spans, *lanes.open_attempts()):
        title = view.titles.get(attempt.task_id)
        begin, end = axis.column_of(max(attempt.begin, view.begin)), axis.column_of(min(attempt.end, view.end))
        if attempt.agent_id == row.id and title and begin is not None and end is not None and end - begin >= 5:
            title_cells = _by_cell(cut(title, end - begin))
            if all(cell == _EMPTY for cell in cells[max(0, begin - 1) : begin + len(title_cells)]):
                cells[begin : begin + len(title_cells)] = title_cells
    if cursor is not None and cells[cursor] == _EMPTY:
        cells[cursor] = Span("│", "accent")
    return Line((Span(" " * before), *join_spans(cells)), key=row.id)


def _by_cell(text: str) -> list[Span]:
    """Return a text as one span per cell; an empty one follows a wide character."""
    spans: list[Span] = []
    at = 0
    for char in text:
        char_width = cell_len(char)
        if not char_width and spans:  # a combining character
            spans[at] = Span(spans[at].text + char, "muted")
        elif char_width:
            at = len(spans)
            spans += [Span(char, "muted"), *[Span("", "muted")] * (char_width - 1)]
    return spans


def _sums(lanes: Lanes, axis: Axis, before: int, width: int, available: int, cursor: int | None) -> list[Line]:
    """Return as many plots of sums over all agents as fit."""
    team = lanes.team
    done, failed = column_sums(team.done, lanes, axis), column_sums(team.failed, lanes, axis)
    busy = column_sums(team.busy, lanes, axis)
    lengths = [max(1, column.end - column.begin) for column in axis.columns]
    min_ms = max(RATE_MS, lanes.slot_ms)
    plots = (
        ("done/s", _rates(done, lengths, min_ms), ("plot-low", "plot-mid", "plot-high")),
        ("at work", [busy_ms / each for busy_ms, each in zip(busy, lengths, strict=True)], ("busy-before",)),
        ("failed/s", _rates(failed, lengths, min_ms), ("error",)),
    )
    lines: list[Line] = []
    for title, values, tones in plots:
        if available - len(lines) < SUM_HEIGHT + 1:
            break
        lines += [_rule(axis, before, cursor), *_plot(title, values, axis, before, width, tones, cursor)]
    return lines


def _rates(counts: Sequence[int], lengths: Sequence[int], least_ms: int) -> list[float]:
    """Return rates over a moving window of at least `least_ms`, so that one end in a short column is no peak."""
    rates, first, added, over_ms = list[float](), 0, 0, 0
    for count, length in zip(counts, lengths, strict=True):
        added, over_ms = added + count, over_ms + length
        while over_ms - lengths[first] >= least_ms:
            added, over_ms, first = added - counts[first], over_ms - lengths[first], first + 1
        rates.append(1000 * added / max(over_ms, least_ms))
    return rates


def _rule(axis: Axis, before: int, cursor: int | None) -> Line:
    cells = [Span(FOLD if column.folded_ms else "┄", "line") for column in axis.columns]
    if cursor is not None:
        cells[cursor] = Span("│", "accent")
    return Line((Span(" " * before), *join_spans(cells)))


def _plot(
    title: str, values: Sequence[float], axis: Axis, before: int, width: int, tones: Sequence[str], cursor: int | None
) -> list[Line]:
    top = axis_top(max(values, default=0.0))
    doubled = [value for value in values for _ in (0, 1)]
    lines = []
    for row, dots in enumerate(area(doubled, len(values), SUM_HEIGHT, full_value=top, base=True)):
        tone = tones[min(len(tones) - 1, (SUM_HEIGHT - 1 - row) * len(tones) // SUM_HEIGHT)]
        cells = [
            Span(FOLD, "line") if column.folded_ms else Span(char, tone)
            for column, char in zip(axis.columns, dots, strict=True)
        ]
        if cursor is not None:
            symbol = cells[cursor].text
            cells[cursor] = Span("│", "accent") if symbol == " " else Span(symbol, "strong")
        axis_label = f"{top:g}" if row == 0 else "0" if row == SUM_HEIGHT - 1 else ""
        label = pad(f" {title}" if row == 0 else "", max(0, before - 8)) + pad(axis_label, 6, right=True)
        spans = [Span(label, "muted"), Span(" ┤" if axis_label else "  ", "line"), *join_spans(cells)]
        if row == SUM_HEIGHT - 1 and width >= FIGURES_MIN_WIDTH and values:
            value = values[-1 if cursor is None else cursor]
            value_text = f"{value:.1f} at ▼ " if value < 10 else f"{value:,.0f} at ▼ "
            spans += [Span(" " * max(0, width - before - len(cells) - len(value_text))), Span(value_text, "muted")]
        lines.append(Line(tuple(spans)))
    return lines
