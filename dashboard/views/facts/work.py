"""The current work, wait reason or problem of agents, supervisors and tasks, in a few words."""

from collections.abc import Mapping

from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.live_values import read_live_value
from dashboard.views.facts.steps import last_line
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import duration, elapsed, moment, pluralize, remaining
from dashboard.views.words.glyphs import ASKS, PEOPLE, SUSPENDED, agent_mark, task_mark
from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import supervisors_from
from engine.core.scheduler.waiting import WaitReasons, describe_stuck_slots
from engine.core.state import Agent, AgentStatus, State, Supervisor, Task, timer_id


def waiting_reason(state: State, task: Task, counts: Digest, now_ms: int) -> str:
    """Return what a task waits for; empty if it does not wait."""
    wait = counts.once(WaitReasons, state).why(task)
    if wait is None:
        return ""
    if wait.until_ms is None:
        return wait.words
    left = remaining(wait.until_ms - now_ms)
    return f"{wait.words} {left}" if wait.why == "retry" else f"{wait.words}, {left} left"


def time_taken(task: Task, now_ms: int, *, max_width: int = 1_000) -> str:
    """Return the time that a task has taken so far; empty if it has not begun.

    Args:
        max_width: In cells, as in `duration`.
    """
    if task.started_ms is None:
        return ""
    if task.ended_ms is not None:
        return duration(task.ended_ms - task.started_ms, max_width=max_width)
    return elapsed(now_ms - task.started_ms, max_width=max_width) or "<1 s"


def describe_progress(live: Mapping[str, str], task_id: str) -> str:
    """Return the reported progress of a task, such as `61/120 headers`; empty for none."""
    report = read_live_value(live, f"progress:{task_id}")
    if not isinstance(report, dict):
        return ""
    done, total, note = report.get("done"), report.get("total"), report.get("note")
    number = f"{done}/{total}" if total is not None and done is not None else "" if done is None else f"{done}"
    return " ".join(part for part in (number, str(note) if note else "") if part)


MAX_PLAN_NODES = 6
"""Nodes of a graph that are listed in one line."""


def state_of_agent(state: State, agent: Agent, *, working: bool = True) -> Cell:
    """Return the glyph and word of an agent's state, with the number of attempts if there are several."""
    if working and agent.status is AgentStatus.BUSY and asks_person(state, agent):
        return Cell(ASKS.text, ASKS.tone)
    mark = agent_mark(agent, working=working)
    attempts = len(agent.running)
    more = f" ×{attempts}" if attempts > 1 and mark.word == "busy" else ""
    return Cell(mark.text + more, mark.tone)


def asks_person(state: State, agent: Agent) -> bool:
    """Tell whether an attempt of an agent waits for the answer of a person."""
    attempts = (task.attempt for task_id in agent.parked if (task := state.tasks.get(task_id)) is not None)
    return any(attempt is not None and attempt.parked_for in PEOPLE for attempt in attempts)


def now_in_brief(state: State, agent: Agent, counts: Digest, live: Mapping[str, str], now_ms: int) -> Cell:
    """Return `now_of_agent` for a narrow column: delegated work is only counted."""
    if agent.parked and not agent.running and agent.error is None and not asks_person(state, agent):
        parked = [state.tasks[task_id] for task_id in agent.parked if task_id in state.tasks]
        if open_count := sum(call.open for task in parked for call in task.calls.values()):
            return Cell(f"{open_count:,} delegated", "muted")
    return now_of_agent(state, agent, counts, live, now_ms)


def now_of_agent(state: State, agent: Agent, counts: Digest, live: Mapping[str, str], now_ms: int) -> Cell:
    """Return the current work, wait reason or problem of an agent."""
    if agent.error is not None:
        return Cell(agent.error, "error")
    if agent.away:
        return Cell(why_away(agent), "paused")
    if agent.running:
        return Cell(_current_work(state, agent, live), "")
    if (obstacle := _obstacle(state, agent, counts, now_ms)) is not None:
        return obstacle
    if agent.parked:
        return Cell(waiting_reason(state, state.tasks[next(iter(agent.parked))], counts, now_ms), "muted")
    if retrying := counts.retrying_of.get(agent.id):
        first = min(retrying, key=lambda task: task.retry_at_ms or 0)
        left = remaining((first.retry_at_ms or now_ms) - now_ms)
        return Cell(f"{first.title}: retry {first.retries} in {left}", "draining")
    if waiting := counts.waiting_of[agent.id]:
        return Cell(f"{waiting:,} waiting", "muted")
    if (planned := counts.planned_for.get(agent.id)) is not None:
        return Cell(waiting_reason(state, planned, counts, now_ms), "muted")
    return Cell("")


def _obstacle(state: State, agent: Agent, counts: Digest, now_ms: int) -> Cell | None:
    """Return why an idle agent cannot start work: its budget, its slots, its circuit, a pause above it."""
    waiting = counts.waiting_of[agent.id]
    more = f", {waiting:,} waiting" if waiting else ""
    if agent.exhausted is not None or agent.held:
        consequence = "a person is asked" if agent.held else "it gets nothing more"
        return Cell(f"its budget is spent: {consequence}{more}", "error")
    if agent.is_stuck:
        return Cell(f"{stuck_since(agent, now_ms)}{more}", "draining")
    if agent.is_shut:
        last = f": {agent.last_error}" if agent.last_error else ""
        return Cell(f"circuit {circuit_words(state, agent, now_ms)}{more}{last}", "draining")
    if agent.parked or agent.paused:
        return None
    supervisor = paused_above(state, agent.supervisor_id)
    return Cell(f"{supervisor.name} is paused{more}", "paused") if supervisor is not None else None


def stuck_since(agent: Agent, now_ms: int) -> str:
    """Describe the stuck slots of an agent: since when, and what frees them."""
    first_ms = min(agent.stuck_since.values(), default=None)
    return describe_stuck_slots(agent, "" if first_ms is None else moment(first_ms, now_ms))


def circuit_words(state: State, agent: Agent, now_ms: int) -> str:
    """Describe a circuit that is not closed, and when it is tried again."""
    timer = state.timers.get(timer_id("circuit", agent.id))
    when = f"tried again in {remaining(timer.due_ms - now_ms)}" if timer is not None else "one attempt is let through"
    return f"open after {pluralize(agent.failures_in_a_row, 'failure')}, {when}"


def paused_above(state: State, supervisor_id: str) -> Supervisor | None:
    """Return the nearest paused supervisor, from `supervisor_id` upwards."""
    return next((supervisor for supervisor in supervisors_from(state, supervisor_id) if supervisor.paused), None)


def _current_work(state: State, agent: Agent, live: Mapping[str, str]) -> str:
    # Attempts of an earlier generation first, because they hold up the swap.
    task_id, generation = min(agent.running.items(), key=lambda item: item[1])
    task = state.tasks.get(task_id)
    text = task.title if task is not None else task_id
    if generation != agent.generation:
        text += f"  → g{agent.generation}"
    if len(agent.running) > 1 and agent.status is not AgentStatus.BUSY:  # the state of a busy agent has the number
        text += f"  +{len(agent.running) - 1}"
    if activity := describe_progress(live, task_id) or last_line(live, task_id):
        text += f"  {activity}"
    return text


_MAX_STATE_WIDTH = 8
"""Cells for the number of busy agents in a column."""


def state_of_supervisor(supervisor: Supervisor, counts: Digest) -> Cell:
    """Return the state of a supervisor: its problem, or the number of busy agents below it."""
    if supervisor.error is not None:
        return Cell("✕ error", "error")
    if supervisor.leaving is not None:
        return Cell("◐ leaving", "draining")
    if supervisor.paused:
        return Cell("‖ paused", "paused")
    busy, agents = counts.busy_of[supervisor.id], counts.agents_of[supervisor.id]
    if counts.errors_of[supervisor.id] == agents and agents:
        return Cell("✕ error", "error")
    if busy and not counts.working:
        return Cell(SUSPENDED.text, SUSPENDED.tone)
    if not busy:
        return Cell("○ idle", "idle")
    forms = (f"{busy} of {agents}", f"{busy}/{agents}", f"{busy}")  # a cut number would be wrong
    return Cell(f"● {next(form for form in forms if len(form) <= _MAX_STATE_WIDTH or form is forms[-1])}", "busy")


def now_of_supervisor(state: State, supervisor: Supervisor, counts: Digest) -> Cell:
    """Return the error, the obstacle, the graph or the queue of a supervisor."""
    if supervisor.error is not None:
        return Cell(supervisor.error, "error")
    waiting = counts.waiting_of[supervisor.id]
    if supervisor.held or supervisor.exhausted is not None:
        consequence = "a person is asked" if supervisor.held else "nothing under it starts"
        return Cell(f"its budget is spent: {consequence}", "error")
    paused_supervisor = paused_above(state, supervisor.parent_id or "")
    if paused_supervisor is not None and not counts.busy_of[supervisor.id]:
        return Cell(f"{paused_supervisor.name} is paused" + (f", {waiting:,} waiting" if waiting else ""), "paused")
    if (stuck := counts.stuck_in.get(supervisor.id)) is not None:
        return Cell(f"{stuck.name}: {describe_stuck_slots(stuck)}", "draining")
    runs = [run for run in state.runs.values() if run.supervisor_id == supervisor.id]
    if runs:
        run = next((run for run in runs if run.running), runs[-1])
        nodes = [state.tasks[child] for child in state.tasks[run.root_id].children if child in state.tasks]
        others = f", and {pluralize(len(runs) - 1, 'other run')}" if len(runs) > 1 else ""
        title = plan_line(nodes) or run.title
        return Cell(f"{run.id}: {title}{others}" if others else title, "muted")
    return Cell(f"{waiting:,} waiting" if waiting else "", "muted")


def plan_line(nodes: list[Task]) -> str:
    """Return the nodes of a graph with their glyphs in one line, or a count of them."""
    if len(nodes) > MAX_PLAN_NODES:
        ended_count = sum(node.ended for node in nodes)
        return f"{ended_count} of {len(nodes)} done"
    return "  ".join(f"{task_mark(node).glyph} {node.title}" for node in nodes)
