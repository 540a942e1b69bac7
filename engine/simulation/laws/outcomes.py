"""Outcomes and inputs: each task has one outcome, graphs and runs follow from their parts, attempts get outputs."""

from typing import Any

from engine.core import events
from engine.core.specs.spec import spec_hash
from engine.core.state import RunStatus, TaskStatus
from engine.errors import BoundElsewhere
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.task import Task
from engine.simulation.laws.registry import When, describe_difference, law
from engine.simulation.ledger.work import to_question
from engine.simulation.shadow_ledger import ShadowLedger

FALSE_REPORT = "an answer about an attempt that is not at work"
"""A false report of an agent about another attempt; must be discarded."""


@law(When.AFTER_BATCH)
def each_task_has_one_outcome(ledger: ShadowLedger) -> str | None:
    """A task has exactly one outcome, and keeps it unless an operator reopens it."""
    return next(iter(ledger.work.ended_twice), None)


@law(events.RunFinished)
def nothing_of_a_finished_run_is_open(ledger: ShadowLedger, event: events.RunFinished) -> str | None:
    """When a run ends, every task of it has its outcome and nothing of it is at work."""
    work = ledger.work
    for task_id in work.runs[event.run_id].tasks:
        if work.jobs[task_id].outcome is None:
            return f"{event.run_id} ends, and {task_id} has no outcome"
        if work.jobs[task_id].attempt is not None:
            return f"{event.run_id} ends, and {task_id} is at work"
    return None


@law(events.RunFinished)
def a_finished_run_names_its_tasks(ledger: ShadowLedger, event: events.RunFinished) -> str | None:
    """The event that ends a run carries the titles of all its tasks, because the state forgets them."""
    run = ledger.work.runs[event.run_id]
    titles = {task_id: ledger.work.jobs[task_id].title for task_id in run.tasks} | {run.root_id: event.figures.title}
    return None if event.titles == titles else f"{event.run_id} ends with titles {event.titles}; there are {titles}"


@law(
    events.AttemptParked,
    events.SlotWanted,
    events.AttemptResumed,
    events.AttemptDone,
    events.AttemptFailed,
    events.AttemptCancelled,
    events.AttemptMigrated,
    events.AttemptPreempted,
    events.AttemptSetAside,
    events.Delegated,
    events.StepRecorded,
    events.ModelFailed,
    events.StepStopped,
)
def only_the_attempt_that_is_live_is_heard(ledger: ShadowLedger, event: Any) -> str | None:
    """Only the live attempt of a task may report, and each attempt reports its end once."""
    attempt = ledger.work.jobs[event.task_id].attempt
    if attempt is not None and attempt.number == event.attempt:
        return None
    now = "none" if attempt is None else attempt.number
    return f"{event.type} of {event.task_id}, attempt {event.attempt}; at work is {now}"


@law(events.AttemptDone)
def no_lie_is_taken(ledger: ShadowLedger, event: events.AttemptDone) -> str | None:
    """A report about an attempt that is not at work is discarded."""
    if event.output != FALSE_REPORT:
        return None
    return f"{event.task_id} took it for the answer of attempt {event.attempt}"


@law(events.AttemptFailed)
def nothing_fails_for_code_that_is_elsewhere(ledger: ShadowLedger, event: events.AttemptFailed) -> str | None:
    """No attempt fails because its agent's code is bound to a program that is not running."""
    return f"{event.task_id}: {event.error}" if event.error_type == BoundElsewhere.__name__ else None


@law(events.AttemptStarted)
def a_finished_task_is_not_started(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """A task that has its outcome is never started again, and attempts are numbered without a gap."""
    job = ledger.work.jobs[event.task_id]
    if job.outcome is not None:
        return f"{job.id} is started after {job.outcome}"
    if job.attempt is not None:
        return f"{job.id} is started while attempt {job.attempt.number} of it is at work"
    return None if event.attempt == job.attempts + 1 else f"attempt {event.attempt} of {job.id} follows {job.attempts}"


@law(events.GroupPlanned, events.AttemptStarted)
def predecessors_have_ended(ledger: ShadowLedger, event: events.AttemptStarted | events.GroupPlanned) -> str | None:
    """A task begins only after its predecessors have ended and let it go on, and with no open question about it."""
    work = ledger.work
    job = work.jobs[event.task_id]
    run = work.runs[job.run_id]
    if run.after:
        return f"{job.id} begins, and {run.id} waits for {run.after}"
    if job.question is not None or job.calling or job.retrying_until_ms is not None or job.planned:
        return f"{job.id} begins, and waits for a person or a back-off, or is planned already"
    goes_on_anyhow = job.is_met or (job.check is not None and job.check.what == "guards")
    for before in (work.jobs[task_id] for task_id in job.after):
        if before.outcome is None:
            return f"{job.id} begins before {before.id} has ended"
        if not (work.passes(before.id) or before.passed_by or goes_on_anyhow):
            return f"{job.id} begins, and {before.id}, which it comes after, was {before.outcome}"
    return None


@law(events.StepRecorded)
def a_step_is_recorded_once(ledger: ShadowLedger, event: events.StepRecorded) -> str | None:
    """A step of a task is recorded once."""
    is_known = event.key in ledger.work.jobs[event.task_id].steps
    return f"{event.key} of {event.task_id} is recorded already" if is_known else None


@law(events.StepRecorded)
def a_message_is_taken_once(ledger: ShadowLedger, event: events.StepRecorded) -> str | None:
    """A turn takes the messages that wait for it, each once, with their texts."""
    waiting = ledger.work.jobs[event.task_id].steers
    if any(steer_id not in waiting for steer_id in event.steers):
        return f"{event.task_id} takes {event.steers}, and {[*waiting]} wait for it"
    texts = [waiting[steer_id] for steer_id in event.steers]
    return f"{event.task_id} takes {texts} as {event.output}" if texts and event.output != texts else None


@law(events.EscalationAnswered, events.QuestionWithdrawn)
def a_question_has_one_outcome(
    ledger: ShadowLedger, event: events.EscalationAnswered | events.QuestionWithdrawn
) -> str | None:
    """A question is answered or withdrawn once, while it is open."""
    is_open = event.escalation_id in ledger.work.questions
    return None if is_open else f"{event.escalation_id} is {event.type}, and not open"


@law(events.AttemptResumed, events.CallAnswered)
def answers_are_complete(ledger: ShadowLedger, event: events.AttemptResumed | events.CallAnswered) -> str | None:
    """The answers of a delegation are delivered when all of its tasks have an outcome."""
    work = ledger.work
    job = work.jobs[event.task_id]
    keys = event.call_keys if isinstance(event, events.AttemptResumed) else [event.call_key]
    for key in keys:
        open_ones = [child for child in job.calls[key] if work.jobs[child].outcome is None]
        if open_ones:
            return f"{job.id} is told the answer of {key}, and {open_ones[0]} is open"
    return None


@law(events.AttemptResumed)
def resumed_attempts_were_answered(ledger: ShadowLedger, event: events.AttemptResumed) -> str | None:
    """A parked attempt resumes when its last answer has come, when a step needs a slot, or to migrate."""
    job = ledger.work.jobs[event.task_id]
    attempt = job.attempt
    if attempt is None or not attempt.parked:
        return f"{job.id} goes on, and does not wait"
    if ledger.work.is_answered(job) or "migrate" in attempt.stop_reasons:
        return None
    return f"{job.id} goes on before {attempt.awaited_calls} are answered"


@law(events.GroupEnded)
def a_graph_ends_as_its_nodes_did(ledger: ShadowLedger, event: events.GroupEnded) -> str | None:
    """A graph ends when all its nodes have: done with the output of its outcome node, or failed by a required one."""
    work = ledger.work
    group = work.jobs[event.task_id]
    nodes = [work.jobs[child_id] for child_id in group.children]
    open_ones = [node.id for node in nodes if node.outcome is None]
    if open_ones:
        return f"{group.id} ends, and {open_ones[0]} of it is open"
    faults = [node for node in nodes if node.outcome is TaskStatus.FAILED and not (node.optional or node.tolerated)]
    if event.status is TaskStatus.DONE and (faults or group.failed or work.is_over(group)):
        return f"{group.id} is done, although {faults[0].id if faults else 'it'} failed or was cancelled"
    if event.status is TaskStatus.CANCELLED and (faults or group.failed) and not work.is_over(group):
        return f"{group.id} is cancelled, and nobody cancelled it"
    if event.status is TaskStatus.FAILED and group.planned and not (faults or group.failed or work.is_over(group)):
        return f"{group.id} failed, and nothing of it did"
    outcome = work.jobs.get(group.outcome_id or "")
    if event.status is TaskStatus.DONE and outcome is not None and outcome.outcome is TaskStatus.DONE:
        output = ledger.text(event.output)
        if outcome.output is not None and output != outcome.output:
            return f"{group.id} says {output!r:.60}, and its outcome {outcome.id} says {outcome.output!r:.60}"
    return None


@law(events.RunFinished)
def a_run_ends_as_its_root_did(ledger: ShadowLedger, event: events.RunFinished) -> str | None:
    """A run has the status and the output of its root task."""
    root = ledger.work.jobs[ledger.work.runs[event.run_id].root_id]
    if root.outcome is None or event.status is not RunStatus(root.outcome.value):
        return f"{event.run_id} is {event.status}, and its graph {root.outcome}"
    output = ledger.text(event.output)
    return None if output == root.output else f"{event.run_id} says {output!r:.60}, and its graph {root.output!r:.60}"


@law(When.AFTER_BATCH)
def finished_runs_are_remembered(ledger: ShadowLedger) -> str | None:
    """The last runs are remembered as they were, the newest at the end."""
    finished = ledger.state.finished
    for summary in finished[-3:]:
        for name, value in ledger.summaries.get(summary.id, {}).items():
            if getattr(summary, name) != value:
                return f"{summary.id} is remembered with {name} {getattr(summary, name)}; it was {value}"
    newest_ids = list(ledger.summaries)[-1:]
    if newest_ids and newest_ids[0] not in [run_summary.id for run_summary in finished]:
        return f"{newest_ids[0]} has ended, and is not remembered"
    return None


@law(When.AFTER_BATCH)
def totals_add_up(ledger: ShadowLedger) -> str | None:
    """The state counts every task of an agent, every one that was done or failed, and every run."""
    state, totals = ledger.state, ledger.work.totals()
    counts = {
        "tasks": state.tasks_total,
        "done": state.tasks_done,
        "failed": state.tasks_failed,
        "runs": state.runs_total,
    }
    for name, number in counts.items():
        if number != totals[name]:
            return f"the state counts {number} {name}; events come to {totals[name]}"
    return None


@law(When.AFTER_BATCH)
def the_work_is_what_events_say(ledger: ShadowLedger) -> str | None:
    """Runs, tasks, attempts and questions stand in the state as events left them."""
    state, work = ledger.state, ledger.work
    for kind, entities, entries in (
        ("runs", state.runs, work.runs),
        ("tasks", state.tasks, work.jobs),
        ("questions", state.escalations, work.questions),
    ):
        if [*entities] != [*entries]:
            return f"the state has the {kind} {[*entities]}; events left {[*entries]}"
    about = {getattr(event, "run_id", None) for event in ledger.batch}
    runs = [run for run in state.runs.values() if run.id in about or None in about]
    tasks = [state.tasks[task_id] for run in runs for task_id in run.tasks]
    pairs = [
        *((work.to_run_entry(state, run), work.runs[run.id]) for run in runs),
        *((work.to_job(state, task), work.jobs[task.id]) for task in tasks),
        *((to_question(escalation), work.questions[escalation.id]) for escalation in state.escalations.values()),
    ]
    return next((describe_difference(actual, expected) for actual, expected in pairs if actual != expected), None)


@law(When.ON_READ)
def an_attempt_is_given_what_came_before(ledger: ShadowLedger, reading: tuple[Work, Task]) -> str | None:
    """An attempt is given the outputs before it, the steps that earlier attempts finished, and nothing else."""
    work, task = reading
    effect = work.effect
    job = ledger.work.jobs.get(effect.task_id)
    if job is None or job.attempt is None or job.attempt.number != effect.attempt:
        return None  # the event that made it needless is in the same batch
    began_seq = ledger.started_seq.get((effect.task_id, effect.attempt), 0)
    since = ledger.events[began_seq:]
    if any(isinstance(event, events.StrategySwitched) for event in since):
        return None  # it began with the inputs before the switch
    answers = [event for event in since if isinstance(event, events.EscalationAnswered) and event.subject == job.id]
    expected_ids = [input_job.id for input_job in ledger.work.inputs_of(job)]
    if [source.task_id for source in effect.inputs] != expected_ids:
        return f"{job.id} is given {[source.task_id for source in effect.inputs]}, and {expected_ids} come before it"
    outputs = [ledger.work.jobs[task_id].output for task_id in expected_ids]
    if [source.output for source in task.inputs] != outputs:
        return f"{job.id} is given other outputs than {expected_ids} had"
    recorded = set(job.steps) - {answer.detail.get("key") for answer in answers}  # it asks for these, and is told then;
    if not recorded <= set(effect.steps) <= set(job.steps):  # or as a new generation began, which knows them
        return f"{job.id} is told of the steps {sorted(effect.steps)}; {sorted(job.steps)} are recorded"
    run = ledger.work.runs[job.run_id]
    return None if task.request == run.request else f"{job.id} is told that the request is {task.request!r:.60}"


@law(When.ON_READ)
def an_attempt_remembers_its_conversation(ledger: ShadowLedger, reading: tuple[Work, Task]) -> str | None:
    """A node of a graph remembers the runs that ended in its conversation before its own; a delegation nothing."""
    work, task = reading
    job = ledger.work.jobs.get(work.effect.task_id)
    if job is None or job.attempt is None or job.attempt.number != work.effect.attempt:
        return None
    expected_ids, ancestor = ledger.work.runs[job.run_id].remembers, job
    while True:
        if ancestor.call_key is not None:
            expected_ids = []
        if ancestor.parent_id is None:
            break
        ancestor = ledger.work.jobs[ancestor.parent_id]
    run_ids = [exchange.run_id for exchange in work.effect.conversation]
    if len(task.conversation) != 2 * len(run_ids):
        return f"{job.id} is told {len(task.conversation)} messages of {len(run_ids)} runs"
    if run_ids == expected_ids:
        return None
    return f"{job.id} remembers {run_ids}; {expected_ids} ended before it in its conversation"


@law(When.ON_BEGIN)
def an_attempt_runs_the_code_of_its_generation(ledger: ShadowLedger, work: Work) -> str | None:
    """An attempt runs the spec of the generation that it began on, or migrated to."""
    effect = work.effect
    job, agent = ledger.work.jobs.get(effect.task_id), ledger.team.agents.get(effect.agent_id)
    if job is None or agent is None or job.attempt is None or job.attempt.number != effect.attempt:
        return None
    if job.attempt.generation != effect.generation:
        return f"{job.id} runs on g{effect.generation}, and is on g{job.attempt.generation}"
    if job.attempt.spec is not None and spec_hash(work.spec) != spec_hash(job.attempt.spec):
        return f"{job.id} runs another spec than that of g{agent.generation} of {agent.id}"
    return None


@law(When.ON_CALL)
def a_tool_is_not_called_again_in_doubt(ledger: ShadowLedger, work: Work) -> str | None:
    """A tool that is not idempotent is called again only if its earlier call is known not to have happened."""
    task_id, attempt = work.effect.task_id, work.effect.attempt
    mine = [event for event in ledger.events if getattr(event, "task_id", None) == task_id]
    began = next((event for event in reversed(mine) if isinstance(event, events.ToolStarted)), None)
    if began is None or began.attempt != attempt:
        return f"attempt {attempt} of {task_id} calls a tool, and the journal does not say that it does"
    is_over = True
    for event in mine[: mine.index(began)]:
        match event:
            case events.ToolStarted(key=began.key):
                is_over = False
            case events.ToolFailed(key=began.key) | events.DoubtSettled(key=began.key, ran=False):
                is_over = True
            case events.StepRecorded(key=began.key) | events.DoubtSettled(key=began.key, ran=True):
                is_over = False
            case events.AttemptCancelled(restarted=True):
                is_over = True
    return None if is_over else f"attempt {attempt} of {task_id} calls {began.key}, which may have happened already"


@law(events.AttemptDone)
def a_join_has_what_it_joins(ledger: ShadowLedger, event: events.AttemptDone) -> str | None:
    """A built-in join returns the outputs of its finished predecessors, joined, and nothing else."""
    expected = ledger.joins.get((event.task_id, event.attempt))
    if expected is None or event.output == expected.value:
        return None
    return f"{event.task_id} joined {expected.task_ids} to {event.output!r:.80}, not {expected.value!r:.80}"
