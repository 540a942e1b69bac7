"""An urgent task for which there is no slot takes that of the least urgent attempt at work.

Decided once, when the task becomes urgent and ready and nothing could start it. One attempt at a time stops for a task,
and its slot is given to that task and to no other (`give_slot`). What waits for its delegations holds no slot, and is
left alone. What becomes of the one that stopped: `stopping`.
"""

from engine.core.context import Context
from engine.core.decide.dispatch import begun
from engine.core.events import Event, PreemptionAsked
from engine.core.hierarchy import below_of
from engine.core.inheritance import above_and_self, inherited
from engine.core.options import Preempt
from engine.core.prompts import GiveSlot, TakeSlot
from engine.core.queries.queues import is_shared
from engine.core.scheduler import Schedule
from engine.core.scheduler.processes import full_of_processes
from engine.core.state import Queue, State, Supervisor, Task


def take_slot(state: State, prompt: TakeSlot, ctx: Context) -> list[Event]:
    """Ask the least urgent attempt that holds a slot an urgent task could use to stop."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.id not in Schedule.of(state).urgent:
        return []
    queue = state.queues[task.queue or ""]
    supervisor = state.supervisors[queue.supervisor_id]
    if _is_held(state, supervisor):
        return []
    preempt: Preempt = inherited(state, supervisor, "preempt", Preempt())
    victim = _victim(state, task, queue, preempt.limit)
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


def _victim(state: State, urgent: Task, queue: Queue, limit: int) -> Task | None:
    """Return whose slot `urgent` could have: of the least urgent the one that took its slot last."""
    supervisors, agents = _in_the_way(state, queue)
    members = (member_id for supervisor in supervisors for member_id in supervisor.members)
    at_work = (
        state.tasks[task_id]
        for member_id in members
        if member_id in state.agents and (agents is None or member_id in agents)
        for task_id in state.agents[member_id].running
    )
    found = (task for task in at_work if task.priority > urgent.priority and _may_wait(task, limit))
    return max(found, key=_last_begun, default=None)


def _may_wait(task: Task, limit: int) -> bool:
    attempt = task.attempt
    return attempt is not None and attempt.stopping is None and task.preemptions < limit


def _last_begun(task: Task) -> tuple[int, int]:
    return task.priority, task.attempt.slot_seq if task.attempt is not None else 0


def _in_the_way(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str] | None]:
    """Return whose attempts hold what `queue` needs, and on which agents; None is on any of theirs."""
    supervisor, schedule = state.supervisors[queue.supervisor_id], Schedule.of(state)
    if not schedule.is_open(state, queue.key):
        works = frozenset(agent_id for agent_id in queue.agents if state.agents[agent_id].works)
        teams, agents = _in_teams(state, queue) if is_shared(queue.key) else ([supervisor], works)
        others, holders = _in_processes(state, queue)
        return list({one.id: one for one in (*teams, *others)}.values()), agents | holders
    if not is_shared(queue.key) and schedule.slots[supervisor.id].running >= supervisor.max_parallel:
        return [supervisor], None
    for above in above_and_self(state, supervisor):
        if schedule.slots[above.id].is_full(above):
            return list(below_of(state, above)), None
    return [], None


def _in_processes(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str]]:
    """Return under whom attempts hold the processes that an agent of a queue lacks, and which agents work in any."""
    schedule = Schedule.of(state)
    for agent in (state.agents[agent_id] for agent_id in queue.agents):
        if not (agent.takes_tasks and schedule.lacks_process(state, agent)):
            continue
        full = full_of_processes(state, schedule, state.supervisors[agent.supervisor_id])
        if full is not None:
            whole = [root for root in state.roots if root.options.processes is None] if full[0] is None else [full[0]]
            found = [below for one in whole for below in below_of(state, one)]
            return found, frozenset(state.tasks[one].agent_id or "" for one in schedule.holders_of_processes())
    return [], frozenset()


def _in_teams(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str]]:
    """Return whose attempts hold what a queue of several teams needs: its agents, or anybody in a team that is full."""
    teams: dict[str, list[str]] = {}
    for agent_id in queue.agents:
        agent = state.agents[agent_id]
        if agent.works:
            teams.setdefault(agent.supervisor_id, []).append(agent_id)
    found = [state.supervisors[team_id] for team_id in teams if not _is_held(state, state.supervisors[team_id])]
    slots = Schedule.of(state).slots
    agents = [
        agent_id
        for team in found
        for agent_id in (team.members if slots[team.id].running >= team.max_parallel else teams[team.id])
    ]
    return found, frozenset(agents)


def _is_held(state: State, supervisor: Supervisor) -> bool:
    return any(above.paused or above.held for above in above_and_self(state, supervisor))


def give_slot(state: State, prompt: GiveSlot, ctx: Context) -> list[Event]:
    """Start the task for which an attempt had to stop, before anything else can take the slot."""
    task = state.tasks.get(prompt.task_id)
    queue = state.queues.get(task.queue or "") if task is not None else None
    schedule = Schedule.of(state)
    if task is None or queue is None or not (task.ready and schedule.is_open(state, queue.key)):
        return []
    supervisor = state.supervisors[queue.supervisor_id]
    if not (is_shared(queue.key) or schedule.has_slot(state, supervisor)) or _is_held(state, supervisor):
        return []
    return begun(state, queue, task, schedule.next_agent(state, schedule.lines[queue.key]), ctx)
