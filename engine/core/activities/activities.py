"""What every agent, supervisor and task of a state does: one object for each look, which computes what is asked.

Rule: an agent does the first of what its attempts do. Without an attempt it does the first of what holds it up itself
and of the tasks that only it can do next; only then it is idle.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from engine.core.activities.kinds import RANKS, ActivityKind, CurrentActivity, first_of
from engine.core.activities.live import Live
from engine.core.activities.tasks import TaskActivities, unlike_tasks
from engine.core.activities.words import MAX_REASON, one_line, with_name
from engine.core.queries.team.able import why_away
from engine.core.queries.team.tree import lineage_of
from engine.core.queries.work.critical_path import OpenStep
from engine.core.queries.work.pauses import describe_pause
from engine.core.queries.work.times import stopped_since_ms
from engine.core.records.records import copy_with
from engine.core.records.values import pluralize
from engine.core.scheduler.waiting import describe_stuck_slots
from engine.core.state import Agent, Run, State, Supervisor, Task, timer_id

_CANDIDATES = 20
"""Tasks of a larger run that came first a moment ago and are compared again, instead of all of it."""


class Activities:
    """The activities of one state; the state must not change meanwhile.

    Args:
        live: Live records by task id (`parse_live`); empty for a past state.
        now_ms: The time of the look, UTC milliseconds.
        working: Whether an engine works on the team; without one, all open work is suspended.
    """

    def __init__(self, state: State, live: Mapping[str, Live], now_ms: int, *, working: bool = True) -> None:
        self._state = state
        self._live = live
        self._working = working
        self._tasks = TaskActivities(state, live, now_ms, working=working)
        self._agents: dict[str, CurrentActivity] = {}
        self._runs: dict[str, CurrentActivity] = {}
        self._ranked: dict[str, list[str]] = {}
        """The ids of open tasks by run, in the order of what they did when they were ranked."""
        self._waiting: dict[str, list[Task]] | None = None
        self._team_obstacles: dict[str, CurrentActivity | None] = {}

    def at(self, live: Mapping[str, Live], now_ms: int) -> "Activities":
        """Return the activities of the same state at another moment, which is faster than to begin anew."""
        later = Activities(self._state, live, now_ms, working=self._working)
        later._tasks = self._tasks.at(live, now_ms)
        later._waiting, later._team_obstacles = self._waiting, self._team_obstacles
        return later

    def reuse(self, before: "Activities") -> None:
        """Look at those tasks of a run alone that came first in a look a moment ago, at whatever state."""
        self._ranked = before._ranked

    def of_task(self, task: Task) -> CurrentActivity:
        """Return what a task does; an ended one is idle."""
        return self._tasks.of_task(task)

    def open_steps(self, task: Task) -> list[OpenStep] | None:
        """Return the steps of a task that run, the oldest first; None if that is unknown."""
        live: Live | None = self._live.get(task.id)
        return None if live is None else [OpenStep(step.what, step.name, step.since_ms) for step in live.steps]

    def describe_task(self, task: Task) -> str:
        """Return the words of `of_task`."""
        return self.of_task(task).words

    def kind_of(self, agent: Agent) -> ActivityKind:
        """Return the kind of `of_agent`; faster, as `TaskActivities.kind_of`."""
        has_problem = agent.away or agent.error is not None or agent.is_stuck or not self._working
        if agent.id in self._agents or has_problem:
            return self.of_agent(agent).kind
        tasks = self._state.tasks
        kinds = [self._tasks.kind_of(tasks[task_id]) for ids in (agent.running, agent.parked) for task_id in ids]
        if not kinds:
            kinds += [activity.kind for activity in self._obstacles(agent)]
            kinds += map(self._tasks.kind_of, self._tasks_of(agent))
        return min(kinds, key=RANKS.__getitem__, default="idle")

    def kind_of_task(self, task: Task) -> ActivityKind:
        """Return the kind of `of_task`; faster, as `TaskActivities.kind_of`."""
        return self._tasks.kind_of(task)

    def of_run(self, run: Run) -> CurrentActivity:
        """Return the first activity of the open tasks of a run, after the name of its agent or task."""
        activity = self._runs.get(run.id)
        if activity is None:
            activity = self._runs[run.id] = self._find_of_run(run)
        return activity

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
                first = copy_with(activity, words=with_name(member_name, activity.words))
        assert first is not None
        return first

    def _find_of_run(self, run: Run) -> CurrentActivity:
        state = self._state
        if not self._working or run.suspended:
            return self._tasks.of_task(state.tasks[run.root_id])
        # By the kinds alone: they are found faster than the words of a thousand tasks.
        tasks = [*islice(self._open_ranked(run), _CANDIDATES)]
        if not tasks:
            open_tasks = [task for task_id in run.tasks if (task := state.tasks[task_id]).kind != "group"]
            tasks = sorted(unlike_tasks(state, open_tasks), key=self._rank_of)
            if len(tasks) > _CANDIDATES:
                self._ranked[run.id] = [task.id for task in tasks]
        if not tasks:
            return self._tasks.of_task(state.tasks[run.root_id])
        task = min(tasks[:_CANDIDATES], key=self._rank_of)
        activity, agent = self._tasks.of_one_of_many(task), state.agents.get(task.agent_id or "")
        name = task.title if agent is None else agent.name
        prefix = "paused, " if run.paused and activity.kind != "paused" else ""
        return copy_with(activity, words=one_line(prefix + with_name(name, activity.words)))

    def _open_ranked(self, run: Run) -> Iterator[Task]:
        tasks = map(self._state.tasks.get, self._ranked.get(run.id, ()))
        return (task for task in tasks if task is not None and task.ended_ms is None)

    def _rank_of(self, task: Task) -> int:
        return RANKS[self._tasks.kind_of(task)]

    def _find(self, agent: Agent) -> CurrentActivity:
        attempts = [*agent.running, *agent.parked]
        if not self._working and (attempts or self._tasks_of(agent)):
            return CurrentActivity(kind="suspended", words="no engine works on it", ids=tuple(attempts))
        if agent.away:
            return CurrentActivity(kind="away", words=one_line(why_away(agent), MAX_REASON), ids=(agent.id,))
        if agent.error is not None:
            return CurrentActivity(kind="error", words=one_line(agent.error), ids=(agent.id,))
        if agent.stuck and agent.is_stuck:
            since_ms = min(agent.stuck_since.values(), default=None)
            return CurrentActivity(
                kind="stuck",
                words=one_line(describe_stuck_slots(agent)),
                since_ms=since_ms,
                ids=tuple(agent.stuck_since),
            )
        tasks = self._state.tasks
        if len(attempts) == 1:
            return self._tasks.of_task(tasks[attempts[0]])
        first: CurrentActivity | None = None
        for task_id in attempts:
            first = first_of(first, self._tasks.of_task(tasks[task_id]))
        if first is not None:
            return copy_with(first, words=f"{first.words} +{len(attempts) - 1}")
        for activity in self._obstacles(agent):
            first = first_of(first, activity)
        for task in self._tasks_of(agent):
            first = first_of(first, self._tasks.of_one_of_many(task))
        return first or CurrentActivity(kind="idle", since_ms=agent.idle_since_ms or None)

    def _obstacles(self, agent: Agent) -> Iterator[CurrentActivity]:
        """Yield what holds an agent up."""
        state = self._state
        if agent.exhausted is not None or agent.held:
            yield self._of_budget("its own budget", agent)
        if agent.removing is not None:
            yield CurrentActivity(kind="draining", words="leaves", ids=(agent.id,))
        if agent.is_shut:
            timer = state.timers.get(timer_id("circuit", agent.id))
            words = f"circuit open after {pluralize(agent.failures_in_a_row, 'failure')}"
            due_ms = None if timer is None else timer.due_ms
            yield CurrentActivity(kind="circuit", words=words, until_ms=due_ms, ids=(agent.id,))
        if agent.paused:
            yield self._of_pause(agent)
        if (obstacle := self.obstacle_above(state.supervisors[agent.supervisor_id])) is not None:
            yield obstacle

    def obstacle_above(self, supervisor: Supervisor) -> CurrentActivity | None:
        """Return what stops everything below a supervisor."""
        if supervisor.id not in self._team_obstacles:
            self._team_obstacles[supervisor.id] = self._find_obstacle(supervisor)
        return self._team_obstacles[supervisor.id]

    def _find_obstacle(self, supervisor: Supervisor) -> CurrentActivity | None:
        first: CurrentActivity | None = None
        for ancestor in lineage_of(self._state, supervisor):
            if ancestor.held or ancestor.exhausted is not None:
                first = first_of(first, self._of_budget(f"the budget of {ancestor.name}", ancestor))
            if ancestor.paused:
                first = first_of(first, self._of_pause(ancestor))
            if ancestor.error is not None or ancestor.leaving is not None:
                words = ancestor.error or "it leaves"
                stopped = CurrentActivity(
                    kind="stopped", words=one_line(f"{ancestor.name}: {words}"), ids=(ancestor.id,)
                )
                first = first_of(first, stopped)
        return first

    def _of_pause(self, member: Agent | Supervisor) -> CurrentActivity:
        since_ms = stopped_since_ms(self._state, member.id)
        return CurrentActivity(kind="paused", words=describe_pause(member), since_ms=since_ms, ids=(member.id,))

    def _of_budget(self, budget: str, member: Agent | Supervisor) -> CurrentActivity:
        return self._tasks.held_by(budget, member.id, since_ms=stopped_since_ms(self._state, member.id))

    def _tasks_of(self, agent: Agent) -> list[Task]:
        """Return its open tasks without an attempt: in its queue, tried last by it, or that it alone can do."""
        if self._waiting is None:
            self._waiting = _tasks_by_agent(self._state)
        return self._waiting.get(agent.id, [])


def _tasks_by_agent(state: State) -> dict[str, list[Task]]:
    """Return open tasks without an attempt by the agent that alone serves their queue, and by that which tried last.

    Of the tasks that are ready in one queue only the first, because they all wait for the same.
    """
    waiting: dict[str, list[Task]] = {}
    only = {key: queue.agents[0] for key, queue in state.queues.items() if len(queue.agents) == 1}
    heads: set[str | None] = set()
    for task in state.tasks.values():
        agent_id = task.agent_id
        if task.attempt is not None or (agent_id is None and task.queue not in only) or task.ended_ms is not None:
            continue
        own_id = None if task.ready and task.queue in heads else only.get(task.queue or "")
        if own_id is not None:
            waiting.setdefault(own_id, []).append(task)
            if task.ready:
                heads.add(task.queue)
        if agent_id is not None and agent_id != own_id and task.kind == "agent":
            waiting.setdefault(agent_id, []).append(task)
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
