"""Order of starts: priorities with ageing, round-robin turns, preemption, balancing between agents."""

from engine.core import events
from engine.core.specs.options import AGEING_S, Preempt
from engine.core.state import State, Task
from engine.simulation.laws.registry import law
from engine.simulation.laws.slots import open_queues, reached_limits, slot_holders
from engine.simulation.ledger.team import AgentEntry
from engine.simulation.ledger.turns import Place
from engine.simulation.ledger.work import Job
from engine.simulation.shadow_ledger import ShadowLedger

NEVER_MS = 10**15


@law(events.AttemptStarted)
def first_come_first_served(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """Among tasks of a run with the same priority, the one that was ready first begins first."""
    state = ledger.state
    task = state.tasks[event.task_id]
    if event.agent_id is None or not task.ready or task.id in ledger.turns.reserved_ids:
        return None
    for other in _competing_tasks(state, task):
        if (other.ready_seq or 0) < (task.ready_seq or 0):
            return f"{task.id}, ready since {task.ready_seq}, begins before {other.id}, ready since {other.ready_seq}"
    return None


def _competing_tasks(state: State, task: Task) -> list[Task]:
    """Return the ready tasks of the run and the priority of one, that wait in its queue."""
    place = task.queue, task.priority
    tasks = (state.tasks[task_id] for task_id in state.runs[task.run_id].tasks)
    return [other for other in tasks if other.ready and (other.queue, other.priority) == place]


@law(events.AttemptStarted)
def the_more_urgent_goes_first(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """An agent begins the task with the least priority x ageing + waiting since; runs take turns."""
    job = ledger.work.jobs[event.task_id]
    mine = _place(job)
    if event.agent_id is None or job.id in ledger.turns.reserved_ids or mine not in ledger.turns.turns:
        return None
    agent = ledger.team.agents[event.agent_id]
    home = ledger.team.home_of(mine[0])
    ageing_s = ledger.team.inherited_option(home, "ageing_s", AGEING_S)
    ageing_values = {
        ledger.team.inherited_option(supervisor.id, "ageing_s", AGEING_S)
        for supervisor in ledger.team.lineage(agent.supervisor_id)
    }
    rank = _rank(ledger, mine, ageing_s)
    queues = open_queues(ledger, agent)
    for place in ledger.turns.turns:
        is_alike = len(ageing_values) == 1 or ledger.team.home_of(place[0]) == home  # else it counts where the two meet
        other = _rank(ledger, place, ageing_s) if place[0] in queues and is_alike else None
        if rank is not None and other is not None and other < rank:
            waits_ms = event.at_ms - (ledger.turns.turns[place].since_ms or 0)
            return f"{job.id} of {mine} begins on {agent.id} before what waits for {waits_ms} ms in {place}"
    return None


def _place(job: Job) -> Place:
    return job.queue, job.priority, job.run_id


def _rank(ledger: ShadowLedger, place: Place, ageing_s: float) -> int | None:
    """Return the sort key of a place, least first; None where it is unknown since when it waits."""
    since_ms = ledger.turns.turns[place].since_ms
    return None if since_ms is None else place[1] * (round(ageing_s * 1000) or NEVER_MS) + since_ms


@law(events.PreemptionAsked)
def only_the_less_urgent_makes_way(ledger: ShadowLedger, event: events.PreemptionAsked) -> str | None:
    """An urgent task preempts the least urgent attempt first, and no task is preempted more often than allowed."""
    victim, urgent = ledger.work.jobs[event.task_id], ledger.work.jobs[event.for_task_id]
    attempt = victim.attempt
    if attempt is None or attempt.agent_id != event.agent_id or attempt.number != event.attempt:
        return f"{victim.id} is asked to make way, attempt {event.attempt} of which is not at work"
    supervisor_id = ledger.team.home_of(urgent.queue)
    preempt: Preempt = ledger.team.inherited_option(supervisor_id, "preempt", Preempt())
    if preempt.at == "never" or urgent.priority > preempt.urgent:
        return f"{urgent.id} of priority {urgent.priority} takes a slot under {supervisor_id}: {preempt}"
    if event.now != (preempt.at == "now"):
        return f"{victim.id} is asked to stop {'now' if event.now else 'at its next step'}: {preempt}"
    if victim.priority <= urgent.priority or attempt.parked or victim.preemptions >= preempt.limit:
        return f"{victim.id} of priority {victim.priority} makes way for {urgent.id} of priority {urgent.priority}"
    if attempt.stop_reasons - {"migrate"}:
        return f"{victim.id} is asked to make way, and was asked to stop already ({sorted(attempt.stop_reasons)})"
    if not ledger.work.is_ready(urgent) or urgent.id in ledger.turns.preempting_ids:
        return f"{urgent.id} takes a slot and is not ready, or has one to come"
    for other in slot_holders(ledger, {event.agent_id}):
        could = other.attempt is not None and not other.attempt.stop_reasons and other.preemptions < preempt.limit
        if could and other.priority > victim.priority:
            return f"{victim.id} of priority {victim.priority} makes way, {other.id} of {other.priority} goes on"
    return None


@law(events.PreemptionAsked)
def slots_are_taken_in_turn(ledger: ShadowLedger, event: events.PreemptionAsked) -> str | None:
    """Of the urgent tasks of a run in one queue, the one that was ready first takes a slot first."""
    state, taking = ledger.state, ledger.turns.preempting_ids
    task = state.tasks[event.for_task_id]
    if not task.ready:
        return None
    for other in _competing_tasks(state, task):
        if other.id not in taking and _arrival(other) < _arrival(task):
            return f"{task.id} takes a slot before {other.id}, which waits in {other.queue} since seq {other.ready_seq}"
    return None


def _arrival(task: Task) -> tuple[int, int]:
    return task.ready_seq or 0, int(task.id[1:])


@law(events.AttemptPreempted)
def preempted_attempts_were_asked(ledger: ShadowLedger, event: events.AttemptPreempted) -> str | None:
    """An attempt is preempted only for the task that asked for its slot."""
    attempt = ledger.work.jobs[event.task_id].attempt
    if attempt is None or "preempt" not in attempt.stop_reasons:
        return f"{event.task_id} makes way, and nobody asked it to"
    if event.for_task_id is not None and ledger.turns.preempted_for.get(event.task_id) != event.for_task_id:
        return (
            f"{event.task_id} makes way for {event.for_task_id}; {ledger.turns.preempted_for.get(event.task_id)} asked"
        )
    return None


@law(events.AttemptStarted)
def agents_are_chosen_by_the_balance(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """Of several free agents, a task goes to the one idle for longest, or to the one with the least load."""
    job = ledger.work.jobs[event.task_id]
    if event.agent_id is None or not (job.queue or "").startswith("able:"):
        return None
    chosen = ledger.team.agents[event.agent_id]
    others = [
        ledger.team.agents[agent_id]
        for agent_id in ledger.team.served.get(job.queue or "", ())
        if agent_id != chosen.id
    ]
    free_agents = [
        agent
        for agent in others
        if job.queue in open_queues(ledger, agent) and next(reached_limits(ledger, agent), None) is None
    ]
    rule = ledger.team.inherited_option(ledger.team.home_of(job.queue), "balance", "round_robin")
    if rule == "least_load":
        for other in free_agents:
            if _load(ledger, other) < _load(ledger, chosen):
                return f"{chosen.id} gets {job.id}; {other.id} has less to do"
    if rule == "round_robin":
        began_seq = ledger.turns.began_seq.get(chosen.id, -1)
        for other in free_agents:
            if ledger.turns.touched_seq.get(other.id, 0) < began_seq:
                return f"{chosen.id}, which began something at seq {began_seq}, gets {job.id}; {other.id} waits longer"
    return None


def _load(ledger: ShadowLedger, agent: AgentEntry) -> float:
    return (len(ledger.work.at_work(agent.id)) + agent.stuck) / agent.slots
