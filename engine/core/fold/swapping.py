"""Fold: swaps, rollbacks, changed capabilities, reassigned tasks."""

from engine.core import events
from engine.core.fold.accounting import note_spec
from engine.core.fold.completion import forget_drain, forget_grants, withdraw_asks
from engine.core.fold.declared import record_spec
from engine.core.fold.failing import reset_circuit
from engine.core.fold.kept import forget_dropped_conflicts
from engine.core.fold.queues import dequeue, enqueue, is_ready, serve
from engine.core.fold.slots import ask_to_stop, set_slots, wait_for_slot
from engine.core.fold.team import add_spec, forget_unused_specs, note_code
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.fold.times import count_time
from engine.core.queries.work.queues import own_queue
from engine.core.records.shared import EMPTY, put
from engine.core.specs.spec import spec_hash
from engine.core.state import Agent, Attempt, Probation, State, StopReason, SwapMode, Task, TaskStatus

STOP_REASONS: dict[SwapMode, StopReason] = {"migrate": "migrate", "abort": "restart"}
"""Reason to stop the attempts of the replaced generation, by the mode of the swap."""


def _agent_swapped(state: State, event: events.AgentSwapped) -> None:
    agent = state.agents[event.agent_id]
    _begin_generation(state, agent, event)
    if event.rollback_failures is not None:
        agent.probation = Probation(failures=event.rollback_failures, tasks=event.rollback_tasks, mode=event.mode)
    if event.due_ms is not None and agent.draining:
        set_timer(state, "drain", agent.id, event.due_ms)


def _swap_rolled_back(state: State, event: events.SwapRolledBack) -> None:
    agent = state.agents[event.agent_id]
    _begin_generation(state, agent, event)
    if event.by_itself:
        agent.proven = event.generation  # a generation that cannot work either is not rolled back again


def _begin_generation(state: State, agent: Agent, event: events.AgentSwapped | events.SwapRolledBack) -> None:
    old_generation = agent.generation
    agent.previous = agent.spec
    agent.spec = add_spec(state, event.spec)
    agent.was_ruled, agent.recipe_id = agent.recipe_id is not None, event.recipe_id
    record_spec(state, agent.id, agent.previous, agent.spec)
    agent.generation = event.generation
    # A grant covers one generation: other code under the same name was never approved.
    forget_grants(state, agent.id)
    note_code(state, agent)
    set_slots(state, agent, event.spec)
    agent.error, agent.away, agent.away_reason = None, False, None
    # Errors and the circuit were those of the old code.
    reset_circuit(state, agent)
    agent.probation = None
    serve(state, agent, event.queues)
    stop_generation(state, agent, old_generation, event.mode)
    forget_unused_specs(state)


def stop_generation(state: State, agent: Agent, generation: int, mode: SwapMode) -> None:
    """Stop the attempts of a generation as a swap in `mode` does."""
    reason = STOP_REASONS.get(mode)
    if reason is None:
        return
    for at_work in (agent.running, agent.parked):
        for task_id, task_generation in at_work.items():
            if task_generation == generation:
                ask_to_stop(state.tasks[task_id], reason)
    for task_id in agent.parked:
        # A parked attempt migrates when it has a slot, in which the new code repeats its delegation.
        if _attempt(state, task_id).stopping == "migrate":
            wait_for_slot(state, state.tasks[task_id])


def _attempt(state: State, task_id: str) -> Attempt:
    attempt = state.tasks[task_id].attempt
    assert attempt is not None
    return attempt


def _swap_drained(state: State, event: events.SwapDrained) -> None:
    state.agents[event.agent_id].drained = event.generation
    forget_drain(state, event.agent_id)


def _swap_hurried(state: State, event: events.SwapHurried) -> None:
    agent = state.agents[event.agent_id]
    for generation in {*agent.running.values(), *agent.parked.values()} - {agent.generation}:
        stop_generation(state, agent, generation, event.mode)


def _capabilities_changed(state: State, event: events.CapabilitiesChanged) -> None:
    agent = state.agents[event.agent_id]
    before, agent.spec = agent.spec, spec_hash(event.spec)
    record_spec(state, agent.id, before, agent.spec)
    state.specs[agent.spec] = event.spec
    note_spec(state, agent.spec, event.spec)
    serve(state, agent, event.queues)
    forget_unused_specs(state)


def _task_reassigned(state: State, event: events.TaskReassigned) -> None:
    task = state.tasks[event.task_id]
    count_time(state, task)
    if event.stopping is not None:
        ask_to_stop(task, "requeue")
    else:
        dequeue(state, task)
    task.queue = own_queue(event.agent_id)
    task.worker_id = event.agent_id
    task.supervisor_id = event.supervisor_id
    if task.status is TaskStatus.RETRYING:
        drop_timer(state, "retry", task.id)
        task.retry_at_ms = None
        task.status = TaskStatus.WAITING
    if task.attempt is None and is_ready(task):
        enqueue(state, task)


def restart_task(state: State, task: Task, attempt: int) -> None:
    """Restart `task` from its input in its old place, without the steps, questions and calls of its attempts."""
    task.steps = EMPTY
    forget_dropped_conflicts(task)
    withdraw_asks(state, task)
    calls, task.calls = task.calls, EMPTY
    for call in calls.values():
        # Renamed to a key that no request matches: the tasks still exist, but must not answer the new attempt.
        call.key = f"{call.key}@{attempt}"
        task.calls = put(task.calls, call.key, call)
        for child_id in call.children:
            state.tasks[child_id].call_key = call.key
    if task.queue is not None:
        enqueue(state, task, again=True)


def record_progress(agent: Agent, generation: int, *, failed: bool = False, has_ended: bool = False) -> None:
    """Record that an attempt of a generation recorded a step or ended, which proves that its code works."""
    if generation != agent.generation:
        return
    agent.proven = generation
    probation = agent.probation
    if probation is None or not has_ended or probation.failed >= probation.failures:
        return
    probation.ended += 1
    probation.failed += failed
    if probation.failed < probation.failures and probation.ended >= probation.tasks:
        agent.probation = None
