"""An urgent task for which there is no slot takes that of the least urgent attempt at work.

Decided once, when the task becomes urgent and ready and nothing could start it. One attempt at a time stops for a task,
and its slot is given to that task and to no other (`give_slot`). What waits for its delegations holds no slot, and is
left alone. What becomes of the one that stopped: `stopping`.
"""

from collections.abc import Iterator

from engine.core.context import Context
from engine.core.decide.dispatch import agent_for, begun
from engine.core.events import Event, PreemptionAsked
from engine.core.fold.openings import has_slot, is_full
from engine.core.inheritance import above_and_self, inherited
from engine.core.options import Preempt
from engine.core.prompts import GiveSlot, TakeSlot
from engine.core.queries.processes import full_of_processes
from engine.core.state import Queue, State, Supervisor, Task
from engine.core.validation.bounds import LOWEST_PRIORITY


def take_slot(state: State, prompt: TakeSlot, ctx: Context) -> list[Event]:
    """Ask the least urgent attempt that holds a slot an urgent task could use to stop."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.id not in state.urgent or task.taking is not None:
        return []
    queue = state.queues[task.queue or ""]
    supervisor = state.supervisors[queue.supervisor_id]
    if _is_held(state, supervisor):
        return []
    preempt: Preempt = inherited(state, supervisor, "preempt", Preempt())
    victim = next(_victims(state, task, queue, preempt.limit), None)
    if victim is None or victim.attempt is None or victim.attempt.agent_id is None:
        return []
    return [
        PreemptionAsked(
            task_id=victim.id,
            attempt=victim.attempt.number,
            agent_id=victim.attempt.agent_id,
            for_task_id=task.id,
            now=preempt.at == "now",
        )
    ]


def _victims(state: State, urgent: Task, queue: Queue, limit: int) -> Iterator[Task]:
    """Yield whose slots `urgent` could have: the least urgent first, of those the one that began last."""
    supervisors, agents = _in_the_way(state, queue)
    for priority in range(LOWEST_PRIORITY, urgent.priority, -1):
        found = [
            task
            for supervisor in supervisors
            for task in _last_begun(state, supervisor, priority, agents, limit)
        ]  # fmt: skip
        yield from sorted(found, key=lambda task: task.attempt.started_ms if task.attempt else 0, reverse=True)


def _last_begun(
    state: State, supervisor: Supervisor, priority: int, agents: frozenset[str] | None, limit: int
) -> list[Task]:
    """Return the task of one priority under a supervisor that began last and may be made to wait, if there is one."""
    for task_id in reversed(supervisor.at_work.get(priority, {})):
        task = state.tasks[task_id]
        attempt = task.attempt
        if attempt is None or attempt.stopping is not None or task.preemptions >= limit:
            continue
        if agents is None or attempt.agent_id in agents:
            return [task]
    return []


def _in_the_way(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str] | None]:
    """Return whose attempts hold what `queue` needs, and on which agents; None is on any of theirs."""
    supervisor = state.supervisors[queue.supervisor_id]
    if not queue.free:
        works = frozenset(agent_id for agent_id in queue.agents if state.agents[agent_id].works)
        teams, agents = _in_teams(state, queue) if queue.shared else ([supervisor], works)
        others, holders = _in_processes(state, queue)
        return list({one.id: one for one in (*teams, *others)}.values()), agents | holders
    if not queue.shared and supervisor.running >= supervisor.max_parallel:
        return [supervisor], None
    for above in above_and_self(state, supervisor):
        if is_full(above):
            return list(_under(state, above)), None
    return [], None


def _in_processes(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str]]:
    """Return under whom attempts hold the processes that an agent of a queue lacks, and which agents work in any."""
    for agent in (state.agents[agent_id] for agent_id in queue.agents if agent_id in state.process_agents):
        full = full_of_processes(state, state.supervisors[agent.supervisor_id]) if agent.takes_tasks else None
        if full is not None:
            whole = [root for root in state.roots if root.options.processes is None] if full[0] is None else [full[0]]
            found = [below for one in whole for below in _under(state, one)]
            return found, frozenset(state.tasks[task_id].agent_id or "" for task_id in state.in_process)
    return [], frozenset()


def _in_teams(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str]]:
    """Return whose attempts hold what a queue of several teams needs: its agents, or anybody in a team that is full."""
    teams: dict[str, list[str]] = {}
    for agent_id in queue.agents:
        agent = state.agents[agent_id]
        if agent.works:
            teams.setdefault(agent.supervisor_id, []).append(agent_id)
    found = [state.supervisors[team_id] for team_id in teams if not _is_held(state, state.supervisors[team_id])]
    agents = [
        agent_id
        for team in found
        for agent_id in (team.members if team.running >= team.max_parallel else teams[team.id])
    ]
    return found, frozenset(agents)


def _is_held(state: State, supervisor: Supervisor) -> bool:
    return any(above.paused or above.held for above in above_and_self(state, supervisor))


def _under(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    yield supervisor
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            yield from _under(state, state.supervisors[member_id])


def give_slot(state: State, prompt: GiveSlot, ctx: Context) -> list[Event]:
    """Start the task for which an attempt had to stop, before anything else can take the slot."""
    task = state.tasks.get(prompt.task_id)
    queue = state.queues.get(task.queue or "") if task is not None else None
    if task is None or queue is None or task.id not in queue.ready or not queue.free:
        return []
    supervisor = state.supervisors[queue.supervisor_id]
    if not (queue.shared or has_slot(state, supervisor)) or _is_held(state, supervisor):
        return []
    agent = agent_for(state, queue)
    return begun(state, queue, task, agent, ctx)
