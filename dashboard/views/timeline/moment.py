"""The pane below a timeline, about the moment under the cursor."""

from collections.abc import Sequence

from dashboard.views.drawing.lines import Line, Span, cut_path, fit_height, fit_spans, hairline, pad
from dashboard.views.event_log import Entry
from dashboard.views.timeline.lanes import ENDS, AttemptSpan, Lanes
from dashboard.views.words.amounts import clock, duration
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import sentence

_SHORT = "<back here:b> goes back here"
_HINT = "enter opens it · <back here:b> goes back to this moment"


def moment_lines(
    lanes: Lanes,
    lane: str,
    name: str,
    entries: Sequence[Entry] | None,
    names: Names,
    *,
    at: int,
    step_ms: int,
    width: int,
    height: int,
) -> list[Line]:
    """Return the pane, with exactly `height` lines.

    Args:
        lanes: Has the attempts.
        name: Name of the lane under the cursor.
        entries: Events of the lane at that moment, the nearest first; None while they are read.
        at: Position of the cursor.
        step_ms: Duration of a column.
    """
    at_ms = lanes.moment(at)
    title = f"AT {clock(at_ms)}" if step_ms >= 1000 else f"AT {clock(at_ms)}.{at_ms % 1000:03}"
    each = f"a column is {duration(step_ms)}"
    is_wide = width > 80
    lines = [hairline(f"{title} · {each}" if is_wide else title, width, right=fill_keys(_HINT if is_wide else _SHORT))]
    attempts = [attempt for attempt in (*lanes.spans, *lanes.open_attempts()) if attempt.agent_id == lane]
    attempts = [attempt for attempt in attempts if attempt.begin <= at + step_ms and attempt.end >= at - step_ms]
    ends = {attempt.task_id for attempt in lanes.open_attempts()}
    for attempt in attempts[-2:]:
        lines.append(
            _attempt(lanes, attempt, name, names.of(attempt.task_id), is_open=attempt.task_id in ends, width=width)
        )
    if entries is None:
        lines.append(Line((Span(" reading …", "muted"),)))
    elif not entries and not attempts:
        lines.append(Line((Span(f" {name}", "strong"), Span("  nothing of it happened at this moment", "muted"))))
    else:
        lines += [_event_line(entry, names, width) for entry in entries[:height]]
    return fit_height(lines, height)


def _attempt(lanes: Lanes, attempt: AttemptSpan, name: str, title: str, *, is_open: bool, width: int) -> Line:
    mark = Span("● at work", "busy") if is_open else Span("■ over", "muted")
    until = "now" if is_open else clock(lanes.moment(attempt.end))
    took = duration(lanes.moment(attempt.end) - lanes.moment(attempt.begin))
    spans = [
        Span(f" {name}  ", "strong"),
        Span(cut_path(title, 60)),
        Span("  "),
        mark,
        Span(f"  {took}", "strong"),
        Span(f"   {clock(lanes.moment(attempt.begin))} – {until}", "muted"),
    ]
    return Line(fit_spans(spans, width))


def _event_line(entry: Entry, names: Names, width: int) -> Line:
    event = entry.event
    event_sentence = sentence(event, names)
    took_ms = getattr(event, "duration_ms", None)
    took = f"{duration(took_ms, max_width=10) if took_ms is not None and entry.kind in ENDS else '':>10}"
    head = f" {clock(entry.at_ms)} "
    seq = pad(f"{entry.seq:,}", 9, right=True)
    text = pad(event_sentence.text, max(8, min(96, width - len(head) - len(seq) - len(took) - 5)))
    return Line(
        (
            Span(head, "muted"),
            Span(seq, "faint"),
            Span("  "),
            Span(text, event_sentence.tone),
            Span(" "),
            Span(took, "muted"),
        ),
        key=str(entry.seq),
    )
