"""The output of an agent: its live text, else its last text or output; and its events. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import BLANK, Line, Span, cut, spread
from dashboard.views.drawing.prose import growing_prose, paragraph, prose
from dashboard.views.drawing.values import output_lines
from dashboard.views.event_log import Entry, tone_of
from dashboard.views.facts.step_table import is_step
from dashboard.views.facts.task import describe_progress, waiting_reason
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import clock
from dashboard.views.words.glyphs import event_glyph
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import sentence
from engine.core.events import AttemptDone, StepRecorded
from engine.core.state import State, Task

_THOUGHT = 1_500
"""Characters of a thought that are shown, counted from its end."""


class AgentOutput(NamedTuple):
    """Title and lines of the pane."""

    title: str
    lines: list[Line]
    grows: bool = False


def latest_output(
    state: State,
    task: Task | None,
    task_id: str | None,
    entries: Sequence[Entry],
    counts: Digest,
    live: Mapping[str, str],
    *,
    width: int,
    now_ms: int,
) -> AgentOutput:
    """Return the output of a task; `task` is None if the state has dropped it."""
    if task is not None and not task.ended:
        lines = _live_lines(live, task.id, width)
        if lines:
            return AgentOutput("SAYS", lines, grows=True)
        waits = waiting_reason(state, task, counts, now_ms)
        status = describe_progress(live, task.id) or waits
        lead = [Line((Span(status, "waiting" if waits else ""),)), BLANK] if status else []
        return AgentOutput("SAYS", [*lead, *_last_answer(entries, task.id, width)])
    return AgentOutput("SAID", _last_answer(entries, task_id, width))


def _live_lines(live: Mapping[str, str], task_id: str, width: int) -> list[Line]:
    thought, text = live.get(f"thought:{task_id}", ""), live.get(f"output:{task_id}", "")
    lines: list[Line] = []
    if thought:
        thought_lines = paragraph(thought[-_THOUGHT:], min(width, 92) - 2, tone="muted")
        lines += [Line((Span("… " if not at else "  ", "faint"), *line.spans)) for at, line in enumerate(thought_lines)]
    if text:
        lines += [*([BLANK] if lines else []), *growing_prose(text, width)]
    elif lines:
        lines[-1] = lines[-1]._replace(spans=(*lines[-1].spans, Span(" ▍", "accent")))
    return lines


def _last_answer(entries: Sequence[Entry], task_id: str | None, width: int) -> list[Line]:
    """Return the output of a task, or the last answer of its model."""
    for entry in reversed(entries):
        event = entry.event
        if getattr(event, "task_id", None) != task_id:
            continue
        if isinstance(event, AttemptDone) and event.output is not None:
            return output_lines(event.output, width)
        if isinstance(event, StepRecorded) and event.what == "model" and isinstance(event.output, dict):
            text = str(event.output.get("text") or event.output.get("thinking") or "")
            return prose(text, width) if text else []
    return []


def event_lines(entries: Sequence[Entry], names: Names, width: int, *, agent_id: str = "") -> list[Line]:
    """Return events as sentences, the newest last, without the name of the page's agent.

    Steps are left out, because they have their own pane. The time of a done attempt is never cut.
    """
    lines = []
    for entry in entries:
        if not is_step(entry):
            event_sentence = sentence(entry.event, names)
            text = event_sentence.text
            if getattr(entry.event, "agent_id", None) == agent_id:
                text = text.removeprefix(f"{names.of(agent_id)} ").removeprefix("was ")
            glyph, glyph_tone = event_glyph(entry.kind, entry.event)
            begin = Span(f"{clock(entry.at_ms)} ", "faint"), Span(f"{glyph} ", glyph_tone)
            room, tone = max(8, width - 11), tone_of(entry, event_sentence)
            head, done, took = text.rpartition(" in ") if isinstance(entry.event, AttemptDone) else (text, "", "")
            end = [Span(took, "muted")] if done else []
            rest = spread([Span(cut(head, room - (len(took) + 1 if done else 0)), tone)], end, room).spans
            lines.append(Line((*begin, *rest), str(entry.seq)))
    return lines
