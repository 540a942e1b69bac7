"""The engine itself: time, journal and state, snapshots, timers, and quiescence."""

from engine.core import events
from engine.core.decide import decide
from engine.core.decisions.decision_context import DecisionContext
from engine.core.effects.table import effects_of
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.fold import fold
from engine.core.legality import faults_of
from engine.core.state import Agent, State, Task, TaskStatus
from engine.simulation.laws.registry import When, law
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger


@law(When.ON_EVERY_EVENT)
def time_does_not_go_back(ledger: ShadowLedger, event: events.Event) -> str | None:
    """Time does not go back."""
    before_ms = ledger.state.at_ms
    return None if event.at_ms >= before_ms else f"{event.type} at {event.at_ms}, after {before_ms}"


@law(When.AFTER_BATCH)
def the_state_is_legal(ledger: ShadowLedger) -> str | None:
    """The parts of the state fit together."""
    return next(faults_of(ledger.state), None)


@law(When.SAMPLED, When.AT_MOMENTS)
def the_journal_is_the_state(world: ObservedWorld) -> str | None:
    """The journal alone gives the state that the engine decides on."""
    if world.state.seq > world.ledger.state.seq:
        return None  # the state is ahead of the write
    if encode_state(world.ledger.state) == encode_state(world.state):
        return None
    return f"at seq {world.ledger.state.seq} the engine's state is another than what its journal gives"


@law(When.SAMPLED)
def looking_changes_nothing(world: ObservedWorld) -> str | None:
    """Deciding, and working out effects, leave the state as it was."""
    state = world.ledger.state
    before = encode_state(state)
    order = world.next_order()
    if order is not None:
        decide(state, order, DecisionContext(now_ms=state.at_ms, jitter=0.5))
    for event in world.ledger.batch[-1:]:
        effects_of(state, event)
    return None if encode_state(state) == before else f"looking at {order} changed the state"


@law(When.AFTER_BATCH)
def limits_are_indexed(ledger: ShadowLedger) -> str | None:
    """Everything with limits is in the index of limits, so that its budgets are checked."""
    state = ledger.state
    limited_ids = [run.id for run in ledger.work.runs.values() if run.limits is not None]
    for supervisor in ledger.team.supervisors.values():
        options = supervisor.options
        if any(
            limits is not None
            for limits in (options.limits, options.run_limits, options.agent_limits, options.task_limits)
        ):
            limited_ids.append(supervisor.id)
    limited_ids += [key for key, spec in state.specs.items() if spec.limits is not None or spec.task_limits is not None]
    if set(limited_ids) == set(state.limited):
        return None
    return f"{[*state.limited]} are known; {limited_ids} say something"


# When time has just moved


@law(When.AT_MOMENTS)
def timers_fire(world: ObservedWorld) -> str | None:
    """Timers fire: none is overdue."""
    for timer in world.state.timers.values():
        if timer.due_ms < world.now_ms:
            return f"{timer.id} was due {world.now_ms - timer.due_ms} ms ago"
    return None


@law(When.AT_MOMENTS)
def nothing_is_overdue(world: ObservedWorld) -> str | None:
    """No back-off, deadline, question, insight or open circuit is overdue, whatever timers there are."""
    ledger, now_ms = world.ledger, world.now_ms
    for job in ledger.work.jobs.values():
        if job.outcome is None and job.retrying_until_ms is not None and job.retrying_until_ms < now_ms:
            return f"{job.id} backed off until {job.retrying_until_ms}, {now_ms - job.retrying_until_ms} ms ago"
    for run in ledger.work.runs.values():
        is_over = run.cancelling or ledger.work.jobs[run.root_id].outcome is not None
        if run.deadline_ms is not None and run.deadline_ms < now_ms and not is_over:
            return f"the deadline of {run.id} was {now_ms - run.deadline_ms} ms ago"
    for question in ledger.work.questions.values():
        if question.due_ms is not None and question.due_ms < now_ms:
            return f"{question.id} was to be answered {now_ms - question.due_ms} ms ago"
    for agent_id in ledger.team.agents:
        circuit = ledger.failures.circuit(agent_id)
        if circuit.status == "open" and circuit.due_ms < now_ms:
            return f"the circuit of {agent_id} was to half open {now_ms - circuit.due_ms} ms ago"
    for insight in ledger.memory.insights.values():
        if insight.expires_ms is not None and insight.expires_ms < now_ms:
            return f"{insight.id} was to be forgotten {now_ms - insight.expires_ms} ms ago"
    return None


@law(When.AT_MOMENTS)
def attempts_are_really_at_work(world: ObservedWorld) -> str | None:
    """Every attempt that is at work in the state is really run by a runtime."""
    for task in world.state.tasks.values():
        attempt = task.attempt
        if attempt is not None and attempt.agent_id is not None and (task.id, attempt.number) not in world.acting:
            return f"{task.id}, attempt {attempt.number}: {attempt.agent_id} is not at it"
    return None


# At rest


@law(When.AT_REST)
def whatever_can_move_has_moved(world: ObservedWorld) -> str | None:
    """No deadlock: when nothing is at work and nothing is paused, no waiting task could begin."""
    for task in world.state.tasks.values():
        if (
            not (task.ended or task.blockers or task.open)
            and (reason := _deadlock_reason(world.state, task)) is not None
        ):
            return f"{task.id} ({task.kind}, {task.status}) is permanently blocked: {reason}"
    return None


def _deadlock_reason(state: State, task: Task) -> str | None:
    """Return why a task without open predecessors should not be waiting; None where it has a reason to wait."""
    if task.escalation_id is not None or task.status is TaskStatus.IN_DOUBT:
        return None
    run = state.runs[task.run_id]
    if any(escalation.run_id == run.id for escalation in state.escalations.values()):
        return None
    if run.paused or any(other in state.runs for other in run.after):
        return None
    if task.attempt is not None:
        return "an attempt that nobody is at"
    if task.status is TaskStatus.RETRYING:
        return "a timer that never fires"
    if task.kind != "agent":
        return "nobody looks at it"
    queue = state.queues.get(task.queue or "")
    if queue is None:
        return f"there is no queue {task.queue}"
    supervisor = state.supervisors[queue.supervisor_id]
    able = [state.agents[agent_id].name for agent_id in queue.agents if _can_work(state.agents[agent_id])]
    if supervisor.paused:
        return None
    if not able:
        stays = any(state.agents[agent_id].removing is None for agent_id in queue.agents)
        return None if stays or queue.patient else "nobody may take it, and nobody is asked"
    place = "in the queue" if task.ready else "and does not stand in the queue"
    return f"{', '.join(able)} could do it; it waits {place} {queue.key}"


def _can_work(agent: Agent) -> bool:
    return agent.removing is None and agent.error is None and not (agent.paused or agent.away) and agent.has_room


@law(When.AT_REST)
def no_timer_is_left(world: ObservedWorld) -> str | None:
    """At rest no timer is set."""
    return f"{next(iter(world.state.timers))} is set" if world.state.timers else None


@law(When.AT_REST)
def every_command_has_an_outcome(world: ObservedWorld) -> str | None:
    """Every command on disk gets an outcome, and its sender is told."""
    for command_id in world.inbox_ids:
        if command_id not in world.ledger.outcome_seqs:
            return f"{command_id} was acknowledged and never decided"
    pending_ids = world.disk.pending()
    return f"{pending_ids[0]} was decided, and its sender was not told" if pending_ids else None


# At the end


@law(When.AT_THE_END)
def a_snapshot_is_only_a_shortcut(world: ObservedWorld) -> str | None:
    """Folding from any snapshot equals folding from the start."""
    final_state = encode_state(world.ledger.state)
    for seq, body in world.disk.snapshots.items():
        resumed = decode_state(body)
        fold(resumed, world.disk.events(seq))
        if encode_state(resumed) != final_state:
            return f"from the snapshot at seq {seq} the journal leads elsewhere"
    return None
