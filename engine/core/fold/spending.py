"""Fold: what was spent, at every level that pays for it, and budgets that are spent or extended."""

from engine.core.events import BudgetExhausted, BudgetExtended, BudgetTimed, BudgetWarned
from engine.core.fold.ending import ask_to_stop, withdraw
from engine.core.fold.handlers import Handlers
from engine.core.fold.limits import exceed
from engine.core.fold.queues import hold_back, let_go_on
from engine.core.fold.slots import refresh_agent, tell
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.queries.work import below
from engine.core.state import Agent, Attempt, Ledger, Run, State, Supervisor, Task
from engine.core.values import Usage


def charge(state: State, task: Task | None, agent: Agent | None, usage: Usage) -> None:
    """Add what was spent to the task, to all that it is part of, to the run, the agent and its supervisors.

    Without a task, because its run has ended, the agent and its supervisors alone pay.
    """
    time_ms = usage.time_ms
    if usage.tokens_in is not None or usage.tokens_out is not None or usage.cost_usd is not None:
        for total in _totals(state, task, agent):
            total.time_ms += time_ms
            _add(total, usage)
    elif time_ms and task is not None:
        _charge_time(state, task, agent, time_ms)


def _charge_time(state: State, task: Task, agent: Agent | None, time_ms: int) -> None:
    """Add time to the same totals as `_totals`, without a list of them: most attempts report nothing else."""
    state.usage.time_ms += time_ms
    state.runs[task.run_id].usage.time_ms += time_ms
    if agent is None:
        supervisor = state.supervisors.get(task.supervisor_id)
    else:
        agent.usage.time_ms += time_ms
        supervisor = state.supervisors[agent.supervisor_id]
    while supervisor is not None:
        supervisor.usage.time_ms += time_ms
        above = supervisor.parent_id
        supervisor = state.supervisors[above] if above is not None else None
    while True:
        usage = task.usage
        if usage is None:
            task.usage = Usage(time_ms=time_ms)
        else:
            usage.time_ms += time_ms
        above = task.parent_id
        if above is None:
            return
        task = state.tasks[above]


def _totals(state: State, task: Task | None, agent: Agent | None) -> list[Usage]:
    """Return the totals of everybody who pays for what is spent on `task`."""
    totals = [state.usage]
    if task is not None:
        totals.append(state.runs[task.run_id].usage)
    at = agent or task
    supervisor = state.supervisors.get(at.supervisor_id) if at is not None else None
    above = task
    while above is not None:
        if above.usage is None:
            above.usage = Usage()
        totals.append(above.usage)
        above = state.tasks[above.parent_id] if above.parent_id is not None else None
    if agent is not None:
        totals.append(agent.usage)
    while supervisor is not None:
        totals.append(supervisor.usage)
        supervisor = state.supervisors[supervisor.parent_id] if supervisor.parent_id is not None else None
    return totals


def _add(total: Usage, usage: Usage) -> None:
    """Add in place what `Usage.plus` would: a total belongs to one entity, and a new one for each event costs more."""
    if usage.tokens_in is not None:
        total.tokens_in = usage.tokens_in + (total.tokens_in or 0)
    if usage.tokens_out is not None:
        total.tokens_out = usage.tokens_out + (total.tokens_out or 0)
    if usage.tokens_cached is not None:
        total.tokens_cached = usage.tokens_cached + (total.tokens_cached or 0)
    if usage.cost_usd is not None:
        total.cost_usd = usage.cost_usd + (total.cost_usd or 0)


def count_begun(state: State, task: Task, run: Run, agent: Agent, since_ms: int) -> None:
    """Count an attempt of an agent that begins, at every level that pays for it."""
    task.begun += 1
    above = task.parent_id
    while above is not None:
        task = state.tasks[above]
        task.begun += 1
        above = task.parent_id
    run.begun += 1
    run.at_work += 1
    run.since_ms += since_ms
    agent.begun += 1
    above = agent.supervisor_id
    while above is not None:
        supervisor = state.supervisors[above]
        supervisor.begun += 1
        above = supervisor.parent_id


def stop_clock(state: State, task: Task, attempt: Attempt) -> None:
    """Count no time for an attempt from now on: it gives its slot away and waits for others."""
    run = state.runs[task.run_id]
    run.at_work -= 1
    run.since_ms -= state.at_ms
    attempt.since_ms -= state.at_ms


def start_clock(state: State, task: Task, attempt: Attempt) -> None:
    """Count time for an attempt again, which has its slot back."""
    run = state.runs[task.run_id]
    run.at_work += 1
    run.since_ms += state.at_ms
    attempt.since_ms += state.at_ms


def forget_budget(state: State, subject_id: str) -> None:
    """Forget what happened to the budget of something that is gone, and ask nobody about it."""
    state.ledgers.pop(subject_id, None)
    drop_timer(state, "time", subject_id)
    for escalation in [one for one in state.escalations.values() if one.subject == subject_id]:
        withdraw(state, escalation.id)


def _subject(state: State, subject_id: str) -> Task | Run | Agent | Supervisor:
    for kind in (state.tasks, state.runs, state.agents):
        if subject_id in kind:
            return kind[subject_id]
    return state.supervisors[subject_id]


def _ledger(state: State, subject_id: str) -> Ledger:
    return state.ledgers.setdefault(subject_id, Ledger(id=subject_id))


def _budget_warned(state: State, event: BudgetWarned) -> None:
    _ledger(state, event.subject).warned.append(event.amount)


def _budget_exhausted(state: State, event: BudgetExhausted) -> None:
    subject = _subject(state, event.subject)
    drop_timer(state, "time", event.subject)
    subject.held = event.then == "ask"
    if isinstance(subject, Task | Run) and not subject.held:
        exceed(state, subject, event.error, event.ended, event.stopping)
        return
    for task_id in event.stopping:
        ask_to_stop(state.tasks[task_id], "limit")
    if isinstance(subject, Task | Run):
        for task in _below(state, subject):
            hold_back(state, task)
    else:
        subject.exhausted = event.error
        _refresh(state, subject)


def _budget_extended(state: State, event: BudgetExtended) -> None:
    subject = _subject(state, event.subject)
    if event.amount is not None:
        ledger = _ledger(state, event.subject)
        ledger.granted[event.amount] = event.granted
        if event.amount in ledger.warned:
            ledger.warned.remove(event.amount)
    subject.held = False
    for escalation in list(state.escalations.values()):
        if escalation.kind == "budget" and escalation.subject == event.subject:
            withdraw(state, escalation.id)
    if isinstance(subject, Task | Run):
        let_go_on(state, _below(state, subject))
    else:
        subject.exhausted = None
        _refresh(state, subject)


def _budget_timed(state: State, event: BudgetTimed) -> None:
    if event.due_ms is None:
        drop_timer(state, "time", event.subject)
    else:
        set_timer(state, "time", event.subject, event.due_ms)


def _below(state: State, subject: Task | Run) -> list[Task]:
    return [state.tasks[task_id] for task_id in subject.tasks] if isinstance(subject, Run) else below(state, subject)


def _refresh(state: State, subject: Agent | Supervisor) -> None:
    if isinstance(subject, Agent):
        refresh_agent(state, subject)
    else:
        tell(state, subject)


HANDLERS: Handlers = {
    BudgetWarned: _budget_warned,
    BudgetExhausted: _budget_exhausted,
    BudgetExtended: _budget_extended,
    BudgetTimed: _budget_timed,
}
