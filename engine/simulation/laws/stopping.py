"""Pauses, cancellations, deadlines and swaps: what must not begin, what has to stop, and as what it ends."""

from typing import Any

from engine.core import events
from engine.core.state import Agent, Run, State, Supervisor
from engine.runtimes.attempts.work import Work
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.work import Job
from engine.simulation.shadow_ledger import ShadowLedger


@law(events.AttemptStarted)
def paused_work_does_not_start(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """Nothing new begins under a pause at any level, on an agent that is broken or leaves, or on a spent budget."""
    job = ledger.work.jobs[event.task_id]
    if event.agent_id is None:
        return None
    agent = ledger.team.agents[event.agent_id]
    circuit = ledger.failures.circuit(agent.id)
    if ledger.work.is_on_hold(job):
        return f"{job.id} begins while its run, or what it is part of, is held"
    if agent.paused or agent.away or agent.error is not None or agent.exhausted:
        return f"{job.id} begins on {agent.id}, which is paused, away, broken, or has spent its budget"
    if agent.removing is not None and (agent.removing != "drain" or job.queue != f"agent:{agent.id}"):
        return f"{job.id} begins on {agent.id}, which leaves ({agent.removing})"
    if circuit.status == "open" or (circuit.status == "half_open" and circuit.probe not in (None, job.id)):
        return f"{job.id} begins on {agent.id}, whose circuit is {circuit.status}"
    for supervisor in ledger.team.lineage(agent.supervisor_id):
        if supervisor.paused or supervisor.exhausted:
            return f"{job.id} begins on {agent.id} while {supervisor.id} is paused or has spent its budget"
    return None


@law(When.ON_STEP)
def a_pause_starts_nothing_after_its_next_step(ledger: ShadowLedger, work: Work, name: str) -> str | None:
    """No step, model call or tool call begins under a pause, at any level."""
    effect, state = work.effect, work.attempt.state
    agent, run = ledger.team.agents.get(effect.agent_id), ledger.work.runs.get(effect.run_id)
    if agent is None or run is None:
        return None
    owners: list[Any] = [run, agent, *ledger.team.lineage(agent.supervisor_id)]
    paused = next((owner for owner in owners if owner.paused), None)
    # The end of a pause may be decided and not yet on disk.
    live = None if paused is None else _owner(state, paused.id)
    if paused is None or live is None or not live.paused:
        return None
    return f"{name} of {effect.task_id} begins while {paused.id} is paused"


def _owner(state: State, owner_id: str) -> Run | Agent | Supervisor | None:
    return state.runs.get(owner_id) or state.agents.get(owner_id) or state.supervisors.get(owner_id)


@law(events.GroupPlanned, events.AttemptStarted, events.Delegated, events.RetryScheduled)
def cancelled_work_begins_nothing(ledger: ShadowLedger, event: Any) -> str | None:
    """Nothing begins, is planned, asked for or tried again in what is being cancelled, at any level."""
    work = ledger.work
    job = work.jobs[event.task_id]
    is_over = work.is_over(job)
    return f"{event.type} of {job.id}, which is part of what is being cancelled" if is_over else None


@law(events.CancelRequested, events.DeadlinePassed)
def whatever_is_below_stops(ledger: ShadowLedger, event: events.CancelRequested | events.DeadlinePassed) -> str | None:
    """A cancellation, or the end of a deadline, reaches everything below that has no outcome."""
    work = ledger.work
    ended_ids = event.cancelled if isinstance(event, events.CancelRequested) else event.ended
    covered_ids = {*ended_ids, *event.stopping}
    for job in work.open_under(event.run_id, event.task_id):
        if job.id in ended_ids and (job.attempt is not None or (job.kind == "group" and job.planned)):
            return f"{job.id} is at work, and ends at once"
        if job.id in event.stopping and job.attempt is None:
            return f"{job.id} is asked to stop, and is not at work"
        if job.id not in covered_ids and not (job.kind == "group" and job.planned):
            return f"{job.id} is open and goes on"
    for task_id in ended_ids:
        if work.jobs[task_id].outcome is not None:
            return f"{task_id} has its outcome and ends again"
    return None


@law(events.DeadlinePassed)
def a_deadline_passes_when_it_is_due(ledger: ShadowLedger, event: events.DeadlinePassed) -> str | None:
    """A deadline ends a run or a task when its moment has come, and not before."""
    subject: Any = ledger.work.jobs[event.task_id] if event.task_id else ledger.work.runs[event.run_id]
    if subject.deadline_ms is None:
        return f"{subject.id} has no deadline of its own"
    return f"it was due at {subject.deadline_ms}" if event.at_ms < subject.deadline_ms else None


@law(events.DeadlinePassed)
def grace_is_given(ledger: ShadowLedger, event: events.DeadlinePassed) -> str | None:
    """Work that runs when a deadline passes may continue for as long as its supervisor grants."""
    subject: Any = ledger.work.jobs[event.task_id] if event.task_id else ledger.work.runs[event.run_id]
    if not event.stopping:
        return None
    grace_ms = round(ledger.team.inherited_option(subject.supervisor_id, "grace_s", 5.0) * 1000)
    expected_due_ms = event.at_ms + grace_ms
    if event.grace_due_ms == expected_due_ms:
        return None
    return f"it has until {event.grace_due_ms}, not until {expected_due_ms}"


@law(events.GraceEnded)
def grace_ends_for_all(ledger: ShadowLedger, event: events.GraceEnded) -> str | None:
    """When the grace of a deadline is over, everything below that is still at work is stopped."""
    open_ones = ledger.work.open_under(event.run_id, event.task_id)
    at_work = [job.id for job in open_ones if job.attempt is not None]
    return None if set(at_work) == set(event.stopping) else f"{at_work} are at work, {event.stopping} are stopped"


@law(When.AFTER_BATCH)
def deadlines_are_inherited(ledger: ShadowLedger) -> str | None:
    """The deadline of a task is the earliest of its own and of everything that it is part of."""
    work, state = ledger.work, ledger.state
    for job in work.jobs.values():
        if job.outcome is not None or job.exceeded or work.is_over(job):
            continue
        actual_ms, expected_ms = state.tasks[job.id].deadline_ms, work.deadline_ms(job)
        if actual_ms != expected_ms:
            return f"{job.id} has to have ended by {actual_ms}; with what it is part of that is {expected_ms}"
    return None


@law(events.AttemptCancelled, events.AttemptMigrated, events.AttemptSetAside)
def an_attempt_ends_as_it_was_asked(ledger: ShadowLedger, event: Any) -> str | None:
    """An attempt is cancelled, begins again, goes elsewhere or migrates only where it was asked to stop for that."""
    work = ledger.work
    job = work.jobs[event.task_id]
    stop_reasons = job.attempt.stop_reasons if job.attempt is not None else set()
    match event:
        case events.AttemptMigrated():
            fits = "migrate" in stop_reasons
        case events.AttemptSetAside():
            fits = ("pause" if event.paused else "limit") in stop_reasons
        case events.AttemptCancelled(requeued=True, restarted=True):
            fits = "restart" in stop_reasons
        case events.AttemptCancelled(requeued=True):
            fits = bool(stop_reasons & {"requeue", "crash", "migrate"})
        case _:
            fits = work.is_over(job) or "cancel" in stop_reasons
    if fits:
        return None
    return f"{event.type} of {job.id}, which was asked to stop for {sorted(stop_reasons) or 'nothing'}"


@law(events.AttemptFailed)
def stopping_attempts_do_not_fail(ledger: ShadowLedger, event: events.AttemptFailed) -> str | None:
    """An error of an attempt that was asked to stop is its stop; one that was to migrate may still fail."""
    attempt = ledger.work.jobs[event.task_id].attempt
    stop_reasons = attempt.stop_reasons - {"migrate"} if attempt is not None else set()
    if not stop_reasons:
        return None
    return f"{event.task_id} failed ({event.error}); it was asked to stop for {sorted(stop_reasons)}"


@law(events.AttemptCancelled)
def cut_off_attempts_name_their_limit(ledger: ShadowLedger, event: events.AttemptCancelled) -> str | None:
    """An attempt that a deadline or a budget ended says so; one that an operator cancelled does not."""
    if event.requeued:
        return None
    work = ledger.work
    job = work.jobs[event.task_id]
    cause: Any = next((ancestor for ancestor in work.lineage(job) if ancestor.cancelling), work.runs[job.run_id])
    is_limit = bool(cause.cancelling and cause.exceeded)
    if (event.limit is not None) == is_limit:
        return None
    claimed_cause = "a limit" if event.limit is not None else "an operator"
    return f"{job.id} says that {claimed_cause} ended it; {cause.id} did"


@law(events.AttemptMigrated)
def a_migration_goes_to_the_newest(ledger: ShadowLedger, event: events.AttemptMigrated) -> str | None:
    """An attempt migrates from its own generation to the newest of its agent."""
    job, agent = ledger.work.jobs[event.task_id], ledger.team.agents[event.agent_id]
    before = job.attempt.generation if job.attempt is not None else None
    if event.before != before or event.generation != agent.generation:
        return f"{job.id} of g{before} goes from g{event.before} to g{event.generation}, not to g{agent.generation}"
    return None


@law(events.AttemptStarted)
def an_attempt_begins_on_the_newest(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """A new attempt begins on the newest generation of its agent."""
    if event.agent_id is None:
        return None
    agent = ledger.team.agents[event.agent_id]
    if event.generation == agent.generation:
        return None
    return f"{event.task_id} begins on g{event.generation} of {agent.id}, which is at g{agent.generation}"


@law(When.AFTER_BATCH)
def cancelled_work_ends(ledger: ShadowLedger) -> str | None:
    """Cancelled work has nothing left but attempts that were asked to stop and graphs that wait for them."""
    work = ledger.work
    for job in work.jobs.values():
        if job.outcome is None and job.attempt is None and work.is_over(job) and not _has_open_child(ledger, job):
            return f"{job.id} ({job.kind}) is being cancelled, has nothing at work, and does not end"
    return None


def _has_open_child(ledger: ShadowLedger, job: Job) -> bool:
    jobs = ledger.work.jobs
    return any(jobs[child].outcome is None for child in job.children)


@law(events.BudgetExhausted)
def a_spent_budget_reaches_what_spends_it(ledger: ShadowLedger, event: events.BudgetExhausted) -> str | None:
    """When a budget of a run or a task is spent for good, everything below ends or is asked to stop."""
    if event.run_id is None or event.then == "ask":
        return None
    work = ledger.work
    for job in work.open_under(event.run_id, event.task_id):
        is_exempt = (job.kind == "group" and job.planned) or (job.attempt is not None and event.amount == "attempts")
        if job.id not in (*event.ended, *event.stopping) and not is_exempt:
            return f"{job.id} is open and goes on, although the {event.amount} are spent"
    return None
