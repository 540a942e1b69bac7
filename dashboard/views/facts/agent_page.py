"""The page of an agent: its facts above, and its steps, memory, tools, times, last tasks, generations beside. Pure."""

from collections.abc import Sequence

from dashboard.views.drawing.facts import Fact, in_groups, to_lines, to_row
from dashboard.views.drawing.lines import Line, Span, cut, indent, pad, spread
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.prose import paragraph
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent import record_facts
from dashboard.views.facts.ended import EndedTask, RecentEnd, recent_lines
from dashboard.views.facts.spec_fields import spec_lines
from dashboard.views.facts.step_table import whole_step
from dashboard.views.measures.task_times import describe_times, times_of, times_plot, turn_times
from dashboard.views.words.amounts import clock, count, duration, elapsed, pluralize, size
from dashboard.views.words.names import JournalTexts
from engine.core.events import AgentSwapped, StepRecorded, SwapRolledBack
from engine.core.queries.work.conversation import visible_exchanges
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State, Task

Section = tuple[str, str, list[Line]]
"""Title, text at the right of the title, and lines."""
SWAPPED_MIN_WIDTH = 70
"""Minimum cells of a title that says how an agent was swapped."""
MAX_INSIGHTS, MAX_EXCHANGES = 8, 4
"""Insights of the memory and exchanges of the conversation that are shown, the newest."""


def facts_lines(facts: Sequence[Fact], agent: Agent, task: Task | None, width: int, *, now_ms: int) -> list[Line]:
    """Return the lines at the top of the page; `task` is the current task of the agent, or its last one."""
    busy_ms = now_ms - task.started_ms if task is not None and task.started_ms and not task.ended else 0
    took = [Span(f"  {elapsed(busy_ms)}", "strong")] if busy_ms else []
    head = title_line(in_groups(facts, "head", "description"), agent, width - 2, right=took)
    work = [Fact("task", task.title), Fact("attempt", count(task.attempts))] if task is not None else []
    about = [*in_groups(facts, "program"), *work, *in_groups(facts, "place", "spec")]
    figures = to_row(in_groups(facts, "tokens", "cost", "busy", "figures"), width - 2, max_gap=12)
    alerts = to_lines(in_groups(facts, "alerts", "limits"), width - 1, bare={"code"}, more={"circuit", "on trial"})
    return [
        Line((Span("▌", "accent"), *head.spans)),
        *(indent(line) for line in (*to_lines(about, width - 1), figures, *alerts)),
    ]


def title_line(facts: Sequence[Fact], agent: Agent, width: int, *, right: Sequence[Span] = ()) -> Line:
    """Return the name of an agent with facts of its head, its state at the right, and after it the spans of `right`."""
    left = [Span(agent.name, "strong")]
    ends: list[Span] = []
    for fact in facts:
        if fact.label == "state":
            ends = [Span(fact.text, f"{fact.tone} bold"), *right]
        elif fact.label == "swapped":
            words = f"swapped {fact.more} {fact.text}" if width >= SWAPPED_MIN_WIDTH else fact.text
            left.append(Span(f" ◆ {' '.join(words.split())}", fact.tone))
        else:
            left.append(Span(f"  {fact.text}", fact.tone))
    return spread(left, ends, width, key=agent.id)


def step_section(entry: Entry | None, number: int, width: int, max_lines: int) -> Section:
    """Return the step under the cursor in full."""
    if entry is None:
        return ("STEP", "", [])
    event = entry.event
    took = duration(event.duration_ms) if isinstance(event, StepRecorded) else ""
    name = event.name.removeprefix("tool:") if isinstance(event, StepRecorded) else ""
    lines = [Line((Span(f"⚙ {name}", "tool bold"),))] if name else []
    return (f"STEP {number}", f"{took} · {clock(entry.at_ms)}", [*lines, *whole_step(entry, width)][:max_lines])


def memory_section(state: State, agent: Agent, texts: JournalTexts, width: int) -> Section:
    """Return the insights of an agent, the newest first."""
    insights = [state.insights[insight_id] for insight_id in reversed(agent.insights) if insight_id in state.insights]
    lines = []
    for insight in insights[:MAX_INSIGHTS]:
        tags = f"  {' '.join(f'#{tag}' for tag in insight.tags)}" if insight.tags else ""
        text = cut(" ".join(texts.of(insight.text)[: 4 * width].split()), max(8, width - 2 - len(tags)))
        lines.append(Line((Span("◇ ", "accent"), Span(text), Span(tags, "faint"))))
    return ("MEMORY", pluralize(len(insights), "insight"), lines)


def state_section(agent: Agent, width: int) -> Section:
    """Return the keys of the state that an agent keeps for itself (`ctx.state`), with their sizes."""
    lines = []
    for key, kept_value in agent.kept.items():
        amount = f"  {size(kept_value.size_bytes)}"
        name = cut(_line(key), max(8, width - 2 - len(amount)))
        lines.append(Line((Span("◆ ", "accent"), Span(name), Span(amount, "muted"))))
    total_bytes = sum(kept_value.size_bytes for kept_value in agent.kept.values())
    return ("STATE", f"{pluralize(len(lines), 'key')}, {size(total_bytes)}", lines)


def conversation_section(state: State, task: Task | None, texts: JournalTexts, width: int) -> Section:
    """Return the previous exchanges of the task's conversation."""
    exchanges = visible_exchanges(state, task) if task is not None else []
    lines = []
    for exchange in exchanges[-MAX_EXCHANGES:]:
        lines.append(Line((Span("» ", "accent"), Span(cut(_line(texts.of(exchange.request)), width - 2)))))
        lines.append(Line((Span("« ", "muted"), Span(cut(_line(texts.of(exchange.output)), width - 2), "muted"))))
    return ("CONVERSATION", pluralize(len(exchanges), "exchange"), lines)


def _line(text: str) -> str:
    return " ".join(text[:400].split())


def tools_section(steps: Sequence[Entry], width: int) -> Section:
    """Return the tools that were called, with the number and mean time of their calls."""
    calls: dict[str, list[int]] = {}
    for entry in steps:
        event = entry.event
        if isinstance(event, StepRecorded) and event.what == "tool":
            calls.setdefault(event.name.removeprefix("tool:"), []).append(event.duration_ms)
    ranked = sorted(calls.items(), key=lambda item: -len(item[1]))
    max_calls = max((len(took) for _, took in ranked), default=1)
    bar_width = min(16, max(4, width - 40))
    lines = [
        Line(
            (
                Span("⚙ ", "tool"),
                Span(pad(name, 18)),
                Span(" "),
                *meter(len(took) / max_calls, bar_width, tone="tool", rest="faint")[:1],
                Span(" " * (bar_width - round(len(took) / max_calls * bar_width + 0.49))),
                Span(f"{len(took):>4} ×", "muted"),
                Span(f"{duration(sum(took) / len(took), max_width=9):>9}"),
            )
        )
        for name, took in ranked
    ]
    return ("TOOLS", pluralize(sum(map(len, calls.values())), "call"), lines)


def generations_section(entries: Sequence[Entry], agent: Agent, width: int) -> Section:
    """Return the swaps of an agent, the newest first."""
    lines = []
    for entry in reversed(entries):
        event = entry.event
        if isinstance(event, AgentSwapped | SwapRolledBack) and event.agent_id == agent.id:
            left = (Span("◆ ", "accent"), Span(f"g{event.generation} "), Span(cut(event.spec.name, 24)))
            lines.append(
                spread(left, (Span(f"{event.mode}  {clock(entry.at_ms)}", "muted"),), width, key=str(entry.seq))
            )
    return ("GENERATIONS", f"g{agent.generation}", lines)


def record_section(agent: Agent, width: int) -> Section:
    """Return the record of an agent in each category that it has worked in."""
    lines = [spread((Span(fact.label),), (Span(fact.text, "muted"),), width) for fact in record_facts(agent)]
    return ("TRACK RECORD", "", lines)


def spec_section(spec: AgentSpec, width: int) -> list[Line]:
    """Return the fields of a spec."""
    lines: list[Line] = []
    for label, text in spec_lines(spec):
        folded = paragraph(text, width - 14, max_lines=8)
        lines += [
            Line((Span(f"{label if not at else '':<14}", "muted"), *line.spans)) for at, line in enumerate(folded)
        ]
    return lines


def error_section(agent: Agent, width: int) -> Section:
    """Return the last error of an agent in full."""
    return ("LAST ERROR", "", paragraph(agent.last_error, width, tone="error", max_lines=6) if agent.last_error else [])


def times_section(agent: Agent, entries: Sequence[Entry], steps: Sequence[Entry], width: int, rows: int) -> Section:
    """Return a plot of the times of the last turns of the model, or of the last tasks if there are no turns."""
    turns = turn_times(steps)
    times, title = (turns, "TIME A TURN") if len(turns.ms) > 1 else (times_of(agent, entries), "TIME A TASK")
    return (title, describe_times(times), times_plot(times, width, rows))


def last_section(ended_tasks: Sequence[EndedTask], width: int, now_ms: int) -> Section:
    """Return the last tasks of an agent, the newest first, with bars relative to the longest."""
    ends = [RecentEnd(task.status, task.title, task.duration_ms, task.ended_ms, task.id) for task in ended_tasks]
    return ("LAST TASKS", "", recent_lines(ends, width, now_ms=now_ms))
