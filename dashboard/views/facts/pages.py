"""Describes one object as paragraphs: an agent, a task, a run, an event."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from dashboard.views.drawing.facts import Fact, in_groups, to_cell, to_cells
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.now import now_of_task
from dashboard.views.facts.run import run_facts
from dashboard.views.facts.spec_fields import spec_lines
from dashboard.views.facts.steps import latest_steps, live_cells, step_cells
from dashboard.views.facts.supervisor import supervisor_facts
from dashboard.views.facts.task import task_facts
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.words.absent import absence
from dashboard.views.words.amounts import clock, elapsed, moment
from dashboard.views.words.glyphs import TASK, task_mark
from dashboard.views.words.names import JournalTexts, pretty
from dashboard.views.words.sentences import Sentence
from engine.core.events import Event
from engine.core.queries.targets import id_target
from engine.core.records.values import as_text
from engine.core.scheduler.waiting import ready_in
from engine.core.state import Agent, Run, State, Supervisor

BLANK = Cell("")
MAX_AGENT_STEPS = 6
"""Steps of an agent that are shown."""
MAX_SHOWN = 20
"""Tasks of a list that are shown."""
History = Sequence[tuple[int, int, Sentence]]
"""Events of one object: seq, at_ms, sentence."""


def agent_page(
    state: State,
    agent_id: str,
    counts: Digest,
    live: Mapping[str, str],
    history: History,
    *,
    now_ms: int,
    activity: Activity | None = None,
    events: Sequence[Event] = (),
) -> list[Cell]:
    """Return the page of an agent; `activity` and `events` as in `agent_facts`."""
    agent = state.agents.get(agent_id)
    if agent is None:
        return [Cell(absence(state, agent_id), "muted"), BLANK, *_history(history)]
    facts = agent_facts(state, agent, counts, live, now_ms=now_ms, activity=activity, events=events)
    cells = _member_cells("agent", agent, facts)
    if records := in_groups(facts, "records"):
        cells += [BLANK, Cell("TRACK RECORD", "muted"), *(Cell(f"{fact.label}: {fact.text}") for fact in records)]
    spec = [BLANK, Cell("SPEC", "muted"), *(labelled_cell(*line) for line in spec_lines(state.spec_of(agent)))]
    at_work = [BLANK, Cell("AT WORK", "muted"), *_at_work(state, agent_id, counts, live, now_ms)]
    says = any(f"{key}:{task_id}" in live for task_id in agent.running for key in ("output", "thought", "call"))
    cells += [*at_work, *spec] if says else [*spec, *at_work]
    cells += _section("LAST STEPS", step_cells(latest_steps(events, MAX_AGENT_STEPS)))
    return [*cells, BLANK, Cell("LAST EVENTS", "muted"), *_history(history)]


def _member_cells(kind: str, member: Agent | Supervisor, facts: Sequence[Fact]) -> list[Cell]:
    """Return what is known of an agent or a supervisor, without its settings; figures share a line."""
    usage = in_groups(facts, "tokens", "cost")
    return [
        labelled_cell(kind, f"{member.name}  ({id_target(member.id)})", "strong"),
        *to_cells(in_groups(facts, "head", "before", "place", "strategy")),
        to_cell("work", in_groups(facts, "busy", "figures")),
        *([to_cell("usage", usage)] if usage else []),
        *to_cells(in_groups(facts, "hand-over", "limits", "alerts", "grants")),
    ]


def supervisor_page(
    state: State,
    supervisor: Supervisor,
    counts: Digest,
    history: History,
    *,
    now_ms: int,
    activity: Activity | None = None,
) -> list[Cell]:
    """Return the page of a supervisor; `activity` as in `supervisor_facts`."""
    facts = supervisor_facts(state, supervisor, counts, now_ms=now_ms, activity=activity)
    cells = _member_cells("supervisor", supervisor, facts)
    cells += [BLANK, Cell("SETTINGS", "muted"), *to_cells(in_groups(facts, "settings", "options"), wide=14)]
    cells += _section("SEARCHES", to_cells(in_groups(facts, "searches")))
    return [*cells, BLANK, Cell("LAST EVENTS", "muted"), *_history(history)]


def _at_work(state: State, agent_id: str, counts: Digest, live: Mapping[str, str], now_ms: int) -> Iterable[Cell]:
    agent = state.agents[agent_id]
    for task_id, generation in (*agent.running.items(), *agent.parked.items()):
        task = state.tasks[task_id]
        status, mark = now_of_task(task, counts, now_ms).text, task_mark(task, counts.activities)
        since = elapsed(now_ms - (task.started_ms or now_ms))
        yield Cell(f"{task.title}  g{generation}  {since}  {status}", "", f"{mark.glyph} ")
        for cell in live_cells(live, task_id, now_ms, max_characters=600):
            yield Cell(cell.text, cell.tone, f"  {cell.lead}")
    queue = state.queues.get(f"agent:{agent_id}")
    waiting = list(islice(ready_in(state, queue.key), MAX_SHOWN)) if queue is not None else []
    for task_id in waiting:
        yield Cell(state.tasks[task_id].title, "muted", "◌ ")
    if queue is not None and queue.ready > MAX_SHOWN:
        yield Cell(f"and {queue.ready - MAX_SHOWN:,} more that wait", "muted", "  ")
    if not agent.running and not agent.parked and not waiting:
        yield Cell("nothing", "faint")


def task_page(
    state: State,
    task_id: str,
    counts: Digest,
    live: Mapping[str, str],
    texts: JournalTexts,
    history: History,
    *,
    now_ms: int,
    steps: Sequence[Event] = (),
    prompt: str = "",
) -> list[Cell]:
    """Return the page of a task; after the end of its run only steps and events are left.

    `steps` are its events, the oldest first; `prompt` is the prompt of its model.
    """
    task = state.tasks.get(task_id)
    done = [*_section("STEPS", step_cells(latest_steps(steps))), *_text("PROMPT", prompt)]
    if task is None:
        notice = Cell("its run has ended; this is what happened", "muted")
        return [notice, *done, BLANK, Cell("EVENTS", "muted"), *_history(history)]
    facts = task_facts(state, task, counts, live, now_ms=now_ms)
    groups = ("head", "agent", "about", "defaults", "kept", "plan", "order", "limits", "alerts", "steers")
    cells = [labelled_cell("task", f"{task.title}  ({task.id})", "strong"), *to_cells(in_groups(facts, *groups))]
    if not task.ended:
        cells += _section("NOW", live_cells(live, task_id, now_ms))
    cells += _text("INPUT", texts.of(task.input)) + _text("OUTPUT", texts.of(task.output))
    return [*cells, *done, BLANK, Cell("EVENTS", "muted"), *_history(history)]


def run_page(state: State, run_id: str, counts: Digest, texts: JournalTexts, *, now_ms: int) -> list[Cell]:
    """Return the page of a run: its request and its result."""
    summary, run = state.summary(run_id), state.runs.get(run_id)
    record = run or summary
    if record is None:
        return [Cell(absence(state, run_id), "muted")]
    facts = run_facts(state, record, counts, now_ms=now_ms)
    cells = [
        labelled_cell("run", record.id, "strong"),
        *to_cells(in_groups(facts, "head", "strategy", "progress")),
        to_cell("tasks", in_groups(facts, "figures")),
        *to_cells(in_groups(facts, "spent", "defaults", "terms", "limits", "alerts")),
    ]
    output = texts.of(summary.output) if summary is not None else ""
    cells += _text("OUTPUT", output) + _text("REQUEST", texts.of(record.request))
    if run is not None:
        status = "still at work" if counts.working else "goes on with the next engine"
        cells += [*_plan(state, run), BLANK, Cell(f"{status}; its output will appear here", "faint")]
    return cells


def _plan(state: State, run: Run) -> Iterable[Cell]:
    """Yield the nodes of a run's graph with their progress."""
    nodes = state.tasks[run.root_id].children
    yield from [BLANK, Cell("PLAN", "muted")] if nodes else []
    for task_id in nodes[:MAX_SHOWN]:
        node = state.tasks[task_id]
        parts = [state.tasks[child] for child in node.children]
        far = f"  {sum(part.ended for part in parts)} of {len(parts)}" if parts else ""
        mark = TASK[node.status]
        yield Cell(f"{node.title}{far}", mark.tone, f"{mark.glyph} ")
    if len(nodes) > MAX_SHOWN:
        yield Cell(f"and {len(nodes) - MAX_SHOWN:,} more", "muted", "  ")


def entity_page(entity: Any, history: History) -> list[Cell]:
    """Return the page of any other object: its fields that are not empty, and its events."""
    fields = msgspec.to_builtins(entity, str_keys=True, enc_hook=str)
    values = {name.removesuffix("_id").replace("_", " "): value for name, value in _non_empty_fields(fields).items()}
    wide = max(12, *(len(name) + 2 for name in values))
    cells = [labelled_cell(name, as_text(value), wide=wide) for name, value in values.items()]
    return [*cells, BLANK, Cell("LAST EVENTS", "muted"), *_history(history)]


def _non_empty_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields without empty values, also inside nested records."""
    pruned_fields = {
        name: _non_empty_fields(value) if isinstance(value, dict) else value for name, value in fields.items()
    }
    return {name: value for name, value in pruned_fields.items() if value not in (None, "", [], {}, False)}


def event_page(seq: int, at_ms: int, kind: str, body: bytes, sentence: Sentence, *, now_ms: int) -> list[Cell]:
    """Return the page of an event, with its body."""
    return [
        labelled_cell("event", f"{seq:,}", "strong"),
        labelled_cell("kind", kind),
        labelled_cell("at", moment(at_ms, now_ms)),
        labelled_cell("means", sentence.text, sentence.tone),
        BLANK,
        Cell(pretty(body)),
    ]


def _text(title: str, text: str) -> list[Cell]:
    return [BLANK, Cell(title, "muted"), Cell(text)] if text else []


def _section(title: str, cells: list[Cell]) -> list[Cell]:
    return [BLANK, Cell(title, "muted"), *cells] if cells else []


def _history(history: History) -> Iterable[Cell]:
    for seq, at_ms, sentence in history:
        yield Cell(sentence.text, sentence.tone, f"{clock(at_ms)}  {seq:>9,}  ")
    if not history:
        yield Cell("none yet", "faint")
