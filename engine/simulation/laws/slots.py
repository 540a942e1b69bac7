"""Slots: limits are kept, and no slot stays free while something could use it."""

from collections.abc import Iterator
from typing import Any

from engine.core import events
from engine.core.queries.work.queues import is_for_named_members
from engine.core.records.values import pluralize
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.team import AgentEntry, SupervisorEntry
from engine.simulation.ledger.work import Job
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger


def slot_holders(ledger: ShadowLedger, agents: set[str]) -> list[Job]:
    """Return the tasks whose attempts hold a slot of one of these agents."""
    jobs = ledger.work.jobs.values()
    attempts = ((job, job.attempt) for job in jobs if job.attempt is not None and not job.attempt.parked)
    return [job for job, attempt in attempts if attempt.agent_id in agents]


def reached_limits(ledger: ShadowLedger, agent: AgentEntry) -> Iterator[str]:
    """Yield each limit that one more attempt of an agent would pass, in words."""
    in_use = len(slot_holders(ledger, {agent.id})) + agent.stuck
    if in_use >= agent.slots:
        yield f"{agent.id} has {in_use} of {agent.slots} slots in use"
    team = ledger.team
    supervisor = team.supervisors[agent.supervisor_id]
    member_ids = {member.id for member in team.agents.values() if member.supervisor_id == supervisor.id}
    in_use = len(slot_holders(ledger, member_ids))
    if in_use >= supervisor.max_parallel:
        yield f"{supervisor.id} has {in_use} of {supervisor.max_parallel} attempts at work"
    for ancestor in team.lineage(supervisor.id):
        max_total = ancestor.options.max_total
        if max_total is not None:
            in_use = len(slot_holders(ledger, {member.id for member in team.agents_under(ancestor.id)}))
            if in_use >= max_total:
                yield f"{ancestor.id} has {in_use} of {max_total} attempts at work under it"
        if agent.spec.run_in == "process":
            yield from _reached_process_limit(ledger, ancestor)


def _reached_process_limit(ledger: ShadowLedger, supervisor: SupervisorEntry) -> Iterator[str]:
    """Yield the limit on processes that is reached under a supervisor; the engine's own is that of all such roots."""
    team = ledger.team
    max_processes = supervisor.options.processes
    supervisor_ids = [supervisor.id]
    if max_processes is None and supervisor.parent_id is None:
        max_processes = team.processes
        roots = (
            root for root in team.supervisors.values() if root.parent_id is None and root.options.processes is None
        )
        supervisor_ids = [root.id for root in roots]
    if max_processes is None:
        return
    agents = {agent.id for supervisor_id in supervisor_ids for agent in team.agents_under(supervisor_id)}
    attempts = (job.attempt for job in slot_holders(ledger, agents))
    in_use = sum(
        attempt is not None and attempt.spec is not None and attempt.spec.run_in == "process" for attempt in attempts
    )
    if in_use >= max_processes:
        yield f"{', '.join(supervisor_ids)} have {in_use} of {max_processes} processes in use"


@law(events.AttemptStarted, events.AttemptResumed)
def nobody_is_over_a_limit(ledger: ShadowLedger, event: events.AttemptStarted | events.AttemptResumed) -> str | None:
    """No attempt begins beyond the slots of its agent, its supervisors or the processes."""
    if event.agent_id is None:
        return None
    limit = next(reached_limits(ledger, ledger.team.agents[event.agent_id]), None)
    return None if limit is None else f"{event.task_id} takes a slot of {event.agent_id}, although {limit}"


@law(events.Delegated, events.CallRejoined, events.AttemptParked)
def no_slot_is_taken_from_a_step(ledger: ShadowLedger, event: Any) -> str | None:
    """An attempt gives its slot back only while none of its steps runs."""
    attempt = ledger.work.jobs[event.task_id].attempt
    if attempt is None or not (isinstance(event, events.AttemptParked) or event.parks):
        return None
    steps = ledger.open_steps[event.task_id, event.attempt, attempt.generation]
    return f"{event.task_id} gives its slot back, while {pluralize(steps, 'step')} of it run" if steps > 0 else None


@law(When.AT_MOMENTS)
def waiting_attempts_hold_slots_only_for_steps(world: ObservedWorld) -> str | None:
    """An attempt that waits for others holds a slot exactly while a step of it runs."""
    for key in sorted(world.acting):
        task_id, number = key
        job, task = world.ledger.work.jobs.get(task_id), world.state.tasks.get(task_id)
        attempt = task.attempt if task is not None else None
        if job is None or attempt is None or job.attempt is None or attempt.number != number or attempt.stopping:
            continue
        steps = world.ledger.open_steps[*key, attempt.generation]
        awaited = world.ledger.work.find_awaited(job)
        if job.asks and world.ledger.open_questions[*key, attempt.generation]:
            awaited = ["a person", *awaited]
        if awaited and bool(steps) == attempt.parked:
            slot = "no slot" if attempt.parked else "a slot"
            return f"{job.id} waits for {awaited[0]} and holds {slot}, while {pluralize(steps, 'step')} of it run"
    return None


@law(When.AFTER_BATCH)
def whatever_can_start_has_started(ledger: ShadowLedger) -> str | None:
    """No task is ready while an agent that may take it has a free slot, and no attempt waits for one that is free."""
    ready = [job for job in ledger.work.jobs.values() if ledger.work.is_ready(job)]
    answered = [job for job in ledger.work.jobs.values() if ledger.work.is_answered(job) and _is_continuing(job)]
    if not ready and not answered:
        return None
    for agent in ledger.team.agents.values():
        queues = open_queues(ledger, agent)
        startable_jobs = [job for job in ready if job.queue in queues]
        continuable_jobs = [job for job in answered if job.attempt is not None and job.attempt.agent_id == agent.id]
        if (startable_jobs or continuable_jobs) and next(reached_limits(ledger, agent), None) is None:
            waiting_work = (
                f"{continuable_jobs[0].id} could go on"
                if continuable_jobs
                else f"{startable_jobs[0].id} in {startable_jobs[0].queue} could begin"
            )
            return f"{waiting_work} on {agent.id}, which has a free slot"
    return None


def _is_continuing(job: Job) -> bool:
    """Return whether an attempt is not being stopped; one that is may have lost what it waits for to another graph."""
    return job.attempt is not None and "cancel" not in job.attempt.stop_reasons


def open_queues(ledger: ShadowLedger, agent: AgentEntry) -> list[str]:
    """Return the queues from which an agent would take a new task now."""
    owners: list[AgentEntry | SupervisorEntry] = [agent, *ledger.team.lineage(agent.supervisor_id)]
    if agent.away or agent.error is not None or ledger.failures.circuit(agent.id).is_shut:
        return []
    if any(owner.paused or owner.exhausted for owner in owners):
        return []
    if agent.removing is not None:
        return [f"agent:{agent.id}"] if agent.removing == "drain" else []
    busy = {job.worker_id for job in ledger.work.jobs.values() if _awaits_start(job)}
    if busy.isdisjoint(owner.id for owner in owners[1:]):
        return ledger.team.queues_of(agent.id)
    return [key for key in ledger.team.queues_of(agent.id) if not is_for_named_members(key)]


def _awaits_start(job: Job) -> bool:
    """Return whether a team has taken a task that none of its members has begun."""
    return job.is_claimed and job.outcome is None and job.begun_ms is None


@law(events.PoolResized)
def a_pool_grows_and_shrinks_for_a_reason(ledger: ShadowLedger, event: events.PoolResized) -> str | None:
    """A pool keeps its bounds, grows by one while too much waits, and shrinks once one was idle for long enough."""
    agent = ledger.team.agents[event.agent_id]
    pool = agent.spec.pool
    if pool is None or not pool.min <= event.size <= pool.max:
        return f"{agent.id} has {event.size} instances, of {pool}"
    if event.previous != agent.size or abs(event.size - agent.size) != 1:
        return f"{agent.id} goes from {agent.size} to {event.size}, and the event says from {event.previous}"
    in_use = len(slot_holders(ledger, {agent.id})) + agent.stuck
    waiting = [job for job in ledger.work.jobs.values() if _is_waiting_for(ledger, job, agent)]
    if event.size > agent.size:
        is_due = in_use >= agent.slots and len(waiting) > pool.grow_at * agent.size
        return None if is_due else f"{agent.id} grows with {in_use} of {agent.slots} in use and {len(waiting)} waiting"
    if in_use > event.size * agent.spec.max_concurrency:
        return f"{agent.id} shrinks to {event.size} with {in_use} slots in use"
    since_ms = agent.resized_ms
    if since_ms is not None and event.at_ms - since_ms < pool.idle_s * 1000 - 1:
        return f"{agent.id} shrinks {event.at_ms - since_ms} ms after it grew"
    return None


def _is_waiting_for(ledger: ShadowLedger, job: Job, agent: AgentEntry) -> bool:
    if job.attempt is not None and job.attempt.agent_id == agent.id:
        return ledger.work.is_answered(job) or (job.attempt.parked and "migrate" in job.attempt.stop_reasons)
    return ledger.work.is_ready(job) and job.queue in ledger.team.queues_of(agent.id)
