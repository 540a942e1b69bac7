"""Outcomes: each task has one, graphs and runs follow from those of their parts, what is counted adds up."""

from collections import Counter
from typing import Any

from engine.core import events
from engine.core.state import RunStatus, TaskStatus
from engine.errors import BoundElsewhere
from engine.simulation.chronicle import Chronicle
from engine.simulation.laws.registry import When, law

LIE = "an answer about an attempt that is not at work"
"""What agents say about attempts that are not theirs; never to be taken."""


@law(
    events.AttemptDone,
    events.AttemptCancelled,
    events.TaskFailed,
    events.TaskSkipped,
    events.TaskAnswered,
    events.GroupEnded,
)
def each_task_has_one_outcome(books: Chronicle, event: Any) -> str | None:
    """Each task has exactly one outcome."""
    before = books.outcomes.get(event.task_id)
    return None if before is None else f"{event.task_id} was {before} and ends again by {event.type}"


@law(When.AFTER_BATCH)
def no_outcome_is_taken_back(books: Chronicle) -> str | None:
    """A task keeps its outcome, unless an operator reopens it."""
    return books.undone[0] if books.undone else None


@law(events.RunFinished)
def nothing_of_a_finished_run_is_open(books: Chronicle, event: events.RunFinished) -> str | None:
    """When a run ends, every task of it has its outcome and nothing of it is at work."""
    work = books.work
    for task_id in work.runs[event.run_id].tasks:
        if task_id not in books.outcomes:
            return f"{event.run_id} ends, and {task_id} has no outcome"
        if work.jobs[task_id].attempt is not None:
            return f"{event.run_id} ends, and {task_id} is at work"
    return None


@law(events.RunFinished)
def a_finished_run_names_its_tasks(books: Chronicle, event: events.RunFinished) -> str | None:
    """The end of a run says the titles of all its tasks, which the state forgets with it."""
    run = books.work.runs[event.run_id]
    wanted = {task_id: books.work.jobs[task_id].title for task_id in run.tasks} | {run.root_id: event.figures.title}
    return None if event.titles == wanted else f"{event.run_id} ends with titles {event.titles}; there are {wanted}"


@law(
    events.AttemptResumed,
    events.AttemptDone,
    events.AttemptFailed,
    events.AttemptCancelled,
    events.AttemptMigrated,
    events.AttemptPreempted,
    events.AttemptSetAside,
    events.Delegated,
    events.StepRecorded,
)
def only_the_attempt_that_is_live_is_heard(books: Chronicle, event: Any) -> str | None:
    """Only the attempt that is live is heard: one answer for each, from that attempt alone."""
    attempt = books.work.jobs[event.task_id].attempt
    if attempt is not None and attempt.number == event.attempt:
        return None
    now = "none" if attempt is None else attempt.number
    return f"{event.type} of {event.task_id}, attempt {event.attempt}; at work is {now}"


@law(events.AttemptDone)
def no_lie_is_taken(books: Chronicle, event: events.AttemptDone) -> str | None:
    """An answer about an attempt that is not at work is not taken."""
    return f"{event.task_id} took it for the answer of attempt {event.attempt}" if event.output == LIE else None


@law(events.AttemptFailed)
def nothing_fails_for_code_that_is_elsewhere(books: Chronicle, event: events.AttemptFailed) -> str | None:
    """No attempt fails because the code of its agent is in a program that is not running."""
    return f"{event.task_id}: {event.error}" if event.error_type == BoundElsewhere.__name__ else None


@law(events.AttemptStarted)
def a_finished_task_is_not_started(books: Chronicle, event: events.AttemptStarted) -> str | None:
    """A task that has its outcome is never started again, and attempts are numbered without a gap."""
    job = books.work.jobs[event.task_id]
    if job.outcome is not None:
        return f"{job.id} is started after {job.outcome}"
    if job.attempt is not None:
        return f"{job.id} is started while attempt {job.attempt.number} of it is at work"
    return None if event.attempt == job.attempts + 1 else f"attempt {event.attempt} of {job.id} follows {job.attempts}"


@law(events.GroupPlanned, events.AttemptStarted)
def what_comes_first_has_ended(books: Chronicle, event: events.AttemptStarted | events.GroupPlanned) -> str | None:
    """A task begins when all that it comes after has ended and lets it go on, and nobody is asked about it."""
    work = books.work
    job = work.jobs[event.task_id]
    run = work.runs[job.run_id]
    if run.after:
        return f"{job.id} begins, and {run.id} waits for {run.after}"
    if job.question is not None or job.calling or job.retrying_until_ms is not None or job.planned:
        return f"{job.id} begins, and waits for a person or a back-off, or is planned already"
    goes_on_anyhow = job.is_met or (job.check is not None and job.check.what == "guards")
    for before in (work.jobs[one] for one in job.after):
        if before.outcome is None:
            return f"{job.id} begins before {before.id} has ended"
        if not (work.passes(before.id) or before.passed_by or goes_on_anyhow):
            return f"{job.id} begins, and {before.id}, which it comes after, was {before.outcome}"
    return None


@law(events.StepRecorded)
def a_step_is_recorded_once(books: Chronicle, event: events.StepRecorded) -> str | None:
    """A step of a task is recorded once."""
    is_known = event.key in books.work.jobs[event.task_id].steps
    return f"{event.key} of {event.task_id} is recorded already" if is_known else None


@law(events.AttemptResumed, events.CallAnswered)
def answers_are_complete(books: Chronicle, event: events.AttemptResumed | events.CallAnswered) -> str | None:
    """An attempt is told what a delegation brought when all of it has its outcome."""
    work = books.work
    job = work.jobs[event.task_id]
    keys = event.call_keys if isinstance(event, events.AttemptResumed) else [event.call_key]
    for key in keys:
        open_ones = [child for child in job.calls[key] if work.jobs[child].outcome is None]
        if open_ones:
            return f"{job.id} is told the answer of {key}, and {open_ones[0]} is open"
    return None


@law(events.AttemptResumed)
def who_goes_on_was_answered(books: Chronicle, event: events.AttemptResumed) -> str | None:
    """An attempt that waits for delegations goes on once the last answer is there, or to migrate."""
    job = books.work.jobs[event.task_id]
    attempt = job.attempt
    if attempt is None or not attempt.parked:
        return f"{job.id} goes on, and does not wait"
    if books.work.is_answered(job) or "migrate" in attempt.asked:
        return None
    return f"{job.id} goes on before {attempt.waits} are answered"


@law(events.GroupEnded)
def a_graph_ends_as_its_nodes_did(books: Chronicle, event: events.GroupEnded) -> str | None:
    """A graph ends when all its nodes have; it is done with the output of its outcome, and failed where it had to."""
    work = books.work
    group = work.jobs[event.task_id]
    nodes = [work.jobs[one] for one in group.children]
    open_ones = [node.id for node in nodes if node.outcome is None]
    if open_ones:
        return f"{group.id} ends, and {open_ones[0]} of it is open"
    faults = [one for one in nodes if one.outcome is TaskStatus.FAILED and not (one.optional or one.tolerated)]
    if event.status is TaskStatus.DONE and (faults or group.failed or work.is_over(group)):
        return f"{group.id} is done, although {faults[0].id if faults else 'it'} failed or was cancelled"
    if event.status is TaskStatus.CANCELLED and (faults or group.failed) and not work.is_over(group):
        return f"{group.id} is cancelled, and nobody cancelled it"
    if event.status is TaskStatus.FAILED and group.planned and not (faults or group.failed or work.is_over(group)):
        return f"{group.id} failed, and nothing of it did"
    outcome = work.jobs.get(group.outcome_id or "")
    if event.status is TaskStatus.DONE and outcome is not None and outcome.outcome is TaskStatus.DONE:
        found = books.text(event.output)
        if outcome.output is not None and found != outcome.output:
            return f"{group.id} says {found!r:.60}, and its outcome {outcome.id} says {outcome.output!r:.60}"
    return None


@law(events.RunFinished)
def a_run_ends_as_its_root_did(books: Chronicle, event: events.RunFinished) -> str | None:
    """The status and the output of a run are those of the graph that stands for its whole request."""
    root = books.work.jobs[books.work.runs[event.run_id].root_id]
    if root.outcome is None or event.status is not RunStatus(root.outcome.value):
        return f"{event.run_id} is {event.status}, and its graph {root.outcome}"
    found = books.text(event.output)
    return None if found == root.output else f"{event.run_id} says {found!r:.60}, and its graph {root.output!r:.60}"


@law(When.AFTER_BATCH)
def runs_count_what_became_of_their_tasks(books: Chronicle) -> str | None:
    """A run counts its tasks of agents, and how many have ended, are done, have failed and are at work."""
    work = books.work
    for run in books.state.runs.values():
        jobs = [work.jobs[one] for one in work.runs[run.id].tasks]
        mine = [job for job in jobs if job.kind == "agent"]
        ends = Counter(job.outcome for job in mine)
        counted = {
            "total": len(mine),
            "ended": len(mine) - ends[None],
            "done": ends[TaskStatus.DONE],
            "failed": ends[TaskStatus.FAILED],
            "running": sum(job.attempt is not None for job in jobs),
            "begun": books.spending.begun[run.id],
        }
        for name, number in counted.items():
            if getattr(run, name) != number:
                return f"{run.id} says {name}: {getattr(run, name)}; counted {number}"
    return None


@law(When.AFTER_BATCH)
def finished_runs_are_remembered(books: Chronicle) -> str | None:
    """The last runs are remembered as they were, the newest at the end."""
    finished = books.state.finished
    for summary in finished[-3:]:
        for name, value in books.summaries.get(summary.id, {}).items():
            if getattr(summary, name) != value:
                return f"{summary.id} is remembered with {name} {getattr(summary, name)}; it was {value}"
    known = list(books.summaries)[-1:]
    if known and known[0] not in [one.id for one in finished]:
        return f"{known[0]} has ended, and is not remembered"
    return None


@law(When.AFTER_BATCH)
def totals_add_up(books: Chronicle) -> str | None:
    """The state counts every task of an agent, every one that was done or failed, and every run."""
    state, totals = books.state, books.work.totals()
    found = {
        "tasks": state.tasks_total, "done": state.tasks_done, "failed": state.tasks_failed, "runs": state.runs_total,
    }  # fmt: skip
    for name, number in found.items():
        if number != totals[name]:
            return f"the state counts {number} {name}; events come to {totals[name]}"
    return None


@law(When.AFTER_BATCH)
def outcomes_are_those_of_events(books: Chronicle) -> str | None:
    """Each task stands in the state as events left it."""
    state = books.state
    for job in books.work.jobs.values():
        task = state.tasks.get(job.id)
        if task is None:
            return f"{job.id} is not in the state"
        if (task.status if task.ended else None) is not job.outcome:
            return f"{job.id} is {task.status}; events say {job.outcome}"
        if (task.status is TaskStatus.RETRYING) != (job.retrying_until_ms is not None):
            return f"{job.id} is {task.status}; it backs off until {job.retrying_until_ms}"
        if (task.status is TaskStatus.IN_DOUBT) != (job.in_doubt and job.outcome is None):
            return f"{job.id} is {task.status}; a tool call of it {'is' if job.in_doubt else 'is not'} in doubt"
    return None
