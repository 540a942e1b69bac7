"""Fold: usage at every level that pays for it, and deadlines and budgets that end work.

Only an object with a deadline of its own has timers. `State.limited` is empty while nothing has a budget; then no
spending is checked.
"""

from engine.core import events
from engine.core.fold.completion import end, withdraw
from engine.core.fold.queues import hold_back, resume_tasks
from engine.core.fold.slots import ask_to_stop, mark_changed, refresh_agent
from engine.core.fold.spending import add_usage, is_spent, spend
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.fold.times import count_time, note_stoppage
from engine.core.fold.track_record import record_for_update
from engine.core.queries.team.tree import parent_deadline_ms, tasks_of
from engine.core.records.values import Usage
from engine.core.specs.spec import AgentSpec
from engine.core.state import (
    Agent,
    Attempt,
    Ledger,
    Run,
    State,
    Supervisor,
    Task,
    TaskStatus,
    timer_id,
)


def set_deadline(
    state: State, subject: Run | Task, deadline_ms: int | None, after_ms: int | None, warn_ms: int | None
) -> None:
    """Set or remove a run's or task's own deadline; the caller updates everything below with `follow_deadline`."""
    subject.deadline_after_ms = after_ms
    for kind, due_ms in (("deadline", deadline_ms), ("warn", warn_ms)):
        if due_ms is None:
            drop_timer(state, kind, subject.id)
        else:
            set_timer(state, kind, subject.id, due_ms)


def follow_deadline(state: State, task: Task, above_ms: int | None) -> None:
    """Set the deadlines in force of `task` and all below it: the earliest of `above_ms` and their own."""
    front = [(task, above_ms)]
    while front:
        node, due_ms = front.pop()
        if node.deadline_after_ms is not None:
            # The timer keeps the own deadline: `deadline_ms` may have been overwritten by an earlier one from above.
            own = state.timers.get(timer_id("deadline", node.id))
            if own is not None and (due_ms is None or own.due_ms < due_ms):
                due_ms = own.due_ms
        node.deadline_ms = due_ms
        front += [(state.tasks[child], due_ms) for child in node.children]


def subject_of(state: State, run_id: str, task_id: str | None) -> Run | Task:
    """Return the run or task that an event is about."""
    return state.runs[run_id] if task_id is None else state.tasks[task_id]


def exceed(state: State, subject: Run | Task, words: str, ended_ids: list[str], stopping: list[str]) -> None:
    """End a run or task, and all below it, because of a deadline or a budget."""
    root_id = subject.root_id if isinstance(subject, Run) else subject.id
    subject.exceeded = words
    subject.cancelling = True
    for task_id in stopping:
        ask_to_stop(state.tasks[task_id], "limit")
    for task_id in ended_ids:
        status = TaskStatus.FAILED if task_id == root_id else TaskStatus.CANCELLED
        end(state, state.tasks[task_id], status, error=words)


def _deadline_set(state: State, event: events.DeadlineSet) -> None:
    run = state.runs[event.run_id]
    subject = subject_of(state, event.run_id, event.task_id)
    set_deadline(state, subject, event.deadline_ms, event.after_ms, event.warn_ms)
    if isinstance(subject, Run):
        run.deadline_ms = event.deadline_ms
        follow_deadline(state, state.tasks[run.root_id], run.deadline_ms)
    else:
        follow_deadline(state, subject, parent_deadline_ms(state, subject))


def _deadline_warned(state: State, event: events.DeadlineWarned) -> None:
    drop_timer(state, "warn", event.task_id or event.run_id)


def _deadline_passed(state: State, event: events.DeadlinePassed) -> None:
    subject = subject_of(state, event.run_id, event.task_id)
    drop_timer(state, "warn", subject.id)
    drop_timer(state, "deadline", subject.id)
    if event.grace_due_ms is not None:
        set_timer(state, "grace", subject.id, event.grace_due_ms)
    exceed(state, subject, event.error, event.ended, event.stopping)


def _grace_ended(state: State, event: events.GraceEnded) -> None:
    drop_timer(state, "grace", event.task_id or event.run_id)


def charge(
    state: State,
    task: Task | None,
    agent: Agent | None,
    usage: Usage,
    *,
    model: str | None = None,
    tool: str | None = None,
) -> None:
    """Add usage to the task and its ancestors, the run, the agent and its supervisors.

    Args:
        state: The state to change.
        task: None if its run has ended; then only the agent and its supervisors pay.
        agent: The agent that used it.
        usage: What was used.
        model: The model that it was spent on, if it is known.
        tool: The tool that it was spent on.
    """
    time_ms = usage.time_ms
    if is_spent(usage):
        for total in _totals(state, task, agent):
            total.time_ms += time_ms
            add_usage(total, usage)
        spend(state, task, agent, usage, model=model, tool=tool)
    elif time_ms and task is not None:
        for total in _totals(state, task, agent):
            total.time_ms += time_ms


def charge_attempt(task: Task, usage: Usage) -> None:
    """Add tokens and money to the reported usage of the attempt of a task."""
    attempt = task.attempt
    if attempt is None or not is_spent(usage):
        return
    if attempt.spent is None:
        attempt.spent = Usage()
    add_usage(attempt.spent, usage)


def settle(state: State, run: Run, task: Task, agent: Agent, usage: Usage, *, done: int = 0, failed: int = 0) -> None:
    """Count a done or failed attempt and charge the rest of its usage, in one way up the team and the run."""
    time_ms = usage.time_ms
    record = agent.track_record.get(run.category or "")
    if record is None:
        record = record_for_update(state, task, agent)
    agent.done += done
    agent.failed += failed
    record.done += done
    record.failed += failed
    state.usage.time_ms += time_ms
    run.usage.time_ms += time_ms
    agent.usage.time_ms += time_ms
    record.usage.time_ms += time_ms
    supervisor_id: str | None = agent.supervisor_id
    while supervisor_id is not None:
        supervisor = state.supervisors[supervisor_id]
        supervisor.done += done
        supervisor.failed += failed
        supervisor.usage.time_ms += time_ms
        supervisor_id = supervisor.parent_id
    payer: Task | None = task if time_ms else None
    while payer is not None:
        if payer.usage is None:
            payer.usage = Usage(time_ms=time_ms)
        else:
            payer.usage.time_ms += time_ms
        payer = state.tasks[payer.parent_id] if payer.parent_id is not None else None
    if usage.cost_usd is not None or usage.tokens_in is not None or usage.tokens_out is not None:
        for total in _totals(state, task, agent):
            add_usage(total, usage)
        spend(state, task, agent, usage)


def _totals(state: State, task: Task | None, agent: Agent | None) -> list[Usage]:
    """Return the totals of all levels that pay for `task`, and of its category."""
    totals = [state.usage]
    if task is not None:
        totals.append(state.runs[task.run_id].usage)
    payer = agent or task
    supervisor = state.supervisors.get(payer.supervisor_id) if payer is not None else None
    ancestor = task
    while ancestor is not None:
        if ancestor.usage is None:
            ancestor.usage = Usage()
        totals.append(ancestor.usage)
        ancestor = state.tasks[ancestor.parent_id] if ancestor.parent_id is not None else None
    if agent is not None:
        totals += (agent.usage, record_for_update(state, task, agent).usage)
    while supervisor is not None:
        totals.append(supervisor.usage)
        supervisor = state.supervisors[supervisor.parent_id] if supervisor.parent_id is not None else None
    return totals


def count_begun(state: State, task: Task, run: Run, agent: Agent, since_ms: int) -> None:
    """Count a beginning attempt at every level that pays for it."""
    task.begun += 1
    parent_id = task.parent_id
    while parent_id is not None:
        task = state.tasks[parent_id]
        task.begun += 1
        parent_id = task.parent_id
    run.begun += 1
    run.at_work += 1
    run.since_ms += since_ms
    agent.begun += 1
    parent_id = agent.supervisor_id
    while parent_id is not None:
        supervisor = state.supervisors[parent_id]
        supervisor.begun += 1
        parent_id = supervisor.parent_id


def stop_clock(state: State, task: Task, attempt: Attempt) -> None:
    """Stop charging time for an attempt that parks."""
    run = state.runs[task.run_id]
    run.at_work -= 1
    run.since_ms -= state.at_ms
    # Leaves the negative uncharged time (`Attempt.since_ms`), to which `start_clock` adds the present time.
    attempt.since_ms -= state.at_ms


def start_clock(state: State, task: Task, attempt: Attempt) -> None:
    """Charge time again for an attempt that has its slot back."""
    run = state.runs[task.run_id]
    run.at_work += 1
    run.since_ms += state.at_ms
    attempt.since_ms += state.at_ms


def discount_time(state: State, task: Task, attempt: Attempt, by_ms: int) -> None:
    """Subtract uncharged time of an attempt; time that is charged already stays."""
    attempt.since_ms += by_ms
    state.runs[task.run_id].since_ms += by_ms


def forget_budget(state: State, subject_id: str) -> None:
    """Forget the ledger of a removed subject, and withdraw the questions about it."""
    state.ledgers.pop(subject_id, None)
    drop_timer(state, "time", subject_id)
    for escalation in [question for question in state.escalations.values() if question.subject == subject_id]:
        withdraw(state, escalation.id)


def _subject(state: State, subject_id: str) -> Task | Run | Agent | Supervisor:
    for kind in (state.tasks, state.runs, state.agents):
        if subject_id in kind:
            return kind[subject_id]
    return state.supervisors[subject_id]


def _ledger(state: State, subject_id: str) -> Ledger:
    return state.ledgers.setdefault(subject_id, Ledger(id=subject_id))


def _budget_warned(state: State, event: events.BudgetWarned) -> None:
    _ledger(state, event.subject).warned.append(event.amount)


def _budget_reached(state: State, event: events.BudgetReached) -> None:
    drop_timer(state, "time", event.subject)
    for task_id in event.stopping:
        ask_to_stop(state.tasks[task_id], "limit")


def _budget_exhausted(state: State, event: events.BudgetExhausted) -> None:
    subject = _subject(state, event.subject)
    drop_timer(state, "time", event.subject)
    subject.held = event.then == "ask"
    if event.needs:
        _ledger(state, event.subject).needs[event.amount] = event.needs
    if isinstance(subject, Task | Run) and not subject.held:
        exceed(state, subject, event.error, event.ended, event.stopping)
        return
    for task_id in event.stopping:
        ask_to_stop(state.tasks[task_id], "limit")
    if isinstance(subject, Task | Run):
        for task in tasks_of(state, subject):
            hold_back(state, task)
    else:
        subject.exhausted = event.error
        _refresh(state, subject)


def _budget_extended(state: State, event: events.BudgetExtended) -> None:
    subject = _subject(state, event.subject)
    if isinstance(subject, Task):
        count_time(state, subject)
    if event.subject in state.ledgers:
        state.ledgers[event.subject].needs.clear()
    if event.amount is not None:
        ledger = _ledger(state, event.subject)
        if event.granted:
            ledger.granted[event.amount] = event.granted
        if event.raised:
            ledger.raised[event.amount] = event.raised
        # The larger budget gets its own warning.
        if event.amount in ledger.warned:
            ledger.warned.remove(event.amount)
    subject.held = False
    for escalation in list(state.escalations.values()):
        if escalation.kind == "budget" and escalation.subject == event.subject:
            withdraw(state, escalation.id)
    if isinstance(subject, Task | Run):
        resume_tasks(state, tasks_of(state, subject))
    else:
        subject.exhausted = None
        _refresh(state, subject)


def _budget_timed(state: State, event: events.BudgetTimed) -> None:
    if event.due_ms is None:
        drop_timer(state, "time", event.subject)
    else:
        set_timer(state, "time", event.subject, event.due_ms)


def _refresh(state: State, subject: Agent | Supervisor) -> None:
    if isinstance(subject, Agent):
        refresh_agent(state, subject)
    else:
        note_stoppage(state, subject)
        mark_changed(state, subject)


def note_spec(state: State, key: str, spec: AgentSpec) -> None:
    """Note whether a spec sets a budget."""
    _note(state, key, spec.limits is not None or spec.task_limits is not None)


def note_supervisor(state: State, supervisor: Supervisor) -> None:
    """Note whether a supervisor sets a budget."""
    options = supervisor.options
    limits = (options.limits, options.run_limits, options.agent_limits, options.task_limits)
    _note(state, supervisor.id, any(limit is not None for limit in limits))


def note_run(state: State, run: Run) -> None:
    """Note whether a run sets a budget."""
    if run.limits is not None:
        state.limited[run.id] = 0


def _note(state: State, owner: str, has_limits: bool) -> None:
    if has_limits:
        state.limited[owner] = 0
    else:
        state.limited.pop(owner, None)
