"""The output of an agent: its live text, else its last text or output; and its events. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import BLANK, Line, Span, cut, spread
from dashboard.views.drawing.prose import growing_prose, paragraph, wrap_spans
from dashboard.views.event_log import Entry, tone_of
from dashboard.views.facts.now import now_of_task
from dashboard.views.facts.step_table import is_step
from dashboard.views.facts.steps import calls_of
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import clock, duration
from dashboard.views.words.glyphs import event_glyph
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import sentence
from engine.core.events import AttemptDone
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
    earlier: Sequence[Line],
    counts: Digest,
    live: Mapping[str, str],
    *,
    width: int,
    now_ms: int,
) -> AgentOutput:
    """Return what was said and done in a task, then what is written now, or what it waits for.

    Args:
        state: The team.
        task: None if the state has dropped it.
        task_id: Its id.
        earlier: Its conversation up to now.
        counts: Counters of the state.
        live: Live values by key.
        width: In cells.
        now_ms: In UTC milliseconds.
    """
    if task is None or task.ended:
        return AgentOutput("SAID", [*earlier], grows=bool(earlier))
    lines = _live_lines(live, task.id, width, now_ms)
    if not lines:
        now = now_of_task(task, counts, now_ms)
        lines = [Line((Span(now.text, now.tone),))] if now.text else []
    return AgentOutput("SAYS", [*earlier, *([BLANK] if earlier and lines else []), *lines], grows=True)


def _live_lines(live: Mapping[str, str], task_id: str, width: int, now_ms: int) -> list[Line]:
    thought, text = live.get(f"thought:{task_id}", ""), live.get(f"output:{task_id}", "")
    lines: list[Line] = []
    if thought:
        thought_lines = paragraph(thought[-_THOUGHT:], min(width, 92) - 2, tone="muted")
        lines += [Line((Span("… " if not at else "  ", "faint"), *line.spans)) for at, line in enumerate(thought_lines)]
    if text:
        lines += [*([BLANK] if lines else []), *growing_prose(text, width)]
    elif lines:
        lines[-1] = lines[-1]._replace(spans=(*lines[-1].spans, Span(" ▍", "accent")))
    for name, arguments, since_ms in calls_of(live, task_id):
        took = [Span(duration(max(0, now_ms - since_ms)), "busy")]
        call = [Span("⚙ ", "tool"), Span(name, "tool bold"), Span(f" {arguments}", "muted")]
        first, *others = wrap_spans(call, max(12, width - 10))
        lines += [spread(first, took, width), *(Line((Span("  "), *piece)) for piece in others)]
    return lines


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
