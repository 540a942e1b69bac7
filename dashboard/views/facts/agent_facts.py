"""The first lines of the page of an agent: what it is, what it is at, what it has used, and what is wrong. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from dashboard.views.drawing.lines import Line, Span, cells, cut, fit_spans, flowed, spread
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.event_log import Entry
from dashboard.views.facts.live_values import published
from dashboard.views.facts.work import circuit_words, state_of_agent, stuck_since
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_lines
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
from dashboard.views.words.keyed import keyed
from engine.core.events import AgentSwapped, StepRecorded
from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import supervisors_from
from engine.core.records.values import dollars
from engine.core.state import Agent, State, Task

_SPARK, _METER = 12, 10
SAMPLES_EACH = 4
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
    """Return what it is, what it is at and what it has used, and what a person should know.

    Args:
        task: What it is at, or what it did last as far as the state knows that.
        steps: The steps of that, the oldest first.
        swapped: How it got its generation, where that is known.
    """
    return [
        _head(state, agent, task, counts, swapped, width, now_ms),
        *_at(state, agent, task, width),
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


def _at(state: State, agent: Agent, task: Task | None, width: int) -> list[Line]:
    """Return what it runs, and what it is at."""
    spec = state.spec_of(agent)
    model = spec.model if isinstance(spec.model, str) else " or ".join(spec.model) if spec.model else None
    argv = spec.options.get("argv")
    program = " ".join(map(str, argv)) if isinstance(argv, list | tuple) else None
    runs = None if model else str(spec.run) if spec.run is not None else program
    above = state.supervisors.get(agent.supervisor_id)
    parts = [("model", model), ("runs", runs)]
    parts += [("task", task.title), ("attempt", str(task.attempts))] if task is not None else []
    parts += [("under", above.name if above is not None else None)]
    parts += [(name, str(spec.options[name])) for name in ("temperature",) if name in spec.options]
    parts += [("tools", " ".join(_short(str(tool)) for tool in (*spec.tools, *spec.mcp)) or None)]
    parts += [("can", ", ".join(spec.specialties) or None)]
    told = [(label, cut(text, 200 if label == "tools" else 60)) for label, text in parts if text]
    return flowed(([Span(f"{label} ", "muted"), Span(text)] for label, text in told), width)


def _short(reference: str) -> str:
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
    parts = _of_model(state, agent, steps) if is_known(agent.usage) else []
    shares = activity.shares(
        agent.id, now_ms, samples=2 * _SPARK, each=SAMPLES_EACH, slots=max(1, agent.max_concurrency)
    )
    busy = sum(shares) / len(shares)
    worked = [Span("busy ", "muted"), Span(spark(shares, _SPARK, most=1.0), "busy"), Span(f" {percent(busy):>4}")]
    ended = agent.done + agent.failed
    parts += [
        worked,
        [Span("done ", "muted"), Span(count(agent.done), "strong")],
        [Span("failed ", "muted"), Span(count(agent.failed), "warn" if agent.failed else "muted")],
        [Span("p50 ", "muted"), Span(duration(median(agent.at_work_ms)), "strong")],
        [Span("queue ", "muted"), Span(count(counts.waiting_of[agent.id]), "strong")],
        *([_process(live, task.id)] if task is not None and f"process:{task.id}" in live else []),
        [Span("ok ", "muted"), Span(percent(agent.done / ended if ended else None))],
    ]
    return _spread([part for part in parts if part], width)


def _of_model(state: State, agent: Agent, steps: Sequence[Entry]) -> list[list[Span]]:
    usage, spec = agent.usage, state.spec_of(agent)
    out = [[Span("in ", "muted"), Span(_amount(usage.tokens_in), "strong")]]
    out.append([Span("out ", "muted"), Span(_amount(usage.tokens_out), "strong"), *_pace(steps)])
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


def _amount(tokens: int | None) -> str:
    return count(tokens) if tokens is None or tokens < 10_000 else f"{tokens / 1_000:,.1f}k"


def _pace(steps: Sequence[Entry]) -> list[Span]:
    """Return how many tokens the model writes a second, in its last turns."""
    turns = [one.event for one in steps if isinstance(one.event, StepRecorded) and one.event.what == "model"]
    paces = [1000 * (turn.usage.tokens_out or 0) / turn.duration_ms for turn in turns if turn.duration_ms > 0]
    if not paces:
        return []
    return [Span(f" {spark([0.0, *paces], min(8, 1 + len(paces) // 2))}", "plot-high"), Span(f" {paces[-1]:,.0f}/s")]


def context_of(state: State, agent: Agent, steps: Sequence[Entry]) -> list[list[Span]]:
    """Return how full the context of the model was in the last turn."""
    turns = [one.event for one in steps if isinstance(one.event, StepRecorded) and one.event.what == "model"]
    held = (turns[-1].usage.tokens_in or 0) + (turns[-1].usage.tokens_out or 0) if turns else 0
    if not held:
        return []
    named = turns[-1].input.get("model") if isinstance(turns[-1].input, dict) else None
    models = (one.options.models.get(str(named)) for one in supervisors_from(state, agent.supervisor_id))
    most = next((one.context_tokens for one in models if one is not None and one.context_tokens is not None), None)
    label = Span("context ", "muted")
    if most is None:
        return [[label, Span(_amount(held), "strong")]]
    share = held / most
    return [[label, *meter(share, _METER, tone="accent"), Span(f" {percent(share)} of {_amount(most)}")]]


def _process(live: Mapping[str, str], task_id: str) -> list[Span]:
    """Return what the process of an attempt uses."""
    told = published(live, f"process:{task_id}")
    if not isinstance(told, dict):
        return []
    out = [Span("process ", "muted"), Span(str(told.get("pid", "–")))]
    if isinstance(cpu := told.get("cpu_s"), int | float):
        out += [Span(f"  {cpu:.1f} s", "strong"), Span(" cpu", "muted")]
    if isinstance(rss := told.get("rss_bytes"), int | float):
        out += [Span(f"  {size(int(rss))}", "strong")]
    return out


def _spread(parts: list[list[Span]], width: int) -> Line:
    """Return parts with even air between them; the last ones fall away where there is no room."""
    kept = list(parts)
    while len(kept) > 1 and sum(map(cells, kept)) + 5 * (len(kept) - 1) + 2 > width:
        kept.pop()
    free = width - 2 - sum(map(cells, kept))
    gap = min(12, free // (len(kept) - 1)) if len(kept) > 1 else 0
    spans = [Span(" ")]
    for place, part in enumerate(kept):
        if place:
            spans.append(Span("│".center(gap), "line"))
        spans += part
    return Line(fit_spans(spans, width))


def _alerts(state: State, agent: Agent, width: int, now_ms: int) -> list[Line]:
    """Return what a person should know of it; nothing of an agent that works as usual."""
    found: list[tuple[str, str]] = []
    if agent.error is not None:
        found.append((f"✕ {agent.error}", "error"))
    if agent.away:
        found.append((why_away(agent), "warn"))
    if agent.circuit != "closed":
        closes = keyed("<pause or resume:z> closes it")
        found.append((f"circuit {circuit_words(state, agent, now_ms)}; {closes}", "warn"))
    if agent.probation is not None:
        trial = agent.probation
        found.append(
            (f"on trial: {trial.failed} of its first {trial.ended} failed, back at {trial.failures}", "draining")
        )
    if agent.stuck:
        found.append((stuck_since(agent, now_ms), "warn"))
    found += [(f"{one.label} {one.text}", one.tone or "muted") for one in limit_lines(state, agent.id, now_ms=now_ms)]
    if agent.restarts:
        found.append((f"restarted {pluralize(agent.restarts, 'time')}", "warn"))
    if agent.last_error is not None and agent.error is None:
        found.append((f"last error: {agent.last_error}", "draining"))
    return flowed(([Span(text, tone)] for text, tone in found), width)
