"""Decides on dispatch, preemption, and new queues for tasks whose queue no able agent serves.

An urgent task without a slot preempts the least urgent attempt at work. That is decided once, when the task becomes
ready and nothing could start it. One attempt at a time stops for a task, and `give_slot` reserves its slot for that
task. The outcome of the preempted attempt is decided in `attempts`.
"""

from collections.abc import Iterator

from engine.core.budgets.enforcement import before_start
from engine.core.decisions.decision_context import DecisionContext
from engine.core.errors import NoAgentMatches
from engine.core.events import AttemptResumed, AttemptStarted, Event, ItemTaken, PreemptionAsked, TaskRequeued
from engine.core.followups import Dispatch, GiveSlot, PlaceAgain, ReturnItems, TakeSlot
from engine.core.queries.team.able import is_able, why_not_able
from engine.core.queries.team.recipes import recipe_id_of
from engine.core.queries.team.tree import inherited_option, lineage_of, subtree_of
from engine.core.queries.work.placement import TaskPlace, asker_of, holders_of, home_of, place_for
from engine.core.queries.work.queues import (
    NAMED_MEMBERS_PREFIX,
    is_for_named_members,
    is_shared,
    item_returned,
    target_in,
    team_for,
    unstartable_items,
)
from engine.core.scheduler import Schedule
from engine.core.scheduler.free import exhausted_process_limit
from engine.core.specs.options import Preempt
from engine.core.state import Agent, Queue, State, Supervisor, Task


def dispatch(state: State, followup: Dispatch, ctx: DecisionContext) -> list[Event]:
    """Start or resume the next attempt."""
    schedule: Schedule = state.schedule
    ready_queue = schedule.next_queue(state)
    assert ready_queue is not None
    task = state.tasks[schedule.next_task(ready_queue)]
    if ready_queue.is_back:
        return [_resume_event(task)]
    return begin_task(state, state.queues[ready_queue.key], task, schedule.next_agent(state, ready_queue), ctx)


def begin_task(state: State, queue: Queue, task: Task, agent: Agent, ctx: DecisionContext) -> list[Event]:
    """Start `task` on a free agent of its queue, or let the team of that agent take it as a group."""
    if budget_events := before_start(state, task, agent, ctx):
        return budget_events
    # Delegations, answers and messages belong to the code of an agent: a group made of the task could not use them.
    is_begun = bool(task.calls or task.asks or task.steers)
    may_be_group = is_shared(queue.key) and is_for_named_members(queue.key) and not is_begun
    team = team_for(state, queue, agent) if may_be_group else None
    if team is None:
        return [start_event(task, agent)]
    return [ItemTaken(task_id=task.id, supervisor_id=team.id, agent_id=agent.id)]


def return_items(state: State, followup: ReturnItems, ctx: DecisionContext) -> list[Event]:
    """Return items of shared queues that teams under a supervisor have taken but not begun."""
    teams = subtree_of(state, state.supervisors[followup.supervisor_id])
    return [item_returned(state, task, ctx.now_ms) for team in teams for task in unstartable_items(state, team)]


def start_event(task: Task, agent: Agent) -> AttemptStarted:
    """Return the event that begins the next attempt of `task` on `agent`."""
    return AttemptStarted(task_id=task.id, attempt=task.attempts + 1, agent_id=agent.id, generation=agent.generation)


def _resume_event(task: Task) -> AttemptResumed:
    attempt = task.attempt
    assert attempt is not None
    assert attempt.agent_id is not None
    return AttemptResumed(
        task_id=task.id,
        attempt=attempt.number,
        agent_id=attempt.agent_id,
        # The new generation repeats its calls under the same keys, which gives it the answers.
        call_keys=[] if attempt.stopping == "migrate" else list(attempt.owed),
    )


def take_slot(state: State, followup: TakeSlot, ctx: DecisionContext) -> list[Event]:
    """Preempt the least urgent attempt whose slot the urgent task could use."""
    task = state.tasks.get(followup.task_id)
    # The task may have begun or ended since this follow-up was queued.
    if task is None or task.id not in Schedule.of(state).urgent:
        return []
    queue = state.queues[task.queue or ""]
    supervisor = state.supervisors[queue.supervisor_id]
    # While the supervisor is paused the freed slot could not be given to the task.
    if _is_held(state, supervisor):
        return []
    preempt: Preempt = inherited_option(state, supervisor, "preempt", Preempt())
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
    """Return the task to preempt: the least urgent, and of those the one that took its slot last."""
    supervisors, agents = _find_blockers(state, queue)
    members = (member_id for supervisor in supervisors for member_id in supervisor.members)
    at_work = (
        state.tasks[task_id]
        for member_id in members
        if member_id in state.agents and (agents is None or member_id in agents)
        for task_id in state.agents[member_id].running
    )
    candidates = (task for task in at_work if task.priority > urgent.priority and _can_preempt(task, limit))
    return max(candidates, key=_last_begun, default=None)


def _can_preempt(task: Task, limit: int) -> bool:
    attempt = task.attempt
    # An attempt that is stopping frees its slot anyway.
    return attempt is not None and attempt.stopping is None and task.preemptions < limit


def _last_begun(task: Task) -> tuple[int, int]:
    return task.priority, task.attempt.slot_seq if task.attempt is not None else 0


def _find_blockers(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str] | None]:
    """Return the supervisors, and the agents (None: any), whose attempts hold the slots that `queue` needs."""
    supervisor, schedule = state.supervisors[queue.supervisor_id], Schedule.of(state)
    # No agent is free: the slots are those of the agents of the queue. Otherwise a supervisor's limit is used up, and
    # any attempt under it will do.
    if not schedule.is_open(state, queue.key):
        if is_shared(queue.key):
            teams, agents = _find_team_blockers(state, queue)
        else:
            agents = frozenset(agent_id for agent_id in queue.agents if state.agents[agent_id].works)
            teams = [supervisor]
        process_teams, process_holders = _find_process_holders(state, queue)
        return list({team.id: team for team in (*teams, *process_teams)}.values()), agents | process_holders
    if not is_shared(queue.key) and schedule.slots[supervisor.id].running >= supervisor.max_parallel:
        return [supervisor], None
    for ancestor in lineage_of(state, supervisor):
        if schedule.slots[ancestor.id].is_full(ancestor):
            return list(subtree_of(state, ancestor)), None
    return [], None


def _find_process_holders(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str]]:
    """Return the supervisors that share the exhausted process limit of a queue, and all agents that hold processes."""
    schedule = Schedule.of(state)
    for agent in (state.agents[agent_id] for agent_id in queue.agents):
        if not (agent.takes_tasks and schedule.lacks_process(state, agent)):
            continue
        limit = exhausted_process_limit(state, schedule, state.supervisors[agent.supervisor_id])
        if limit is None:
            continue
        unlimited_roots = [root for root in state.roots if root.options.processes is None]
        owners = unlimited_roots if limit.owner is None else [limit.owner]
        supervisors = [supervisor for owner in owners for supervisor in subtree_of(state, owner)]
        holder_tasks = (state.tasks[task_id] for task_id in schedule.holders_of_processes())
        return supervisors, frozenset(task.agent_id or "" for task in holder_tasks)
    return [], frozenset()


def _find_team_blockers(state: State, queue: Queue) -> tuple[list[Supervisor], frozenset[str]]:
    """Return the teams of a shared queue, and the agents that block it: its own, or all members of a full team."""
    teams: dict[str, list[str]] = {}
    for agent_id in queue.agents:
        agent = state.agents[agent_id]
        if agent.works:
            teams.setdefault(agent.supervisor_id, []).append(agent_id)
    open_teams = [state.supervisors[team_id] for team_id in teams if not _is_held(state, state.supervisors[team_id])]
    slots = Schedule.of(state).slots
    agents = [
        agent_id
        for team in open_teams
        for agent_id in (team.members if slots[team.id].running >= team.max_parallel else teams[team.id])
    ]
    return open_teams, frozenset(agents)


def _is_held(state: State, supervisor: Supervisor) -> bool:
    return any(ancestor.paused or ancestor.held for ancestor in lineage_of(state, supervisor))


def give_slot(state: State, followup: GiveSlot, ctx: DecisionContext) -> list[Event]:
    """Start the task for which an attempt was preempted, before dispatch can give the slot to another task."""
    task = state.tasks.get(followup.task_id)
    queue = state.queues.get(task.queue or "") if task is not None else None
    schedule = Schedule.of(state)
    if task is None or queue is None or not (task.ready and schedule.is_open(state, queue.key)):
        return []
    if task.calling:
        return []  # it has begun and was lost meanwhile, and a person is to be asked first
    supervisor = state.supervisors[queue.supervisor_id]
    if not (is_shared(queue.key) or schedule.has_slot(state, supervisor)) or _is_held(state, supervisor):
        return []
    return begin_task(state, queue, task, schedule.next_agent(state, schedule.queues[queue.key]), ctx)


def place_again(state: State, followup: PlaceAgain, ctx: DecisionContext) -> list[Event]:
    """Move ready tasks whose queue no able agent serves any more."""
    events: list[Event] = []
    new_keys: set[str] = set()
    for queue in _unserved_queues(state, followup.queue):
        # One search for each (supervisor, asker, holders): thousands of items of a map have the same place.
        places: dict[tuple[str, str | None, frozenset[str]], TaskPlace | None] = {}
        for task in _movable_tasks(state, queue):
            key = home_of(state, task).id, asker_of(state, task), holders_of(state, task)
            if key not in places:
                places[key] = find_other_place(state, task, queue)
            place = places[key]
            if place is None or place.queue is None:
                continue
            if place.queue_event is not None and place.queue not in new_keys:
                new_keys.add(place.queue)
                events.append(place.queue_event)
            if place.queue == queue.key:
                continue  # `place.queue_event` has given the same queue other agents
            events.append(TaskRequeued(task_id=task.id, queue=place.queue, reason=_reason(state, queue)))
    return events


def _unserved_queues(state: State, key: str | None) -> Iterator[Queue]:
    """Yield queues with ready tasks that no able agent serves."""
    keys = state.queues if key is None else (key,)
    for queue in [state.queues[queue_key] for queue_key in keys if queue_key in state.queues]:
        if not queue.ready or queue.key.startswith("back:"):
            continue
        # Tasks for named members wait as long as one of them is in the team.
        if queue.agents and target_in(state, queue).startswith(NAMED_MEMBERS_PREFIX):
            continue
        if not any(is_able(state, state.agents[agent_id]) for agent_id in queue.agents):
            yield queue


def _reason(state: State, queue: Queue) -> str:
    if queue.key.startswith("able:"):
        target = target_in(state, queue)
        if target.startswith(NAMED_MEMBERS_PREFIX):
            return f"none of {target.removeprefix(NAMED_MEMBERS_PREFIX)} exists any more"
        return f"no agent of the team can {target} now"
    agent = state.agents[queue.agents[0]]
    return f"{agent.name} {why_not_able(state, agent)}"


def _movable_tasks(state: State, queue: Queue) -> Iterator[Task]:
    """Yield the ready tasks of a queue that may be moved."""
    tasks = [state.tasks[task_id] for task_id in Schedule.of(state).ready(state, queue.key)]
    if queue.key.startswith("able:"):
        yield from tasks
    elif (agent := state.agents[queue.agents[0]]).removing is None and not recipe_id_of(agent):
        # Nodes of a graph were planned for this agent, and failed tasks are handled by their failure policies. An agent
        # that another made is meant itself: one that has its name is not what was made.
        yield from (task for task in tasks if task.call_key is not None and not task.failed_on)


def find_other_place(state: State, task: Task, queue: Queue) -> TaskPlace | None:
    """Return the new place of a task; None if no other agent is able either."""
    asker = state.agents.get(asker_of(state, task) or "")
    try:
        holders = holders_of(state, task)
        place = place_for(state, home_of(state, task), target_in(state, queue), asker=asker, holders=holders)
    except NoAgentMatches:
        return None
    return None if place.waits else place
