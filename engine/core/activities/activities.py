"""What every agent, supervisor and task of a state does: one object for each look, which computes what is asked.

Rule: an agent does the first of what its attempts do. Without an attempt it does the first of what holds it up itself
and of the tasks that only it can do next; only then it is idle.
"""

from collections.abc import Iterator, Mapping

from engine.core.activities.kinds import CurrentActivity, first_of
from engine.core.activities.live import Live
from engine.core.activities.tasks import TaskActivities
from engine.core.activities.words import one_line
from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import copy_with
from engine.core.records.values import pluralize
from engine.core.scheduler.waiting import describe_stuck_slots
from engine.core.state import Agent, State, Supervisor, Task, timer_id


class Activities:
    """The activities of one state; the state must not change meanwhile.

    Args:
        live: Live records by task id (`parse_live`); empty for a past state.
        now_ms: The time of the look, UTC milliseconds.
        working: Whether an engine works on the team; without one, all open work is suspended.
    """

    def __init__(self, state: State, live: Mapping[str, Live], now_ms: int, *, working: bool = True) -> None:
        self._state = state
        self._working = working
        self._tasks = TaskActivities(state, live, now_ms, working=working)
        self._agents: dict[str, CurrentActivity] = {}
        self._waiting: dict[str, list[Task]] | None = None

    def of_task(self, task: Task) -> CurrentActivity:
        """Return what a task does; an ended one is idle."""
        return self._tasks.of_task(task)

    def of_agent(self, agent: Agent) -> CurrentActivity:
        """Return what an agent does."""
        activity = self._agents.get(agent.id)
        if activity is None:
            activity = self._agents[agent.id] = self._find(agent)
        return activity

    def of_supervisor(self, supervisor: Supervisor) -> CurrentActivity:
        """Return the first activity of a supervisor and of all agents below it."""
        state = self._state
        if supervisor.error is not None:
            return CurrentActivity(kind="error", words=one_line(supervisor.error), ids=(supervisor.id,))
        first: CurrentActivity | None = self.obstacle_above(supervisor) or CurrentActivity(kind="idle")
        for member_id in supervisor.members:
            if (agent := state.agents.get(member_id)) is not None:
                member_name, activity = agent.name, self.of_agent(agent)
            elif (team := state.supervisors.get(member_id)) is not None:
                member_name, activity = team.name, self.of_supervisor(team)
            else:
                continue
            if first_of(first, activity) is activity:
                first = copy_with(activity, words=one_line(f"{member_name}: {activity.words}".removesuffix(": ")))
        assert first is not None
        return first

    def _find(self, agent: Agent) -> CurrentActivity:
        attempts = [*agent.running, *agent.parked]
        if not self._working and (attempts or self._tasks_of(agent)):
            return CurrentActivity(kind="suspended", words="no engine works on it", ids=tuple(attempts))
        if agent.away:
            return CurrentActivity(kind="away", words=one_line(why_away(agent)), ids=(agent.id,))
        if agent.error is not None:
            return CurrentActivity(kind="error", words=one_line(agent.error), ids=(agent.id,))
        if agent.is_stuck:
            since_ms = min(agent.stuck_since.values(), default=None)
            return CurrentActivity(
                kind="stuck",
                words=one_line(describe_stuck_slots(agent)),
                since_ms=since_ms,
                ids=tuple(agent.stuck_since),
            )
        first: CurrentActivity | None = None
        for task_id in attempts:
            first = first_of(first, self._tasks.of_task(self._state.tasks[task_id]))
        if first is not None:
            more = f" +{len(attempts) - 1}" if len(attempts) > 1 else ""
            return copy_with(first, words=f"{first.words}{more}") if more else first
        for activity in self._without_attempt(agent):
            first = first_of(first, activity)
        return first or CurrentActivity(kind="idle", since_ms=agent.idle_since_ms or None)

    def _without_attempt(self, agent: Agent) -> Iterator[CurrentActivity]:
        """Yield what holds an agent up, and what the tasks do that it has to do next."""
        state = self._state
        waiting_tasks = self._tasks_of(agent)
        if agent.exhausted is not None or agent.held:
            yield self._tasks.held_by("its own budget", agent.id)
        if agent.removing is not None:
            yield CurrentActivity(kind="draining", words="leaves", ids=(agent.id,))
        if agent.is_shut:
            timer = state.timers.get(timer_id("circuit", agent.id))
            words = f"circuit open after {pluralize(agent.failures_in_a_row, 'failure')}"
            due_ms = None if timer is None else timer.due_ms
            yield CurrentActivity(kind="circuit", words=words, until_ms=due_ms, ids=(agent.id,))
        if agent.paused:
            yield CurrentActivity(kind="paused", words="paused", ids=(agent.id,))
        elif (obstacle := self.obstacle_above(state.supervisors[agent.supervisor_id])) is not None:
            yield obstacle
        for task in waiting_tasks:
            yield self._tasks.of_task(task)

    def obstacle_above(self, supervisor: Supervisor) -> CurrentActivity | None:
        """Return what stops everything below a supervisor."""
        first: CurrentActivity | None = None
        for ancestor in lineage_of(self._state, supervisor):
            if ancestor.held or ancestor.exhausted is not None:
                first = first_of(first, self._tasks.held_by(f"the budget of {ancestor.name}", ancestor.id))
            if ancestor.paused:
                first = first_of(
                    first,
                    CurrentActivity(kind="paused", words=f"supervisor {ancestor.name} is paused", ids=(ancestor.id,)),
                )
            if ancestor.error is not None or ancestor.leaving is not None:
                words = ancestor.error or "it leaves"
                stopped = CurrentActivity(
                    kind="stopped", words=one_line(f"{ancestor.name}: {words}"), ids=(ancestor.id,)
                )
                first = first_of(first, stopped)
        return first

    def _tasks_of(self, agent: Agent) -> list[Task]:
        """Return its open tasks without an attempt: in its queue, tried last by it, or that it alone can do."""
        if self._waiting is None:
            self._waiting = _tasks_by_agent(self._state)
        return self._waiting.get(agent.id, [])


def _tasks_by_agent(state: State) -> dict[str, list[Task]]:
    waiting: dict[str, list[Task]] = {}
    only: dict[str, str] = {key: queue.agents[0] for key, queue in state.queues.items() if len(queue.agents) == 1}
    for task in state.tasks.values():
        if task.attempt is not None or task.kind != "agent" or task.ended:
            continue
        own_id = only.get(task.queue or "")
        if own_id is not None:
            waiting.setdefault(own_id, []).append(task)
        if task.agent_id is not None and task.agent_id != own_id:
            waiting.setdefault(task.agent_id, []).append(task)
        if task.worker_id in state.agents and task.worker_id not in (own_id, task.agent_id):
            waiting.setdefault(task.worker_id or "", []).append(task)
    return waiting


def activity(
    state: State, agent: Agent, live: Mapping[str, Live], now_ms: int, *, working: bool = True
) -> CurrentActivity:
    """Return what an agent does; for several of one state, use `Activities`."""
    return Activities(state, live, now_ms, working=working).of_agent(agent)


def activity_of_task(
    state: State, task: Task, live: Mapping[str, Live], now_ms: int, *, working: bool = True
) -> CurrentActivity:
    """Return what a task does; for several of one state, use `Activities`."""
    return Activities(state, live, now_ms, working=working).of_task(task)
