"""Laws of waiting: every waiting task has a cause that can end: a question, a timer, a budget, other work."""

from collections.abc import Iterator

from engine.core.budgets.enforcement import is_over
from engine.core.decide.engine import ON_TIMER
from engine.core.decide.people.escalations import ON_ANSWER
from engine.core.fold.queues import is_held, is_ready
from engine.core.queries.money.budget import AMOUNTS, Subject, subject_with
from engine.core.queries.people.offers import DISCOVER
from engine.core.state import NOBODY, OF_ATTEMPTS, Agent, Escalation, Run, State, Supervisor, Task, TaskStatus, Timer

_OF_AGENTS = frozenset({TaskStatus.RETRYING, TaskStatus.PREEMPTED, TaskStatus.IN_DOUBT})
"""Statuses that only tasks of kind `agent` can have."""


def statuses_fit_their_kind(state: State) -> Iterator[str]:
    """A task has the fields of its kind, and a status that its kind can have."""
    for task in state.tasks.values():
        if task.kind != "agent" and task.status in _OF_AGENTS:
            yield f"{task.id} is {task.status}, which only work of an agent can be"
        if (task.check is not None) != (task.kind == "check") or (task.join is not None) != (task.kind == "join"):
            yield f"{task.id} is of kind {task.kind}, and has the question of another"
        if (task.ended_ms is not None) != task.ended:
            yield f"{task.id} is {task.status}, and ended at {task.ended_ms}"
        if task.kind != "group" and (task.status is TaskStatus.RUNNING) != (task.attempt is not None):
            yield f"{task.id} is {task.status} {'with' if task.attempt is not None else 'without'} an attempt"
        if task.kind == "group" and not task.ended and task.worker_id not in state.supervisors:
            yield f"{task.id} is for a supervisor that is not there"


def running_graphs_have_open_nodes(state: State) -> Iterator[str]:
    """A running graph has a strategy and open nodes; an open run has an open root, or attempts that still stop."""
    for task in state.tasks.values():
        if task.kind == "group" and task.status is TaskStatus.RUNNING and not (task.open and task.mode is not None):
            yield f"{task.id} is under way, and nothing of it is open"
    for run in state.runs.values():
        if state.tasks[run.root_id].ended and not run.running:
            yield f"{run.id} is open, and its root has ended"


def ready_work_stands_in_its_queue(state: State) -> Iterator[str]:
    """An open agent task has a queue; exactly the ready ones wait in it, unless they are held back."""
    queues = {key for key in state.queues if not key.startswith("back:")}
    for task in state.tasks.values():
        if task.kind != "agent" or task.ended:
            continue
        if task.queue not in queues:
            yield f"{task.id} has the queue {task.queue!a}, which is none for it"
        elif task.held_back:
            if not is_held(state, task):
                yield f"{task.id} is held back, and nothing holds it"
        elif is_ready(task) != task.ready and not (is_ready(task) and is_held(state, task)):
            yield f"{task.id} is {'not ' * task.ready}ready and stands in {task.queue if task.ready else 'no queue'}"


def cancelled_tasks_do_not_wait(state: State) -> Iterator[str]:
    """No task below a cancelled one waits to begin; a run or task that exceeded a limit is being cancelled."""
    for work in _all_work(state):
        if work.exceeded is not None and not work.cancelling:
            yield f"{work.id} has exceeded a limit and goes on"
    front = [run.root_id for run in state.runs.values() if run.cancelling]
    front += [task.id for task in state.tasks.values() if task.cancelling]
    seen_ids = set(front)
    while front:
        task = state.tasks[front.pop()]
        if not task.ended and task.attempt is None and task.status is not TaskStatus.RUNNING:
            yield f"{task.id} is being cancelled and waits"
        front += [child for child in task.children if child not in seen_ids]
        seen_ids.update(task.children)


def questions_have_waiting_subjects(state: State) -> Iterator[str]:
    """A question can be answered, and its subject waits for the answer."""
    for question in state.escalations.values():
        options, default = question.options, question.default
        if question.kind not in ON_ANSWER or not options or len(set(options)) != len(options):
            yield f"{question.id} is not a question that can be answered"
        if default is not None and default not in options:
            yield f"{question.id} has the default {default!a}, which is not an answer to it"
        if (question.due_ms is not None) != (f"escalation:{question.id}" in state.timers):
            yield f"{question.id} is due at {question.due_ms}, and its timer says otherwise"
        run = state.runs.get(question.run_id or "")
        is_paused, has_clock = run is not None and run.paused, question.due_ms is not None
        if (is_paused and has_clock) or (question.left_ms is not None and (has_clock or not is_paused)):
            yield f"{question.id} is due at {question.due_ms} or in {question.left_ms} ms, and its run says otherwise"
        if not _waits_for(state, question):
            yield f"{question.id} asks about {question.subject}, which does not wait for an answer"
    calls = [
        (question.subject, str(question.detail.get("key")))
        for question in state.escalations.values()
        if question.kind == "doubt"
    ]
    if len(set(calls)) != len(calls):
        yield "a person is asked twice about one call of a tool"
    for task in state.tasks.values():
        if task.steers and (task.ended or task.kind != "agent"):
            yield f"{task.id} has messages and no next turn"
        if task.asks and any(question_id not in state.escalations for question_id in task.asks.values()):
            yield f"{task.id} asks a person what is not a question"
        if task.escalation_id is None and task.status is not TaskStatus.IN_DOUBT and not task.calling:
            continue
        task_question = state.escalations.get(task.escalation_id or "")
        if task.escalation_id is not None and (task_question is None or task_question.subject != task.id):
            yield f"{task.id} waits for the answer to {task.escalation_id}, which is not a question about it"
        if (task.status is TaskStatus.IN_DOUBT) != (task_question is not None and task_question.kind == "doubt"):
            yield f"{task.id} is {task.status}, and no question says so"
        # After an answer the next call in doubt has a question at once.
        if task.calling and not (task.ended or task.attempt is not None or task_question is not None):
            yield f"{task.id} may have called {next(iter(task.calling.values()))!a}, and nobody is asked"


def grants_match_current_generations(state: State) -> Iterator[str]:
    """A grant is for the current generation of its agent, for work that is open, and no two are alike."""
    seen_grants: set[tuple[object, ...]] = set()
    for grant in state.grants.values():
        agent = state.agents.get(grant.agent_id)
        if agent is None or agent.generation != grant.generation:
            yield f"{grant.id} is for g{grant.generation} of {grant.agent_id}, which is gone"
        scope_key = (grant.scope, grant.scope_id, grant.until_ms, *sorted(grant.where.items()))
        if (grant.agent_id, grant.tool, *scope_key) in seen_grants:
            yield f"{grant.id} is the second for {grant.tool} of {grant.agent_id}"
        seen_grants.add((grant.agent_id, grant.tool, *scope_key))
        if grant.scope_id is not None and grant.scope_id not in state.tasks and grant.scope_id not in state.runs:
            yield f"{grant.id} is for {grant.scope_id}, which is gone"
        if (grant.until_ms is not None) != (f"grant:{grant.id}" in state.timers):
            yield f"{grant.id} ends at {grant.until_ms}, which does not fit its timer"


def _waits_for(state: State, question: Escalation) -> bool:
    task = state.tasks.get(question.subject)
    if question.run_id != (task.run_id if task is not None else _run_of(state, question.subject)):
        return False
    if question.kind == "drain":
        return question.subject in state.agents and state.agents[question.subject].draining
    if question.kind == "budget":
        subject = subject_with(state, question.subject)
        return subject is not None and subject.held
    if question.kind == DISCOVER:
        return task is not None and task.kind == "group" and not task.ended and task.search == "ended"
    if task is None or task.kind != "agent" or task.ended:
        return False
    if question.kind in OF_ATTEMPTS:
        key = str(question.detail.get("key"))
        return task.asks.get(key) == question.id and key not in task.steps
    if question.kind == NOBODY:
        return task.nobody_id == question.id
    if task.escalation_id is None:
        return False
    return question.kind != "doubt" or str(question.detail.get("key")) in task.calling


def _run_of(state: State, subject: str) -> str | None:
    return subject if subject in state.runs else None


def held_subjects_have_a_question(state: State) -> Iterator[str]:
    """Each subject that is held by a spent budget has exactly one open question about it."""
    subjects = [question.subject for question in state.escalations.values() if question.kind == "budget"]
    asked_ids = set(subjects)
    if len(asked_ids) != len(subjects):
        yield "a person is asked twice about one budget"
    members: list[Agent | Supervisor] = [*state.agents.values(), *state.supervisors.values()]
    work: list[Subject] = [subject for subject in _all_work(state) if not is_over(state, subject)]
    for subject in (*work, *members):
        if subject.held != (subject.id in asked_ids):
            yield f"{subject.id} is {'held and nobody is asked' if subject.held else 'asked about and not held'}"
    for member in members:
        if member.held and member.exhausted is None:
            yield f"{member.id} is held and has spent no budget"
    for key, ledger in state.ledgers.items():
        named = {*ledger.warned, *ledger.granted, *ledger.raised, *ledger.needs}
        if key != ledger.id or subject_with(state, key) is None or not named.issubset(AMOUNTS):
            yield f"the ledger of {key!a} has no owner"
        if any(times < 1 for times in ledger.granted.values()):
            yield f"the ledger of {key!a} grants nothing"


def timers_have_waiting_subjects(state: State) -> Iterator[str]:
    """The id of a timer is made of its kind and its subject, and the subject waits for it."""
    for key, timer in state.timers.items():
        if timer.id != key or key != f"{timer.kind}:{timer.subject}" or timer.kind not in ON_TIMER:
            yield f"the timer {key!a} is none"
        elif not _is_waited_for(state, timer):
            yield f"the timer {key} is waited for by nobody"
    for work in _all_work(state):
        is_owed = work.deadline_after_ms is not None and work.exceeded is None and not is_over(state, work)
        if is_owed and f"deadline:{work.id}" not in state.timers:
            yield f"{work.id} was given {work.deadline_after_ms} ms, and no timer ends it"


def _all_work(state: State) -> list[Run | Task]:
    return [*state.runs.values(), *state.tasks.values()]


def _is_waited_for(state: State, timer: Timer) -> bool:
    work = state.runs.get(timer.subject) or state.tasks.get(timer.subject)
    if timer.kind == "retry":
        return timer.subject in state.tasks and state.tasks[timer.subject].status is TaskStatus.RETRYING
    if timer.kind in ("deadline", "warn"):
        return work is not None and work.deadline_after_ms is not None
    if timer.kind in ("grace", "time"):
        return work is not None
    if timer.kind == "escalation":
        return timer.subject in state.escalations
    if timer.kind == "grant":
        return timer.subject in state.grants
    if timer.kind == "expiry":
        return timer.subject in state.insights and state.insights[timer.subject].expires_ms == timer.due_ms
    return timer.subject in state.agents


def runs_wait_for_open_runs(state: State) -> Iterator[str]:
    """A waiting run has not begun; it and the open runs that it waits for list each other once."""
    for run in state.runs.values():
        if any(len(set(ids)) != len(ids) for ids in (run.after, run.before)):
            yield f"{run.id} waits for a run twice, or lets one wait twice"
        for other_id in run.after:
            if run.id not in state.runs[other_id].before:
                yield f"{run.id} waits for {other_id}, which does not know it"
        for other_id in run.before:
            if run.id not in state.runs[other_id].after:
                yield f"{run.id} lets {other_id} wait, which does not know it"
        if run.after and state.tasks[run.root_id].children:
            yield f"{run.id} waits for {run.after} and has begun"
