"""The `--json` objects of agents, tasks, runs and supervisors: one dict each, in shapes that scripts rely on.

Pure: from the state to values of JSON. Unknown is None, never 0. A golden file in `tests/contract` holds each shape.
See docs/reference/command-line.md.
"""

from typing import Any

from dashboard.views.measures.digest import Digest
from engine.core.activities import Activities, CurrentActivity
from engine.core.queries.targets import name_of
from engine.core.queries.team.figures import median, success_share
from engine.core.queries.team.tree import agents_of, depth_of, mean_ms_of
from engine.core.queries.work.labels import labels_of
from engine.core.records.values import Usage
from engine.core.state import Agent, Run, RunStatus, RunSummary, State, Supervisor, Task, TrackRecord

Item = dict[str, Any]


def fields_of(subject: object, names: str) -> Item:
    """Return some fields of an object, statuses as their words."""
    return {name: getattr(value := getattr(subject, name), "value", value) for name in names.split()}


def activity_item(activity: CurrentActivity) -> Item:
    """Return what an agent, a task, a run or a supervisor does now."""
    return {**fields_of(activity, "kind words since_ms until_ms"), "ids": list(activity.ids)}


def agent_item(state: State, agent: Agent, counts: Digest) -> Item:
    """Return an agent; `queue` counts the tasks that are ready and wait for it alone."""
    spec = state.spec_of(agent)
    p50_ms = median(agent.at_work_ms)
    return {
        **fields_of(agent, "id name"),
        "supervisor": name_of(state, agent.supervisor_id),
        "type": spec.agent_type,
        **fields_of(agent, "status generation"),
        "activity": activity_item(counts.activities.of_agent(agent)),
        "specialties": list(spec.specialties),
        "task_id": next(iter([*agent.running, *agent.parked]), None),
        "queue": counts.waiting_of[agent.id],
        **fields_of(agent, "done failed"),
        "success_rate": success_share(agent.done, agent.failed),
        "p50_ms": None if p50_ms is None else round(p50_ms),
        **usage_item(agent.usage),
        "instances": agent.size,
        "origin": None if agent.origin is None else fields_of(agent.origin, "kind id hash"),
        "track_record": {category: _record_item(record) for category, record in agent.track_record.items()},
    }


def _record_item(record: TrackRecord) -> Item:
    return {**fields_of(record, "done failed cancelled"), **usage_item(record.usage), "time_ms": record.usage.time_ms}


def task_item(state: State, task: Task, activities: Activities) -> Item:
    """Return a task of an agent; `waits_for` are the tasks that must end before it can start or go on."""
    worker_id = task.agent_id or task.worker_id
    return {
        **fields_of(task, "id run_id title status"),
        "activity": activity_item(activities.of_task(task)),
        "waits_for": _waits_for(state, task),
        "agent_id": worker_id,
        "agent": name_of(state, worker_id),
        "attempt": task.attempts,
        **fields_of(task, "priority deadline_ms created_ms started_ms ended_ms error"),
        "labels": {**labels_of(state, task.run_id)},
    }


def _waits_for(state: State, task: Task) -> list[str]:
    if task.ended:
        return []
    calls = () if task.attempt is None else task.attempt.waits
    awaited = [*task.after, *(child for key in calls for child in task.calls[key].children)]
    return [task_id for task_id in awaited if task_id in state.tasks and not state.tasks[task_id].ended]


def run_item(state: State, run: Run | RunSummary, activities: Activities, *, engine_alive: bool = True) -> Item:
    """Return a run; one that has not ended is suspended without an engine, and only such a run does something."""
    is_open = isinstance(run, Run)
    return {
        "id": run.id,
        "request": run.title,
        "status": (run.status if engine_alive or not is_open else RunStatus.SUSPENDED).value,
        "activity": activity_item(activities.of_run(run)) if isinstance(run, Run) else None,
        "strategy": run.strategy or None,
        "tasks_total": run.total if isinstance(run, Run) else run.tasks,
        "tasks_done": run.done,
        "started_ms": run.started_ms,
        "ended_ms": None if isinstance(run, Run) else run.ended_ms,
        **usage_item(run.usage),
        "error": run.cancelled_for or run.exceeded if isinstance(run, Run) else run.error,
        "labels": {**run.labels},
    }


def supervisor_item(state: State, supervisor: Supervisor, counts: Digest) -> Item:
    """Return a supervisor; agents, running and waiting are its own, its status is that of all below it.

    `hand_over_ms` is what a request through it took on average besides the work below it.
    """
    agents = [state.agents[member] for member in supervisor.members if member in state.agents]
    return {
        "id": supervisor.id,
        "name": supervisor.name,
        "parent": name_of(state, supervisor.parent_id),
        "strategy": supervisor.mode,
        "status": _supervisor_status(state, supervisor, agents, working=counts.working),
        "activity": activity_item(counts.activities.of_supervisor(supervisor)),
        "agents": len(agents),
        "running": sum(len(agent.running) for agent in agents),
        "waiting": sum(queue.ready for queue in state.queues.values() if queue.supervisor_id == supervisor.id),
        "depth": depth_of(state, supervisor),
        "hand_overs": supervisor.hand_overs,
        "hand_over_ms": mean_ms_of(supervisor),
    }


def _supervisor_status(state: State, supervisor: Supervisor, agents: list[Agent], *, working: bool) -> str:
    """Return error (it has failed, or all its agents are), paused, busy (an agent at any level below works) or idle.

    What is busy is suspended without an engine.
    """
    if supervisor.error is not None:
        return "error"
    if supervisor.paused:
        return "paused"
    if agents and all(agent.error is not None for agent in agents):
        return "error"
    if not any(agent.running or agent.parked for agent in agents_of(state, supervisor.id)):
        return "idle"
    return "busy" if working else "suspended"


def usage_item(usage: Usage) -> Item:
    """Return what was used."""
    return fields_of(usage, "tokens_in tokens_out tokens_cached cost_usd")
