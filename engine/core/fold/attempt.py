"""Fold: attempts started, parked and ended; steps recorded."""

from engine.core import events
from engine.core.fold import slots
from engine.core.fold.accounting import (
    charge,
    charge_attempt,
    count_begun,
    discount_time,
    settle,
    start_clock,
    stop_clock,
)
from engine.core.fold.completion import end, note_first_attempt
from engine.core.fold.conversation import utterances
from engine.core.fold.failing import begin_probe, count_failure, give_up_probe
from engine.core.fold.kept import keep_values, keep_values_of_step, note_conflict
from engine.core.fold.memory import note_reads
from engine.core.fold.queues import enqueue
from engine.core.fold.swapping import record_progress, restart_task
from engine.core.fold.times import count_step, count_time
from engine.core.fold.track_record import record_for_update
from engine.core.fold.windows import count_cancelled, count_done, count_failed, count_model_call
from engine.core.queries.team.tree import why_cancelled
from engine.core.queries.work.answered import model_of
from engine.core.queries.work.queues import back_queue
from engine.core.records.keys import kind_of_step
from engine.core.records.shared import EMPTY, drop, put
from engine.core.records.values import stored_value
from engine.core.state import MAX_DURATIONS, MAX_STEP_NAMES, Agent, Attempt, State, Task, TaskStatus

# Module constants: looking up an attribute of an enumeration costs as much as a call.
_DONE, _RUNNING, _WAITING = TaskStatus.DONE, TaskStatus.RUNNING, TaskStatus.WAITING


def _attempt_started(state: State, event: events.AttemptStarted) -> None:
    task = state.tasks[event.task_id]
    # The time and the id that the state holds, not the equal ones of the event: that saves memory with many tasks.
    agent_id, at_ms = event.agent_id, state.at_ms
    if task.counted_ms != at_ms:
        count_time(state, task)
    task.status = _RUNNING
    task.yields_to = None
    task.attempts = event.attempt
    attempt = task.attempt = Attempt(
        number=event.attempt, agent_id=agent_id, generation=event.generation, started_ms=at_ms, since_ms=at_ms
    )
    if task.started_ms is None:
        task.started_ms = at_ms
    run = state.runs[event.run_id]
    run.running += 1
    if agent_id is not None:
        # Built-in work (no agent) is overhead of its group, costs nothing and holds no slot.
        note_first_attempt(state, task)
        agent = state.agents[agent_id]
        if task.agent_id != agent.id:
            task.changes = None  # they are in the state of the other agent
        attempt.agent_state = dict(agent.kept) or EMPTY
        task.agent_id = agent.id
        count_begun(state, task, run, agent, at_ms)
        attempt.in_process = slots.works_in_processes(state, agent)
        slots.begin(state, agent, task, attempt, state.queues[task.queue or ""])
        if agent.circuit == "half_open":
            begin_probe(state, agent, task)


def _attempt_resumed(state: State, event: events.AttemptResumed) -> None:
    task = state.tasks[event.task_id]
    attempt = task.attempt
    assert attempt is not None
    count_time(state, task)
    agent = state.agents[event.agent_id]
    agent.parked.pop(task.id, None)
    attempt.parked_for, attempt.until_ms = None, None
    has_waited_for_slot = attempt.wants_slot
    attempt.parked = attempt.wants_slot = False
    start_clock(state, task, attempt)
    attempt.owed = [key for key in attempt.owed if key not in event.call_keys]
    # An attempt that still waits resumes only to migrate (or did, until a stronger reason to stop came): the new code
    # repeats the calls that it waits for.
    if attempt.stopping == "migrate" or (attempt.waits and not has_waited_for_slot):
        attempt.owed = []
        attempt.waits = {}
    slots.begin(state, agent, task, attempt, state.queues[back_queue(agent.id)])
    if agent.circuit == "half_open":
        begin_probe(state, agent, task)


def park(state: State, task: Task) -> None:
    """Take the slot from the attempt of `task`, which waits while none of its steps runs."""
    attempt = task.attempt
    assert attempt is not None
    assert attempt.agent_id is not None
    count_time(state, task)
    if not attempt.parked:
        attempt.parked = True
        stop_clock(state, task, attempt)
        agent = state.agents[attempt.agent_id]
        agent.parked[task.id] = attempt.generation
        slots.vacate(state, agent, task)
        # It may wait for work of this same agent, which a half-open circuit would block endlessly.
        give_up_probe(state, agent, task)


def _attempt_parked(state: State, event: events.AttemptParked) -> None:
    task = state.tasks[event.task_id]
    park(state, task)
    assert task.attempt is not None
    if event.why != "call":
        task.attempt.parked_for, task.attempt.until_ms = event.why, event.until_ms


def _slot_wanted(state: State, event: events.SlotWanted) -> None:
    task = state.tasks[event.task_id]
    assert task.attempt is not None
    count_time(state, task)
    task.attempt.wants_slot = True
    slots.wait_for_slot(state, task)


def _attempt_migrated(state: State, event: events.AttemptMigrated) -> None:
    """Continue with another generation. Steps stay in `Task.steps`; `effects/table.py` hands them to its code."""
    task, agent = state.tasks[event.task_id], state.agents[event.agent_id]
    attempt = task.attempt
    assert attempt is not None
    attempt.generation = agent.running[task.id] = event.generation
    attempt.agent_state, attempt.has_carried = dict(agent.kept) or EMPTY, False
    # May exceed the limit on processes for a while: a migrating attempt keeps its slot and never waits for a process.
    attempt.in_process = slots.works_in_processes(state, agent)
    slots.mark_changed(state, task)
    # The time reported here is charged below, so it is no longer uncharged.
    discount_time(state, task, attempt, event.usage.time_ms)
    attempt.stopping = None
    attempt.owed = []
    attempt.waits = {}
    charge(state, task, agent, event.usage)
    charge_attempt(task, event.usage)
    if event.stuck:
        _count_stuck_thread(state, agent, task)
        slots.refresh_agent(state, agent)


def _step_recorded(state: State, event: events.StepRecorded) -> None:
    task = state.tasks[event.task_id]
    task.steps = put(task.steps, event.key, stored_value(event.output, state.seq, "output"))
    task.calling = drop(task.calling, event.key)
    for steer_id in event.steers:
        task.steers = drop(task.steers, steer_id)
    note_reads(state, event.agent_id or "", event.reads)
    agent = state.agents.get(event.agent_id or "")
    if event.what == "code":
        charge(state, task, agent, event.usage)
    elif event.what == "tool":
        charge(state, task, agent, event.usage, tool=event.name)
    else:
        model = model_of(event)
        if model is not None:
            count_model_call(state, model, event.duration_ms)
        charge(state, task, agent, event.usage, model=model)
    charge_attempt(task, event.usage)
    if event.state_versions and agent is not None:
        keep_values_of_step(state, task, agent, event)
    count_step(state, task, event.what, event.duration_ms, number=len(task.steps))
    if event.agent_id is not None and task.attempt is not None:
        agent = state.agents[event.agent_id]
        record_progress(agent, task.attempt.generation)
        if event.duration_ms:
            _keep_duration(agent, kind_of_step(event.what, event.name), event.duration_ms)


def _keep_duration(agent: Agent, kind: str, duration_ms: int) -> None:
    """Keep the duration of a step; of too many kinds, forget the one that was recorded longest ago."""
    kinds = agent.step_ms
    durations_ms = kinds.get(kind)
    if durations_ms is None:
        if len(kinds) >= MAX_STEP_NAMES:
            del kinds[next(iter(kinds))]
        kinds[kind] = [duration_ms]
        return
    if len(kinds) > MAX_STEP_NAMES // 2:  # few agents have so many that their order matters
        kinds[kind] = kinds.pop(kind)
    durations_ms.append(duration_ms)
    if len(durations_ms) > MAX_DURATIONS:
        del durations_ms[0]


def _model_failed(state: State, event: events.ModelFailed) -> None:
    task = state.tasks[event.task_id]
    count_model_call(state, event.model, 0, error_type=event.error_type)
    charge(state, task, state.agents.get(event.agent_id or ""), event.usage, model=event.model)
    charge_attempt(task, event.usage)
    if event.duration_ms:
        count_step(state, task, "model", event.duration_ms, number=0)


def _step_stopped(state: State, event: events.StepStopped) -> None:
    task, agent = state.tasks[event.task_id], state.agents.get(event.agent_id or "")
    is_tool = event.what == "tool"
    charge(
        state,
        task,
        agent,
        event.usage,
        model=None if is_tool else event.name,
        tool=event.name if is_tool else None,
    )
    charge_attempt(task, event.usage)
    count_step(state, task, event.what, event.duration_ms, number=0)


def _end_attempt(state: State, task: Task, *, stuck: bool = False) -> Agent | None:
    """End the attempt of `task` and free its slot."""
    attempt, run = task.attempt, state.runs[task.run_id]
    assert attempt is not None
    if task.counted_ms != state.at_ms:
        count_time(state, task)
    run.running -= 1
    if attempt.agent_id is None:
        task.attempt = None
        return None
    agent = state.agents[attempt.agent_id]
    run.since_ms -= attempt.since_ms
    if attempt.parked:
        slots.stop_waiting_for_slot(state, task)
        slots.mark_agent(state, agent)
        del agent.parked[task.id]
    else:
        run.at_work -= 1
    task.attempt = None
    if task.yields_to is not None:
        _release_claim(state, task)
    agent.idle_since_ms = state.at_ms
    if stuck:
        # Before `vacate`: the thread that did not return keeps using the slot that the attempt frees.
        _count_stuck_thread(state, agent, task)
    slots.vacate(state, agent, task)
    if stuck:
        slots.refresh_agent(state, agent)
    if agent.probe is not None:
        give_up_probe(state, agent, task)
    return agent


def _count_stuck_thread(state: State, agent: Agent, task: Task) -> None:
    """Count a thread that did not return when its attempt ended or migrated; it keeps a slot busy."""
    agent.stuck += 1
    agent.stuck_since.setdefault(task.id, state.at_ms)


def _release_claim(state: State, task: Task) -> None:
    """Clear the claim of an urgent task on the slot of `task`, so that it may claim another."""
    urgent = state.tasks.get(task.yields_to or "")
    if urgent is not None and urgent.taking == task.id:
        urgent.taking = None
        slots.mark_changed(state, urgent)


def _attempt_done(state: State, event: events.AttemptDone) -> None:
    task = state.tasks[event.task_id]
    run, attempt, duration_ms = state.runs[event.run_id], task.attempt, event.duration_ms
    agent = _end_attempt(state, task)
    if agent is not None and attempt is not None:
        if agent.probation is not None or agent.proven != attempt.generation:
            record_progress(agent, attempt.generation, has_ended=True)
        settle(state, run, task, agent, event.usage, done=1)
        count_done(state, agent, task, attempt, time_ms=event.usage.time_ms, category=run.category)
        agent.failures_in_a_row = 0
        agent.at_work_ms.append(event.usage.time_ms)
        if len(agent.at_work_ms) > MAX_DURATIONS:
            del agent.at_work_ms[0]
    else:
        charge(state, task, agent, event.usage)
    if event.state_changes and agent is not None:
        keep_values(state, agent, event.state_changes)
    if duration_ms > run.longest_ms:
        run.longest_ms = duration_ms
    task.output = stored_value(event.output, state.seq, "output")
    if event.said or task.said:
        task.said = utterances(state, task, event.said)
    end(state, task, _DONE)


def _attempt_failed(state: State, event: events.AttemptFailed) -> None:
    task = state.tasks[event.task_id]
    attempt = task.attempt
    if event.agent_id is not None:
        # Before `_end_attempt`, which gives up the probe of a half-open circuit: the failure of a probe counts.
        count_failure(state.agents[event.agent_id], task)
    agent = _end_attempt(state, task, stuck=event.stuck)
    if agent is not None and attempt is not None:
        record_progress(agent, attempt.generation, failed=True, has_ended=True)
        settle(state, state.runs[event.run_id], task, agent, event.usage, failed=1)
        count_failed(state, agent, task, attempt, event.error_type)
        agent.last_error = event.error
    else:
        charge(state, task, agent, event.usage)
    if task.changes is not None:
        note_conflict(task, event)
    task.status = _WAITING
    task.error = event.error
    if event.agent_id is not None and event.agent_id not in task.failed_on:
        task.failed_on = (*task.failed_on, event.agent_id)


def _attempt_cancelled(state: State, event: events.AttemptCancelled) -> None:
    task = state.tasks[event.task_id]
    attempt = task.attempt
    agent = _end_attempt(state, task, stuck=event.stuck)
    if agent is not None and attempt is not None:
        count_cancelled(state, agent, task, attempt)
        agent.cancelled += 1
        record_for_update(state, task, agent).cancelled += 1
    charge(state, task, agent, event.usage)
    if event.requeued:
        task.status = _WAITING
        if event.restarted:
            restart_task(state, task, event.attempt)
        return
    if event.partial is not None:
        task.output = stored_value(event.partial, state.seq, "partial")
    status = TaskStatus.CANCELLED if event.limit is None else TaskStatus.FAILED
    end(state, task, status, error=event.limit or why_cancelled(state, task))


def _attempt_set_aside(state: State, event: events.AttemptSetAside) -> None:
    task = state.tasks[event.task_id]
    agent = _end_attempt(state, task, stuck=event.stuck)
    charge(state, task, agent, event.usage)
    if event.partial is not None:
        task.output = stored_value(event.partial, state.seq, "partial")
    task.status = _WAITING
    enqueue(state, task, again=True)


def _attempt_preempted(state: State, event: events.AttemptPreempted) -> None:
    task = state.tasks[event.task_id]
    agent = _end_attempt(state, task, stuck=event.stuck)
    charge(state, task, agent, event.usage)
    task.status = TaskStatus.PREEMPTED
    task.preemptions += 1
    enqueue(state, task, again=True)


def _attempt_lost(state: State, event: events.AttemptLost) -> None:
    task = state.tasks[event.task_id]
    _end_attempt(state, task)
    task.status = _WAITING
    if task.queue is not None:
        enqueue(state, task, again=True)
