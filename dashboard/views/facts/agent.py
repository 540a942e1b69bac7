"""The facts of an agent, with the same text in every place that shows them."""

from collections.abc import Iterator, Mapping, Sequence

from dashboard.views.drawing.facts import Fact
from dashboard.views.drawing.lines import Span
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.live_values import read_live_value
from dashboard.views.measures.activity import SLOTS_PER_SAMPLE, Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_facts
from dashboard.views.measures.usage import usage_facts
from dashboard.views.words.amounts import (
    ago,
    count,
    describe_usage,
    duration,
    moment,
    p95,
    percent,
    pluralize,
    remaining,
    size,
)
from dashboard.views.words.glyphs import ACTIVITY
from dashboard.views.words.keyed import fill_keys
from engine.core.events import AgentSwapped, Event, StepRecorded, SwapRolledBack
from engine.core.queries.targets import id_target
from engine.core.queries.team.able import why_away
from engine.core.queries.team.figures import median, success_share
from engine.core.queries.team.made import working_spec
from engine.core.queries.team.track_record import mean_of
from engine.core.queries.team.tree import supervisors_from
from engine.core.scheduler.waiting import describe_stuck_slots
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State, timer_id

MIN_SHOWN_MS = 10_000
"""Time for which an agent stays visible after its work, so that lines and boxes do not jump, in milliseconds."""
SWAPPED_MS = 60_000
"""Time for which a swap, or a switch of a strategy, is marked, in milliseconds."""
_SPARK, _METER = 12, 10


def agent_facts(
    state: State,
    agent: Agent,
    counts: Digest,
    live: Mapping[str, str],
    *,
    now_ms: int,
    activity: Activity | None = None,
    events: Sequence[Event] = (),
) -> list[Fact]:
    """Return all that is known of an agent, in groups, each in the order of its importance.

    Args:
        activity: Its recent activity; None leaves out how busy it is.
        events: Its last events, the oldest first: they know its last swap and the turns of its model.
    """
    spec, _ = working_spec(state, agent)
    return [
        *_head(agent, counts, activity, events, now_ms),
        *_program(spec),
        *_origin(state, agent),
        *_place(state, agent, spec),
        *usage_facts(agent.usage),
        *_turns(state, agent, events),
        *_figures(agent, counts, live, activity, now_ms),
        *_alerts(state, agent, now_ms),
        *limit_facts(state, agent.id, now_ms=now_ms),
        *_grants(state, agent),
        *record_facts(agent),
    ]


def _head(
    agent: Agent, counts: Digest, activity: Activity | None, events: Sequence[Event], now_ms: int
) -> Iterator[Fact]:
    mark = state_of_agent(agent, counts)
    yield Fact("state", mark.text, mark.tone, "head")
    if agent.generation == 1:
        return
    yield Fact("generation", f"g{agent.generation}", "accent", "head")
    swaps = (event for event in reversed(events) if isinstance(event, AgentSwapped | SwapRolledBack))
    swap = next((event for event in swaps if event.agent_id == agent.id), None)
    swapped_ms = activity.swapped_ms.get(agent.id) if activity is not None else None
    if swap is not None and swap.generation == agent.generation:
        yield Fact("swapped", ago(now_ms - swap.at_ms), "accent", "head", rank=5, more=f"by {swap.mode}")
    elif swapped_ms is not None:
        yield Fact("swapped", ago(now_ms - swapped_ms), "accent", "head", rank=5)


def _program(spec: AgentSpec) -> Iterator[Fact]:
    if spec.description:
        yield Fact("description", spec.description, "muted", "description")
    if spec.agent_type is not None:
        yield Fact("type", spec.agent_type, group="type")
    if spec.model:
        yield Fact("model", " or ".join([spec.model] if isinstance(spec.model, str) else spec.model), group="program")
    elif spec.run is not None:
        yield Fact("runs", str(spec.run), group="program")
    elif isinstance(argv := spec.options.get("argv"), list | tuple):
        yield Fact("runs", " ".join(map(str, argv)), group="program")
    if "temperature" in spec.options:
        yield Fact("temperature", str(spec.options["temperature"]), group="spec", rank=6)
    if spec.tools or spec.mcp:
        tools = " ".join(_name_of_tool(str(tool)) for tool in (*spec.tools, *spec.mcp))
        yield Fact("tools", tools, group="spec", rank=4)
    if spec.specialties:
        yield Fact("can", ", ".join(spec.specialties), group="spec", rank=5)


def _name_of_tool(reference: str) -> str:
    return reference.rpartition(":")[2].rpartition(".")[2] or reference


def _origin(state: State, agent: Agent) -> Iterator[Fact]:
    origin = agent.origin
    if origin is not None and origin.kind == "recipe" and origin.id in state.recipes:
        maker = "/".join(state.recipes[origin.id].path[:-1])
        yield Fact("made by", f"{maker}, recipe {origin.id}", "muted", "place", rank=6)
    elif origin is not None:
        is_found = origin.kind == "discovery"
        label, kind = ("found", "for a request:") if is_found else ("from", origin.kind)
        yield Fact(label, f"{kind} {origin.id}", "muted", "place", rank=6, more=f"content {origin.hash}")


def _place(state: State, agent: Agent, spec: AgentSpec) -> Iterator[Fact]:
    """Yield where an agent stands, with how many instances, and what it was before."""
    supervisor = state.supervisors.get(agent.supervisor_id)
    yield Fact(
        "under", supervisor.name if supervisor is not None else id_target(agent.supervisor_id), group="place", rank=2
    )
    if spec.pool is not None:
        pool = spec.pool
        grows = f"one more when {pool.grow_at} tasks wait for each, one less after {pool.idle_s:g} s without work"
        text = f"{agent.size} of {pool.min}..{pool.max} instances"
        yield Fact("pool", text, group="place", rank=1, more=grows)
    if agent.previous in state.specs:
        name = state.specs[agent.previous].name
        yield Fact("before", name, "muted", "before", more=fill_keys("<rollback:B> rolls it back"))


def _turns(state: State, agent: Agent, events: Sequence[Event]) -> Iterator[Fact]:
    """Yield what the last turns of the model of an agent say."""
    own_steps = (event for event in events if isinstance(event, StepRecorded) and event.agent_id == agent.id)
    turns = [step for step in own_steps if step.what == "model"]
    paces = [1000 * (turn.usage.tokens_out or 0) / turn.duration_ms for turn in turns if turn.duration_ms > 0]
    if paces:
        line = Span(spark([0.0, *paces], min(8, 1 + len(paces) // 2)), "plot-high")
        yield Fact("pace", f"{paces[-1]:,.0f} tokens/s", "strong", "tokens", rank=6, drawn=(line,))
    if turns:
        yield from _context(state, agent, turns[-1])


def _context(state: State, agent: Agent, turn: StepRecorded) -> Iterator[Fact]:
    """Yield the use of the model's context in a turn."""
    used_tokens = (turn.usage.tokens_in or 0) + (turn.usage.tokens_out or 0)
    if not used_tokens:
        return
    name = str(turn.input.get("model")) if isinstance(turn.input, dict) else ""
    models = (supervisor.options.models.get(name) for supervisor in supervisors_from(state, agent.supervisor_id))
    limits = (model.context_tokens for model in models if model is not None and model.context_tokens is not None)
    max_tokens = next(limits, None)
    if max_tokens is None:
        yield Fact("context", count(used_tokens), "strong", "tokens", rank=3)
        return
    share = used_tokens / max_tokens
    text = f"{percent(share)} of {count(max_tokens)}"
    yield Fact("context", text, "strong", "tokens", rank=3, drawn=meter(share, _METER, tone="accent"))


def _figures(
    agent: Agent, counts: Digest, live: Mapping[str, str], activity: Activity | None, now_ms: int
) -> Iterator[Fact]:
    if activity is not None:
        shares = activity.shares(
            agent.id, now_ms, samples=2 * _SPARK, each=SLOTS_PER_SAMPLE, slots=agent.max_concurrency
        )
        line = Span(spark(shares, _SPARK, full_value=1.0), "busy")
        yield Fact("busy", f"{percent(sum(shares) / len(shares)):>4}", "strong", "busy", 3, (line,))
    yield Fact("done", count(agent.done), "strong", "figures", rank=1)
    yield Fact("failed", count(agent.failed), "warn" if agent.failed else "muted", "figures", rank=2)
    if (share := success_share(agent.done, agent.failed)) is not None:
        yield Fact("ok", percent(share), "strong", "figures", rank=7)
    if agent.at_work_ms:
        yield Fact("p50", duration(median(agent.at_work_ms)), "strong", "figures", rank=4)
        yield Fact("p95", duration(p95(agent.at_work_ms)), "strong", "figures", rank=8)
    if waiting := counts.waiting_of[agent.id]:
        yield Fact("queue", count(waiting), "strong", "figures", rank=5)
    if agent.max_concurrency > 1:
        yield Fact("at once", count(agent.max_concurrency), "strong", "figures", rank=6)
    for task_id in reversed(agent.running):
        if isinstance(process := read_live_value(live, f"process:{task_id}"), dict):
            yield Fact("process", _describe_process(process), "strong", "figures", rank=6)
            break


def _describe_process(process: Mapping[str, object]) -> str:
    """Return the id, CPU time and memory of the process of an attempt."""
    parts = [str(process.get("pid", "–"))]
    if isinstance(cpu_s := process.get("cpu_s"), int | float):
        parts.append(f"{cpu_s:.1f} s cpu")
    if isinstance(rss_bytes := process.get("rss_bytes"), int | float):
        parts.append(size(int(rss_bytes)))
    return "  ".join(parts)


def _alerts(state: State, agent: Agent, now_ms: int) -> Iterator[Fact]:
    """Yield the problems of an agent, the worst first."""
    if agent.error is not None:
        yield Fact("error", agent.error, "error", "alerts")
    if agent.away:
        yield Fact("code", why_away(agent), "warn", "alerts")
    if agent.circuit != "closed":
        closes = fill_keys("<pause or resume:z> closes it")
        yield Fact("circuit", circuit_words(state, agent, now_ms), "warn", "alerts", more=closes)
    if (trial := agent.probation) is not None:
        goes_back = f"it goes back when {trial.failures} of {trial.tasks} do"
        text = f"{trial.failed} of its first {trial.ended} failed"
        yield Fact("on trial", text, "draining", "alerts", more=goes_back)
    if agent.stuck:
        yield Fact("stuck", stuck_since(agent, now_ms), "warn", "alerts")
    if agent.restarts:
        yield Fact("restarts", count(agent.restarts), "warn", "alerts")
    if agent.last_error not in (None, agent.error):
        yield Fact("last error", str(agent.last_error), "draining", "alerts")


def _grants(state: State, agent: Agent) -> Iterator[Fact]:
    """Yield the tools that an agent calls, or must not call, without asking."""
    for grant in state.grants.values():
        if grant.agent_id == agent.id:
            consequence = "is called without asking" if grant.allows else "is rejected without asking"
            text = f"{grant.tool} {consequence} ({grant.id})"
            yield Fact("granted", text, group="grants", more=f":revoke {grant.id} asks again")


def record_facts(agent: Agent) -> Iterator[Fact]:
    """Yield the record of an agent in each category of requests that it has worked in."""
    for category, record in sorted(agent.track_record.items()):
        if total := record.done + record.failed:
            seconds, _ = mean_of(record)
            usage = describe_usage(record.usage)
            text = f"{count(record.done)} of {count(total)} ok, {duration(seconds * 1000)} each"
            yield Fact(category or "no category", f"{text}, {usage}" if usage else text, group="records")


def swap_mark(agent: Agent, activity: Activity | None, now_ms: int) -> str:
    """Return the generation of an agent that was just swapped, or still drains the one before; empty otherwise."""
    swapped_ms = activity.swapped_ms.get(agent.id) if activity is not None else None
    is_new = agent.draining or (swapped_ms is not None and now_ms - swapped_ms < SWAPPED_MS)
    return f"◆g{agent.generation}" if is_new and agent.generation > 1 else ""


def state_of_agent(agent: Agent, counts: Digest) -> Cell:
    """Return the glyph and word of what an agent does, with the number of attempts if several are at work."""
    mark = ACTIVITY[counts.activities.of_agent(agent).kind]
    attempts = len(agent.running)
    return Cell(f"{mark.glyph} {attempts} tasks" if attempts > 1 and mark.tone == "busy" else mark.text, mark.tone)


def stuck_since(agent: Agent, now_ms: int) -> str:
    """Describe the stuck slots of an agent: since when, and what frees them."""
    first_ms = min(agent.stuck_since.values(), default=None)
    return describe_stuck_slots(agent, "" if first_ms is None else moment(first_ms, now_ms))


def circuit_words(state: State, agent: Agent, now_ms: int) -> str:
    """Describe a circuit that is not closed, and when it is tried again."""
    timer = state.timers.get(timer_id("circuit", agent.id))
    when = f"tried again in {remaining(timer.due_ms - now_ms)}" if timer is not None else "one attempt is let through"
    return f"open after {pluralize(agent.failures_in_a_row, 'failure')}, {when}"
