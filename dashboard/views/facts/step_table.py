"""The steps of a task as a table: what each was, with what, what came of it; unfolded ones with all of that. Pure."""

import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from dashboard.views.drawing.lines import BLANK, Line, Span, cells, cut, spread
from dashboard.views.drawing.prose import paragraph, prose
from dashboard.views.event_log import Entry
from dashboard.views.facts.steps import NOTHING, calls_in, calls_of
from dashboard.views.words.amounts import duration, tokens
from dashboard.views.words.names import readable
from engine.core.events import ModelFailed, StepRecorded
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text, preview

LIVE = "live"
"""Key of the line about what is going on now."""
_UNFOLDED = 40
"""Lines of one text of an unfolded step; `y` shows all of it."""
_GLYPHS = {"model": ("✓", "done"), "tool": ("⚙", "tool"), "compact": ("≡", "muted"), "code": ("·", "muted")}


def is_step(entry: Entry) -> bool:
    """Return whether an event is a step, or a call of a model that failed."""
    return isinstance(entry.event, StepRecorded | ModelFailed)


def steps_among(entries: Sequence[Entry], task_id: str | None) -> list[Entry]:
    """Return the steps of a task, the oldest first."""
    return [one for one in entries if is_step(one) and getattr(one.event, "task_id", None) == task_id]


def step_lines(steps: Sequence[Entry], width: int, *, unfolded: Container[str] = ()) -> list[Line]:
    """Return a line for each step, keyed by its seq, with what it was given and gave below those that are unfolded."""
    lines: list[Line] = []
    for number, entry in enumerate(steps, 1):
        lines.append(_row(number, entry, width))
        if str(entry.seq) in unfolded:
            lines += [Line((Span("     "), *line.spans)) for line in whole_step(entry, width - 6)]
    return lines


def _row(number: int, entry: Entry, width: int) -> Line:
    event = entry.event
    if isinstance(event, ModelFailed):
        left = _left(number, "✕", "error", event.model, "error", f"{event.error_type}: {event.error}")
        return spread(left, (), width, key=str(entry.seq))
    assert isinstance(event, StepRecorded)
    glyph, tone = _GLYPHS[event.what]
    if event.what == "model":
        said, took = _said_by_model(event.output), f"{tokens(event.usage)} tok"
        right: tuple[Span, ...] = (
            Span(f" {took if event.usage.tokens_out is not None else duration(event.duration_ms)}", "faint"),
        )
        return spread(_left(number, glyph, tone, "model", "", said), right, width, key=str(entry.seq))
    name = event.name.removeprefix("tool:")
    given = "" if event.input in NOTHING else as_text(_bare(event.input))
    came = preview(_summary(event.output), max(8, width // 3)) if event.output is not None else ""
    right = (Span(f" → {came}" if came else ""), Span(f"{duration(event.duration_ms, most=9):>9}", "faint"))
    room = max(4, width - cells(right) - 6 - len(name))
    left = _left(number, glyph, tone, name, "tool bold" if event.what == "tool" else "", cut(given, room))
    return spread(left, right, width, key=str(entry.seq))


def _left(number: int, glyph: str, tone: str, name: str, name_tone: str, told: str) -> tuple[Span, ...]:
    return (
        Span(f"{number:>2} ", "faint"),
        Span(f"{glyph} ", tone),
        Span(cut(name, 24), name_tone or "bold"),
        Span(f" {told}" if told else "", "muted"),
    )


def _bare(given: JsonValue) -> JsonValue:
    """Return the one argument of a call where there is only one: `[["x"], {}]` is `x`."""
    if isinstance(given, list) and len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
        plain, named = list(given[0]), given[1]
        if not named and len(plain) == 1:
            return plain[0]
        return named if not plain else [*plain, named] if named else plain
    if isinstance(given, dict) and len(given) == 1:
        return next(iter(given.values()))
    return given


def _summary(output: JsonValue) -> JsonValue:
    """Return what tells most of a result in a few words."""
    if isinstance(output, dict) and len(output) == 1:
        return _summary(next(iter(output.values())))
    return as_text(output) if isinstance(output, dict) else output


def _said_by_model(answer: JsonValue) -> str:
    if not isinstance(answer, dict):
        return preview(answer, 60)
    calls = [str(call.get("name")) for call in calls_in(answer)]
    finish = answer.get("finish", "stop")
    if calls:
        return "asks for " + ", ".join(f"{name} ×{many}" if many > 1 else name for name, many in Counter(calls).items())
    if finish not in ("stop", "calls"):
        return f"ended by {finish}"
    return f"answers: {preview(str(answer.get('text') or ''), 80)}"


def whole_step(entry: Entry, width: int) -> list[Line]:
    """Return all that a step was given and gave, folded to a width."""
    event = entry.event
    if isinstance(event, ModelFailed):
        return paragraph(event.error, width, tone="error", most=_UNFOLDED)
    if not isinstance(event, StepRecorded):
        return []
    if event.what == "model" and isinstance(event.output, dict):
        return _whole_answer(event.output, width)
    lines = []
    if event.input not in NOTHING:
        lines += paragraph(readable(event.input), width, tone="muted", most=_UNFOLDED)
    if event.output is not None:
        shown = paragraph(readable(event.output), width - 2, most=_UNFOLDED)
        lines += [Line((Span("  " if at else "→ ", "muted"), *line.spans)) for at, line in enumerate(shown)]
    return lines or [Line((Span("it gave nothing back", "faint"),))]


def _whole_answer(answer: Mapping[str, Any], width: int) -> list[Line]:
    """Return what a model said: its thoughts dimmed, its text rendered, and the tools that it asked for."""
    lines: list[Line] = []
    thinking = answer.get("thinking")
    if isinstance(thinking, str) and thinking:
        lines += [*paragraph(thinking, width, tone="faint", most=_UNFOLDED), BLANK]
    if text := str(answer.get("text") or ""):
        lines += prose(text, width)
    for call in calls_in(answer):
        given = call.get("arguments") if call.get("invalid") is None else call["invalid"]
        lines.append(Line((Span("⚙ ", "tool"), Span(str(call.get("name")), "tool bold"))))
        shown = paragraph(_arguments(given), width - 2, tone="muted", most=_UNFOLDED)
        lines += [Line((Span("  "), *line.spans)) for line in shown]
    return lines


def _arguments(given: Any) -> str:
    if isinstance(given, dict):
        return "\n".join(f"{name}: {one if isinstance(one, str) else json.dumps(one)}" for name, one in given.items())
    return readable(given)


def live_lines(live: Mapping[str, str], task_id: str, number: int, width: int, *, now_ms: int) -> list[Line]:
    """Return what goes on now, as the steps that come next: the tools that run, and that a model writes or thinks."""
    lines = []
    for at, (name, given, since_ms) in enumerate(calls_of(live, task_id)):
        right = (Span(f" {duration(max(0, now_ms - since_ms))}", "busy"),)
        left = _left(number + at, "●", "busy", name, "tool bold", given)
        lines.append(spread(left, right, width, key=f"{LIVE}:{at}"))
    for key, said in (("output", "writes"), ("thought", "thinks")):
        if not lines and (text := live.get(f"{key}:{task_id}")):
            right = (Span(f" {len(text):,} characters", "busy"),)
            lines.append(spread(_left(number, "●", "busy", "now", "strong", said), right, width, key=LIVE))
    return lines
