"""What was said and done in a task, the oldest first: texts of models, calls with arguments and results. Pure."""

from collections.abc import Sequence, Set
from typing import Any

from dashboard.views.drawing.lines import BLANK, Line, Span, spread
from dashboard.views.drawing.prose import paragraph, prose, wrap_spans
from dashboard.views.drawing.values import output_lines, value_spans
from dashboard.views.event_log import Entry
from dashboard.views.facts.steps import EMPTY_INPUTS, calls_in
from dashboard.views.tail import to_tail_line
from dashboard.views.words.amounts import clock, duration
from dashboard.views.words.names import Names, readable
from engine.core.events import (
    AttemptDone,
    AttemptFailed,
    AttemptStarted,
    Delegated,
    Escalated,
    EscalationAnswered,
    ModelFailed,
    StepRecorded,
)
from engine.core.records.records import JsonValue

MAX_ENTRIES = 200
"""Newest events of a task that are shown."""
_MAX_THOUGHT_LINES, _MAX_RESULT_LINES, _MAX_ARGUMENT_LINES = 6, 8, 12
_ARGUMENT_CHARACTERS = 2_000
_OTHERS = Delegated | Escalated | EscalationAnswered


class TaskConversation:
    """The lines of one task at a time; those of an event are made once for each width."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int, bool], list[Line]] = {}

    def lines(self, entries: Sequence[Entry], task_id: str | None, names: Names, width: int) -> list[Line]:
        """Return the conversation of a task.

        Args:
            entries: Events, the oldest first, also of other tasks.
            task_id: The task.
            names: Names of ids.
            width: In cells.
        """
        own = [entry for entry in entries if getattr(entry.event, "task_id", None) == task_id][-MAX_ENTRIES:]
        tools = {entry.event.name.removeprefix("tool:") for entry in own if isinstance(entry.event, StepRecorded)}
        said = [*map(_text_of, own)]
        drawn: dict[tuple[int, int, bool], list[Line]] = {}
        lines: list[Line] = []
        for at, entry in enumerate(own):
            # A model agent's output is its last text.
            is_repeated = isinstance(entry.event, AttemptDone) and entry.event.output in said[:at]
            key = (entry.seq, width, is_repeated)
            drawn[key] = self._lines.get(key) or ([] if is_repeated else _entry_lines(entry, names, width, tools))
            if drawn[key]:
                is_apart = bool(said[at]) or isinstance(entry.event, AttemptStarted | AttemptDone)
                lines += [*([BLANK] if lines and is_apart and lines[-1] is not BLANK else []), *drawn[key]]
                lines += [BLANK] if said[at] else []
        self._lines = drawn
        return lines[:-1] if lines and lines[-1] is BLANK else lines


def _text_of(entry: Entry) -> str:
    event = entry.event
    if isinstance(event, StepRecorded) and event.what == "model" and isinstance(event.output, dict):
        return str(event.output.get("text") or "")
    return ""


def _entry_lines(entry: Entry, names: Names, width: int, tools: Set[str]) -> list[Line]:
    event = entry.event
    if isinstance(event, StepRecorded):
        if event.what == "model" and isinstance(event.output, dict):
            return _answer(event.output, width, tools)
        glyph, tone = ("⚙ ", "tool") if event.what == "tool" else ("· ", "muted")
        name = event.name.removeprefix("tool:")
        took = duration(event.duration_ms)
        call = _call(glyph, name, tone, event.input, width - len(took) - 1)
        return [spread(call[0].spans, [Span(took, "faint")], width), *call[1:], *_result(event.output, width)]
    if isinstance(event, ModelFailed):
        return paragraph(f"✕ {event.model}: {event.error_type}: {event.error}", width, tone="error")
    if isinstance(event, AttemptFailed):
        return paragraph(f"✕ attempt {event.attempt} failed: {event.error}", width, tone="error")
    if isinstance(event, AttemptDone):
        return output_lines(event.output, width) if event.output is not None else []
    if isinstance(event, AttemptStarted):
        return [Line((Span(f"{clock(entry.at_ms)} attempt {event.attempt}", "faint"),))] if event.attempt > 1 else []
    if isinstance(event, _OTHERS):
        tail_line = to_tail_line(entry, names)
        pieces = wrap_spans([Span(f"{tail_line.glyph} ", tail_line.tone), Span(tail_line.text, "muted")], width)
        return [Line(piece) for piece in pieces]
    return []


def _answer(answer: dict[str, Any], width: int, tools: Set[str]) -> list[Line]:
    """Return the thoughts and the text of a model, and the calls that have no step of their own."""
    lines: list[Line] = []
    thinking = answer.get("thinking")
    if isinstance(thinking, str) and thinking:
        lines += paragraph(f"… {thinking}", width, tone="muted", max_lines=_MAX_THOUGHT_LINES)
    lines += prose(str(answer.get("text") or ""), width)
    for call in calls_in(answer):
        if str(call.get("name")) not in tools:
            arguments = call.get("arguments") if call.get("invalid") is None else call["invalid"]
            lines += _call("⚙ ", str(call.get("name")), "tool", arguments, width)
    return lines


def _call(glyph: str, name: str, tone: str, arguments: JsonValue, width: int) -> list[Line]:
    """Return a call with its arguments, wrapped below its name."""
    spans = [Span(glyph, tone), Span(name, f"{tone} bold")]
    if arguments not in EMPTY_INPUTS:
        spans += [Span(" "), *(span._replace(tone="muted") for span in value_spans(arguments, _ARGUMENT_CHARACTERS))]
    first, *others = wrap_spans(spans, max(12, width - 2))[:_MAX_ARGUMENT_LINES]
    return [Line(first), *(Line((Span("  "), *piece)) for piece in others)]


def _result(output: JsonValue, width: int) -> list[Line]:
    if output is None:
        return []
    lines = paragraph(readable(output), max(12, width - 4), max_lines=_MAX_RESULT_LINES)
    return [Line((Span("    " if at else "  → ", "faint"), *line.spans)) for at, line in enumerate(lines)]
