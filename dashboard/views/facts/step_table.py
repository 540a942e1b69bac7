"""The steps of a task as a table, with input and output; unfolded steps show them in full. Pure."""

import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from dashboard.views.drawing.lines import BLANK, Line, Span, cell_width, cut, cut_path, spread
from dashboard.views.drawing.prose import paragraph, prose
from dashboard.views.event_log import Entry
from dashboard.views.facts.steps import EMPTY_INPUTS, calls_in, calls_of
from dashboard.views.words.amounts import duration, tokens
from dashboard.views.words.glyphs import ACTIVITY
from dashboard.views.words.names import readable
from engine.core.activities import SILENT_KINDS, CurrentActivity
from engine.core.events import ModelFailed, StepRecorded
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text, preview

LIVE = "live"
"""Key of the line about current work."""
_MAX_UNFOLDED_LINES = 40
"""Lines of one text of an unfolded step; `y` shows all of it."""
_GLYPHS = {"model": ("✓", "done"), "tool": ("⚙", "tool"), "compact": ("≡", "muted"), "code": ("·", "muted")}


def is_step(entry: Entry) -> bool:
    """Return whether an event is a step, or a failed call of a model."""
    return isinstance(entry.event, StepRecorded | ModelFailed)


def steps_among(entries: Sequence[Entry], task_id: str | None) -> list[Entry]:
    """Return the steps of a task, the oldest first."""
    return [entry for entry in entries if is_step(entry) and getattr(entry.event, "task_id", None) == task_id]


def step_lines(steps: Sequence[Entry], width: int, *, unfolded: Container[str] = ()) -> list[Line]:
    """Return a line for each step, keyed by its seq; below unfolded ones, their input and output."""
    lines: list[Line] = []
    for number, entry in enumerate(steps, 1):
        lines.append(_row(number, entry, width))
        if str(entry.seq) in unfolded:
            lines += [Line((Span("     "), *line.spans)) for line in whole_step(entry, width - 6)]
    return lines


def _row(number: int, entry: Entry, width: int) -> Line:
    event = entry.event
    if isinstance(event, ModelFailed):
        left = _step_spans(number, "✕", "error", event.model, "error", f"{event.error_type}: {event.error}")
        return spread(left, (), width, key=str(entry.seq))
    assert isinstance(event, StepRecorded)
    glyph, tone = _GLYPHS[event.what]
    if event.what == "model":
        text, took = _describe_answer(event.output), f"{tokens(event.usage)} tok"
        right: tuple[Span, ...] = (
            Span(f" {took if event.usage.tokens_out is not None else duration(event.duration_ms)}", "faint"),
        )
        return spread(_step_spans(number, glyph, tone, "model", "", text), right, width, key=str(entry.seq))
    name = event.name.removeprefix("tool:")
    arguments = "" if event.input in EMPTY_INPUTS else as_text(_unwrap(event.input))
    came = preview(_summary(event.output), max(8, width // 3)) if event.output is not None else ""
    right = (Span(f" → {came}" if came else ""), Span(f"{duration(event.duration_ms, max_width=9):>9}", "faint"))
    room = max(4, width - cell_width(right) - 7 - len(name))
    name_tone = "tool bold" if event.what == "tool" else ""
    left = _step_spans(number, glyph, tone, name, name_tone, cut_path(arguments, room))
    return spread(left, right, width, key=str(entry.seq))


def _step_spans(number: int, glyph: str, tone: str, name: str, name_tone: str, text: str) -> tuple[Span, ...]:
    return (
        Span(f"{number:>2} ", "faint"),
        Span(f"{glyph} ", tone),
        Span(cut(name, 24), name_tone or "bold"),
        Span(f" {text}" if text else "", "muted"),
    )


def _unwrap(arguments: JsonValue) -> JsonValue:
    """Return the arguments of a call in their shortest form: `[["x"], {}]` becomes `x`."""
    match arguments:
        case [list(positional), dict(named)]:
            if not named:
                return positional[0] if len(positional) == 1 else positional
            return [*positional, named] if positional else named
    if isinstance(arguments, dict) and len(arguments) == 1:
        return next(iter(arguments.values()))
    return arguments


def _summary(output: JsonValue) -> JsonValue:
    """Return the essential part of a result."""
    if isinstance(output, dict) and len(output) == 1:
        return _summary(next(iter(output.values())))
    return as_text(output) if isinstance(output, dict) else output


def _describe_answer(answer: JsonValue) -> str:
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
    """Return the input and output of a step, wrapped to a width."""
    event = entry.event
    if isinstance(event, ModelFailed):
        return paragraph(event.error, width, tone="error", max_lines=_MAX_UNFOLDED_LINES)
    if not isinstance(event, StepRecorded):
        return []
    if event.what == "model" and isinstance(event.output, dict):
        return _whole_answer(event.output, width)
    lines = []
    if event.input not in EMPTY_INPUTS:
        lines += paragraph(readable(event.input), width, tone="muted", max_lines=_MAX_UNFOLDED_LINES)
    if event.output is not None:
        result_lines = paragraph(readable(event.output), width - 2, max_lines=_MAX_UNFOLDED_LINES)
        lines += [Line((Span("  " if at else "→ ", "muted"), *line.spans)) for at, line in enumerate(result_lines)]
    return lines or [Line((Span("it gave nothing back", "faint"),))]


def _whole_answer(answer: Mapping[str, Any], width: int) -> list[Line]:
    """Return a model's answer: its thoughts dimmed, its text as markdown, and its tool calls."""
    lines: list[Line] = []
    thinking = answer.get("thinking")
    if isinstance(thinking, str) and thinking:
        lines += [*paragraph(thinking, width, tone="faint", max_lines=_MAX_UNFOLDED_LINES), BLANK]
    if text := str(answer.get("text") or ""):
        lines += prose(text, width)
    for call in calls_in(answer):
        arguments = call.get("arguments") if call.get("invalid") is None else call["invalid"]
        lines.append(Line((Span("⚙ ", "tool"), Span(str(call.get("name")), "tool bold"))))
        argument_lines = paragraph(_arguments(arguments), width - 2, tone="muted", max_lines=_MAX_UNFOLDED_LINES)
        lines += [Line((Span("  "), *line.spans)) for line in argument_lines]
    return lines


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return "\n".join(
            f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()
        )
    return readable(arguments)


def live_lines(
    live: Mapping[str, str], task_id: str, number: int, width: int, *, activity: CurrentActivity, now_ms: int
) -> list[Line]:
    """Return current work as further steps: running tools, or a model that writes or thinks, or is silent."""
    lines = []
    mark = ACTIVITY[activity.kind]
    is_silent = activity.kind in SILENT_KINDS
    for at, (name, arguments, since_ms) in enumerate(calls_of(live, task_id)):
        right = (Span(f" {duration(max(0, now_ms - since_ms))}", "busy"),)
        left = _step_spans(number + at, mark.glyph, mark.tone, name, "tool bold", arguments)
        lines.append(spread(left, right, width, key=f"{LIVE}:{at}"))
    for key, verb in (("output", "writes"), ("thought", "thinks")):
        if not lines and (text := live.get(f"{key}:{task_id}")):
            right = (Span(f" {len(text):,} characters", mark.tone),)
            said = activity.words if is_silent else verb
            left = _step_spans(number, mark.glyph, mark.tone, "now", "strong", said)
            lines.append(spread(left, right, width, key=LIVE))
    return lines
