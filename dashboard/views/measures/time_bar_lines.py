"""The rows of the time bar: blocks of events, marks, the current moment, and messages.

Pure: from columns, a moment and a size to lines. A message replaces the text of the bar for a while.
"""

from collections.abc import Sequence

from dashboard.clean import clean
from dashboard.views.drawing.lines import Line, Span, fit_spans, fold, join_spans
from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.idle_gaps import FOLD
from dashboard.views.measures.time_bar_columns import ASKS, EMPTY_CELL, LEGEND, TONES, TimeBar
from dashboard.views.past import PastMoment
from dashboard.views.words.amounts import clock

HEAD_WIDTH = 7
"""Cells before the first column: a blank, a word, a blank, the rail."""
MAX_MESSAGE_LINES = 4
"""Maximum lines of a message."""
_LATER = "faint"
_QUIET_TONES = {EMPTY_CELL: "line", FOLD: "line", ASKS: "attention", " ": ""}
"""Tones of columns without events; what else stands there is the length of folded time."""
_Letter = tuple[str, str]


def rows_at(screen_rows: int) -> int:
    """Return the rows of the bar on a screen of `screen_rows`."""
    return 1 if screen_rows < 30 else 2 if screen_rows < 45 else 3


def columns_at(width: int, rows: int) -> int:
    """Return the columns of time in a width; with one row, the time of day follows them."""
    return max(1, width - HEAD_WIDTH - 2 - (WORDS_WIDTH if rows == 1 else 0))


WORDS_WIDTH = 25
"""Cells of time and seq after a bar of one row: `13:59:10  seq 1,011,459`."""


def time_bar_lines(
    bar: TimeBar,
    *,
    width: int,
    rows: int,
    seq: int,
    at_ms: int,
    alive: bool,
    past: PastMoment | None,
    notice: Cell | None,
    stays: bool = False,
) -> list[Line]:
    """Return the lines of the bar.

    Args:
        bar: Columns, as many as `columns_at` returns.
        rows: Height without a message.
        seq: The event after which the screen shows the team.
        at_ms: Its time, UTC milliseconds.
        alive: Whether an engine is at work.
        past: The past moment that is shown; None for live.
        notice: A message, which replaces the text of the bar.
        stays: Whether the message is permanent; then it has one line of its own, and hides no bar.
    """
    cursor = bar.column_of(past.seq) if past is not None else None
    message = _message(notice, width)
    if rows == 1:
        below = [_line(_blocks_with_marks(bar, cursor), _words(seq, at_ms, past), alive=alive, past=past)]
        if stays and notice is not None:
            return [Line((Span(" "), *fit_spans([Span(clean(notice.text), notice.tone)], width - 2))), *below]
        return message or below
    top_lines = message or [_marks(bar, cursor, seq=seq, at_ms=at_ms, past=past)]
    blocks = bar.blocks(rows - 1)
    return [
        *top_lines,
        *(
            _line(_paint(bar, row, cursor), (), alive=alive, past=past, word=index == len(blocks) - 1)
            for index, row in enumerate(blocks)
        ),
    ]


def column_under(x: int, *, width: int, rows: int) -> int:
    """Return the column of time at an x of the bar, clamped to the first and last column."""
    return min(max(x - HEAD_WIDTH, 0), columns_at(width, rows) - 1)


def _message(notice: Cell | None, width: int) -> list[Line]:
    if notice is None or not notice.text:
        return []
    pieces = fold(clean(notice.text[: 3 * MAX_MESSAGE_LINES * max(20, width)]), max(20, width - 2))
    if len(pieces) > MAX_MESSAGE_LINES:
        pieces = [*pieces[: MAX_MESSAGE_LINES - 1], " ".join(pieces[MAX_MESSAGE_LINES - 1 :])]
    return [Line((Span(" "), *fit_spans([Span(piece, notice.tone)], width - 2))) for piece in pieces]


def _words(seq: int, at_ms: int, past: PastMoment | None) -> tuple[Span, ...]:
    if past is None and not seq:
        return ()  # no events yet
    tone = "past bold" if past is not None else "muted"
    shown_ms = past.at_ms if past is not None else at_ms
    return (Span(f" {clock(shown_ms)}  seq {seq:,}", tone),)


def _line(
    blocks: Sequence[_Letter], words: Sequence[Span], *, alive: bool, past: PastMoment | None, word: bool = True
) -> Line:
    name, tone = ("PAST", "past bold") if past is not None else ("LIVE", "busy bold") if alive else ("END ", "muted")
    rail = "past" if past is not None else "guide"
    return Line(
        (Span(f" {name if word else '    '} ", tone), Span("▕", rail), *join_spans(blocks), Span("▏", rail), *words)
    )


def _blocks_with_marks(bar: TimeBar, cursor: int | None) -> list[_Letter]:
    """Return one row with marks in place of their blocks."""
    letters = _paint(bar, bar.blocks()[0], cursor)
    for index, slot in enumerate(bar.slots):
        if slot.mark:
            tone = letters[index][1] if cursor is not None and index >= cursor else TONES[slot.mark]
            letters[index] = slot.mark, tone
    return letters


def _paint(bar: TimeBar, row: str, cursor: int | None) -> list[_Letter]:
    if cursor is None:
        return [
            (letter, "plot-high" if slot.events else _QUIET_TONES.get(letter, "muted"))
            for letter, slot in zip(row, bar.slots, strict=True)
        ]
    return [
        (letter, "past-badge" if index == cursor else _LATER if index > cursor else "past")
        for index, letter in enumerate(row)
    ]


def _marks(bar: TimeBar, cursor: int | None, *, seq: int, at_ms: int, past: PastMoment | None) -> Line:
    """Return the marks, and between them as much text as fits, each part in one piece."""
    letters: list[_Letter | None] = [
        ((slot.mark, _LATER if cursor is not None and index > cursor else TONES[slot.mark]) if slot.mark else None)
        for index, slot in enumerate(bar.slots)
    ]
    if cursor is not None and letters:
        letters[cursor] = "▼", "past bold"
    for shorter in _texts(seq, at_ms, past):
        for text in shorter:
            start = _widest_gap_start(letters, len(text))
            if start is not None:
                letters[start : start + len(text)] = text
                break
    return Line((Span(" " * HEAD_WIDTH), *join_spans(letter or (" ", "") for letter in letters)))


def _texts(seq: int, at_ms: int, past: PastMoment | None) -> list[list[list[_Letter]]]:
    """Return the texts between the marks, the most important first, each in ever shorter variants."""
    if past is not None:
        at, later = f"seq {seq:,}", f", live +{max(0, past.live_seq - seq):,}"
        wordings = (f"AT {clock(past.at_ms)}  {at}{later}", f"{at}{later}", at)  # the header has the time, too
        return [[_spell([(wording, "past bold")]) for wording in wordings]]
    signs = [part for sign, word in LEGEND for part in ((sign, TONES[sign]), (f" {word}  ", "muted"))]
    legend = [_spell(signs)[:-2]]
    now = [_spell([(f"{clock(at_ms)}  seq {seq:,}", "muted")])]
    return [now, legend] if seq else [legend]


def _spell(parts: Sequence[_Letter]) -> list[_Letter]:
    return [(letter, tone) for text, tone in parts for letter in text]


def _widest_gap_start(letters: Sequence[_Letter | None], length: int) -> int | None:
    """Return the start of a text centred in the widest gap, with two blanks at both ends; None if it does not fit."""
    widest, start, best = 0, 0, 0
    for place in range(len(letters) + 1):
        if place == len(letters) or letters[place] is not None:
            if place - start > widest:
                widest, best = place - start, start
            start = place + 1
    return best + (widest - length) // 2 if length and widest >= length + 4 else None
