"""The first lines of the page of an agent: its state, its work, its figures, and its problems. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from dashboard.views.drawing.lines import Line, Span, cell_width, cut, fit_spans, flow, spread
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.event_log import Entry
from dashboard.views.facts.live_values import read_live_value
from dashboard.views.facts.work import circuit_words, state_of_agent, stuck_since
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_facts
from dashboard.views.words.amounts import (
    count,
    duration,
    elapsed,
    is_known,
    median,
    money,
    percent,
    pluralize,
    size,
)
from dashboard.views.words.keyed import fill_keys
from engine.core.events import AgentSwapped, StepRecorded
from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import supervisors_from
from engine.core.records.values import dollars
from engine.core.state import Agent, State, Task

_SPARK, _METER = 12, 10
SLOTS_PER_SAMPLE = 4
"""Quarter seconds of a sample of the sparkline."""


def agent_facts(
    state: State,
    agent: Agent,
    task: Task | None,
    steps: Sequence[Entry],
    counts: Digest,
    live: Mapping[str, str],
    activity: Activity,
    *,
    swapped: AgentSwapped | None = None,
    width: int,
    now_ms: int,
) -> list[Line]:
    """Return the state, the current work, the figures and the problems of an agent.

    Args:
        task: Its current task, or its last one if the state still has it.
        steps: The steps of that task, the oldest first.
        swapped: The swap to its current generation, if known.
    """
    return [
        _head(state, agent, task, counts, swapped, width, now_ms),
        *_current_work(state, agent, task, width),
        _figures(state, agent, task, steps, counts, live, activity, width, now_ms),
        *_alerts(state, agent, width, now_ms),
    ]


def _head(
    state: State, agent: Agent, task: Task | None, counts: Digest, swapped: AgentSwapped | None, width: int, now_ms: int
) -> Line:
    now, spec = state_of_agent(state, agent, working=counts.working), state.spec_of(agent)
    left = [Span("▌", "accent"), Span(agent.name, "strong"), Span(f"  g{agent.generation}", "accent")]
    if swapped is not None and swapped.generation == agent.generation:
        ago = duration((now_ms - swapped.at_ms) // 1000 * 1000)
        left.append(Span(f" ◆ swapped by {swapped.mode} {ago} ago", "accent"))
    if spec.description:
        left.append(Span(f"   {spec.description}", "muted"))
    busy_ms = now_ms - task.started_ms if task is not None and task.started_ms and not task.ended else 0
    right = [Span(now.text, f"{now.tone} bold"), Span(f"  {elapsed(busy_ms)} " if busy_ms else " ", "strong")]
    return spread(left, right, width)


def _current_work(state: State, agent: Agent, task: Task | None, width: int) -> list[Line]:
    """Return the program and the task of an agent."""
    spec = state.spec_of(agent)
    model = spec.model if isinstance(spec.model, str) else " or ".join(spec.model) if spec.model else None
    argv = spec.options.get("argv")
    program = " ".join(map(str, argv)) if isinstance(argv, list | tuple) else None
    runs = None if model else str(spec.run) if spec.run is not None else program
    supervisor = state.supervisors.get(agent.supervisor_id)
    parts = [("model", model), ("runs", runs)]
    parts += [("task", task.title), ("attempt", str(task.attempts))] if task is not None else []
    parts += [("under", supervisor.name if supervisor is not None else None)]
    parts += [(name, str(spec.options[name])) for name in ("temperature",) if name in spec.options]
    parts += [("tools", " ".join(_tool_name(str(tool)) for tool in (*spec.tools, *spec.mcp)) or None)]
    parts += [("can", ", ".join(spec.specialties) or None)]
    fields = [(label, cut(text, 200 if label == "tools" else 60)) for label, text in parts if text]
    return flow(([Span(f"{label} ", "muted"), Span(text)] for label, text in fields), width)


def _tool_name(reference: str) -> str:
    return reference.rpartition(":")[2].rpartition(".")[2] or reference


def _figures(
    state: State,
    agent: Agent,
    task: Task | None,
    steps: Sequence[Entry],
    counts: Digest,
    live: Mapping[str, str],
    activity: Activity,
    width: int,
    now_ms: int,
) -> Line:
    parts = _model_figures(state, agent, steps) if is_known(agent.usage) else []
    shares = activity.shares(
        agent.id, now_ms, samples=2 * _SPARK, each=SLOTS_PER_SAMPLE, slots=max(1, agent.max_concurrency)
    )
    busy = sum(shares) / len(shares)
    worked = [Span("busy ", "muted"), Span(spark(shares, _SPARK, full_value=1.0), "busy"), Span(f" {percent(busy):>4}")]
    ended_count = agent.done + agent.failed
    parts += [
        worked,
        [Span("done ", "muted"), Span(count(agent.done), "strong")],
        [Span("failed ", "muted"), Span(count(agent.failed), "warn" if agent.failed else "muted")],
        [Span("p50 ", "muted"), Span(duration(median(agent.at_work_ms)), "strong")],
        [Span("queue ", "muted"), Span(count(counts.waiting_of[agent.id]), "strong")],
        *([_process(live, task.id)] if task is not None and f"process:{task.id}" in live else []),
        [Span("ok ", "muted"), Span(percent(agent.done / ended_count if ended_count else None))],
    ]
    return _spread([part for part in parts if part], width)


def _model_figures(state: State, agent: Agent, steps: Sequence[Entry]) -> list[list[Span]]:
    usage, spec = agent.usage, state.spec_of(agent)
    out = [[Span("in ", "muted"), Span(_token_count(usage.tokens_in), "strong")]]
    out.append([Span("out ", "muted"), Span(_token_count(usage.tokens_out), "strong"), *_pace_spans(steps)])
    out += context_of(state, agent, steps)
    limit = spec.limits.cost_usd if spec.limits is not None else None
    cost = [Span("cost ", "muted"), Span(money(usage), "strong")]
    if limit and usage.cost_usd is not None:
        cost += [
            Span(" "),
            *meter(float(usage.cost_usd / Decimal(limit)), _METER, tone="accent"),
            Span(f" of {dollars(Decimal(str(limit)))}", "muted"),
        ]
    return [*out, cost]


def _token_count(tokens: int | None) -> str:
    return count(tokens) if tokens is None or tokens < 10_000 else f"{tokens / 1_000:,.1f}k"


def _pace_spans(steps: Sequence[Entry]) -> list[Span]:
    """Return the output tokens per second of the model's last turns."""
    turns = [step.event for step in steps if isinstance(step.event, StepRecorded) and step.event.what == "model"]
    paces = [1000 * (turn.usage.tokens_out or 0) / turn.duration_ms for turn in turns if turn.duration_ms > 0]
    if not paces:
        return []
    return [Span(f" {spark([0.0, *paces], min(8, 1 + len(paces) // 2))}", "plot-high"), Span(f" {paces[-1]:,.0f}/s")]


def context_of(state: State, agent: Agent, steps: Sequence[Entry]) -> list[list[Span]]:
    """Return the use of the model's context in its last turn."""
    turns = [step.event for step in steps if isinstance(step.event, StepRecorded) and step.event.what == "model"]
    used_tokens = (turns[-1].usage.tokens_in or 0) + (turns[-1].usage.tokens_out or 0) if turns else 0
    if not used_tokens:
        return []
    named = turns[-1].input.get("model") if isinstance(turns[-1].input, dict) else None
    models = (supervisor.options.models.get(str(named)) for supervisor in supervisors_from(state, agent.supervisor_id))
    max_tokens = next(
        (model.context_tokens for model in models if model is not None and model.context_tokens is not None), None
    )
    label = Span("context ", "muted")
    if max_tokens is None:
        return [[label, Span(_token_count(used_tokens), "strong")]]
    share = used_tokens / max_tokens
    return [[label, *meter(share, _METER, tone="accent"), Span(f" {percent(share)} of {_token_count(max_tokens)}")]]


def _process(live: Mapping[str, str], task_id: str) -> list[Span]:
    """Return the CPU time and memory of an attempt's process."""
    usage = read_live_value(live, f"process:{task_id}")
    if not isinstance(usage, dict):
        return []
    out = [Span("process ", "muted"), Span(str(usage.get("pid", "–")))]
    if isinstance(cpu := usage.get("cpu_s"), int | float):
        out += [Span(f"  {cpu:.1f} s", "strong"), Span(" cpu", "muted")]
    if isinstance(rss := usage.get("rss_bytes"), int | float):
        out += [Span(f"  {size(int(rss))}", "strong")]
    return out


def _spread(parts: list[list[Span]], width: int) -> Line:
    """Return parts with even gaps; the last ones are dropped if they do not fit."""
    visible_parts = list(parts)
    while len(visible_parts) > 1 and sum(map(cell_width, visible_parts)) + 5 * (len(visible_parts) - 1) + 2 > width:
        visible_parts.pop()
    free = width - 2 - sum(map(cell_width, visible_parts))
    gap = min(12, free // (len(visible_parts) - 1)) if len(visible_parts) > 1 else 0
    spans = [Span(" ")]
    for place, part in enumerate(visible_parts):
        if place:
            spans.append(Span("│".center(gap), "line"))
        spans += part
    return Line(fit_spans(spans, width))


def _alerts(state: State, agent: Agent, width: int, now_ms: int) -> list[Line]:
    """Return the problems of an agent."""
    alerts: list[tuple[str, str]] = []
    if agent.error is not None:
        alerts.append((f"✕ {agent.error}", "error"))
    if agent.away:
        alerts.append((why_away(agent), "warn"))
    if agent.circuit != "closed":
        closes = fill_keys("<pause or resume:z> closes it")
        alerts.append((f"circuit {circuit_words(state, agent, now_ms)}; {closes}", "warn"))
    if agent.probation is not None:
        trial = agent.probation
        alerts.append(
            (f"on trial: {trial.failed} of its first {trial.ended} failed, back at {trial.failures}", "draining")
        )
    if agent.stuck:
        alerts.append((stuck_since(agent, now_ms), "warn"))
    alerts += [
        (f"{limit.label} {limit.text}", limit.tone or "muted") for limit in limit_facts(state, agent.id, now_ms=now_ms)
    ]
    if agent.restarts:
        alerts.append((f"restarted {pluralize(agent.restarts, 'time')}", "warn"))
    if agent.last_error is not None and agent.error is None:
        alerts.append((f"last error: {agent.last_error}", "draining"))
    return flow(([Span(text, tone)] for text, tone in alerts), width)
