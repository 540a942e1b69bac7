"""Enforces budgets: warns, ends or extends them, and decides on the work that spent them.

Spending is checked after each report of usage (`CheckBudget`); the budget of attempts is checked before one begins.
Work that has ended keeps its outcome, whatever it cost: a budget ends, or asks about, only what is still open. See
docs/semantics/limits.md.
"""

from decimal import ROUND_CEILING, Decimal
from typing import Any

from engine.core.budgets.deadlines import grace_ms
from engine.core.budgets.spenders import (
    has_work_left,
    is_agent_at_work,
    spending_tasks,
    spending_tasks_to_end,
    tasks_not_stopping,
)
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import ask, attempt_event
from engine.core.events import (
    AttemptCancelled,
    AttemptSetAside,
    BudgetExhausted,
    BudgetExtended,
    BudgetReached,
    BudgetTimed,
    BudgetWarned,
    EscalationAnswered,
    Event,
    TaskFailed,
    TaskRequeued,
)
from engine.core.followups import CheckBudget
from engine.core.queries.money.budget import (
    AMOUNTS,
    Budget,
    Subject,
    budgets,
    is_limited,
    paying_subjects,
    spent_of,
    subject_with,
    time_at_work,
)
from engine.core.queries.team.tree import is_cancelled, lineage_of
from engine.core.queries.work.placement import stand_ins
from engine.core.queries.work.queues import item_others_could_do, item_returned, own_queue
from engine.core.records.values import dollars
from engine.core.signals import AttemptStopped, BudgetShort
from engine.core.state import Agent, Attempt, Escalation, Run, State, Supervisor, Task, Timer, timer_id

_NOTHING = Decimal(0)


def check_budget(state: State, followup: CheckBudget, ctx: DecisionContext) -> list[Event]:
    """Compare spending with the budgets of a subject: warn, end its work, or set a timer for the time budget."""
    subject = subject_with(state, followup.subject)
    if subject is None:
        return []
    subject_budgets = budgets(state, subject, ctx.now_ms)
    if is_over(state, subject):
        return _stop_overspending(state, subject, subject_budgets, ctx, followup.reporter)
    # It is stopped already. Only its limits can change: once none is exceeded any more, its work resumes.
    if _is_exhausted(subject):
        is_spent = any(
            _has_too_little(state, budget, subject) or _is_asked_about(state, subject, budget)
            for budget in subject_budgets
        )
        if not is_spent:
            return [extended_event(subject, None, 0, None)]
        return _stop_overspending(state, subject, subject_budgets, ctx, followup.reporter)
    events: list[Event] = []
    for budget in subject_budgets:
        # The last allowed attempt spends the budget of attempts when it begins, and may finish.
        if _is_spent(budget):
            return [*events, *_end_or_stop(state, subject, budget, ctx, followup.reporter)]
        if not budget.warned and budget.share >= budget.warn_at:
            events.append(_warning_event(subject, budget))
        if budget.name == "time_s":
            events += _adjust_timer(state, subject, budget, ctx)
    return events


def _is_spent(budget: Budget) -> bool:
    return budget.name != "attempts" and budget.spent >= budget.limit


def _end_or_stop(
    state: State, subject: Subject, budget: Budget, ctx: DecisionContext, reporter: str | None
) -> list[Event]:
    """End a spent budget if unstarted work is left; otherwise only ask the running attempts to stop."""
    if has_work_left(state, subject, budget):
        return end_budget(state, subject, budget, ctx, reporter=reporter)
    stopping = tasks_not_stopping(state, spending_tasks(state, subject))
    if not stopping:
        return []
    event = BudgetReached(
        subject=subject.id,
        **_ids_of(subject),
        amount=budget.name,
        spent=budget.spent,
        limit=budget.limit,
        then=budget.then,
        stopping=stopping,
        reporter=reporter if reporter in stopping else None,
        grace_ms=_grace_ms(state, subject),
    )
    return [event]


def _stop_overspending(
    state: State, subject: Subject, subject_budgets: list[Budget], ctx: DecisionContext, reporter: str | None
) -> list[Event]:
    """Stop attempts that may finish although the budget of attempts is spent, once they spend another budget."""
    _, working = spending_tasks_to_end(state, subject)
    if not tasks_not_stopping(state, working):
        return []
    events: list[Event] = []
    for budget in subject_budgets:
        if _is_spent(budget):
            # A person is asked about the attempts already; the answer causes this budget to be checked again.
            action = "ask" if subject.held else "stop" if budget.then == "ask" else budget.then
            return [exhausted_event(state, subject, budget, action, reporter=reporter)]
        if budget.name == "time_s":
            events += _adjust_timer(state, subject, budget, ctx)
    return events


def is_over(state: State, subject: Subject) -> bool:
    """Return whether a subject has ended or is ending, so that its budget no longer matters."""
    if isinstance(subject, Run):
        return subject.cancelling or state.tasks[subject.root_id].ended
    return isinstance(subject, Task) and (subject.ended or is_cancelled(state, subject))


def _is_exhausted(subject: Subject) -> bool:
    return subject.held or (isinstance(subject, Agent | Supervisor) and subject.exhausted is not None)


def _has_too_little(state: State, budget: Budget, subject: Subject) -> bool:
    """Return whether a budget is spent, or too small for the call of a model that did not fit before."""
    return budget.spent >= budget.limit or budget.spent + _needs(state, subject, budget) > budget.limit


def _needs(state: State, subject: Subject, budget: Budget) -> Decimal:
    """Return the estimate for the call of a model that did not fit before; 0 without one."""
    ledger = state.ledgers.get(subject.id)
    return _NOTHING if ledger is None else ledger.needs.get(budget.name, _NOTHING)


def end_short_budget(state: State, attempt: Attempt, signal: BudgetShort, ctx: DecisionContext) -> list[Event]:
    """End a budget that is too small for the next call of a model of `attempt`."""
    subject = subject_with(state, signal.subject)
    if subject is None:
        return []
    budget = next((budget for budget in budgets(state, subject) if budget.name == signal.amount), None)
    if budget is None or budget.spent + signal.needs <= budget.limit:
        return []
    if is_over(state, subject) or _is_exhausted(subject):
        return _stop_late_attempt(state, attempt, subject, budget, signal.needs)
    return end_budget(state, subject, budget, ctx, needs=signal.needs)


def _stop_late_attempt(state: State, attempt: Attempt, subject: Subject, budget: Budget, needs: Decimal) -> list[Event]:
    """Stop an attempt that may finish although the budget of attempts is spent: it would request the call endlessly."""
    has_ended = isinstance(subject, Task) and subject.ended
    if attempt.stopping is not None or subject.held or has_ended:
        return []
    return [exhausted_event(state, subject, budget, "stop" if budget.then == "ask" else budget.then, needs=needs)]


def _is_asked_about(state: State, subject: Subject, budget: Budget) -> bool:
    """Return whether an open question covers the limit.

    Needed because time at work is estimated while an attempt runs, and its end may report less.
    """
    return any(
        escalation.detail.get("amount") == budget.name and not _was_raised(budget, escalation)
        for escalation in state.escalations.values()
        if escalation.kind == "budget" and escalation.subject == subject.id
    )


def _warning_event(subject: Subject, budget: Budget) -> BudgetWarned:
    return BudgetWarned(
        subject=subject.id, **_ids_of(subject), amount=budget.name, spent=budget.spent, limit=budget.limit
    )


def _adjust_timer(state: State, subject: Subject, budget: Budget, ctx: DecisionContext) -> list[Event]:
    """Set the timer for the time budget of a task or run, if it would be spent before the present timer."""
    count, _ = time_at_work(state, subject, ctx.now_ms)
    timer = state.timers.get(timer_id("time", subject.id))
    if not count:
        return []
    # Several attempts spend time in parallel, so what is left runs out `count` times as fast.
    left_ms = ((budget.limit - budget.spent) * 1000 / count).to_integral_value(ROUND_CEILING)
    due_ms = ctx.now_ms + max(1, int(left_ms))
    # An early timer is harmless (`time_due` waits on); moving it at each report would journal an event each time.
    if timer is not None and ctx.now_ms < timer.due_ms <= due_ms:
        return []
    return [_timer_event(subject, due_ms)]


def _timer_event(subject: Subject, due_ms: int | None) -> BudgetTimed:
    ids = _ids_of(subject)
    return BudgetTimed(subject=subject.id, run_id=ids["run_id"], task_id=ids["task_id"], due_ms=due_ms)


def time_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """End a subject whose time budget is spent, or wait on if fewer attempts were at work than expected."""
    subject = subject_with(state, timer.subject)
    assert subject is not None
    events = check_budget(state, CheckBudget(subject=subject.id), ctx)
    if any(isinstance(event, BudgetExhausted | BudgetReached | BudgetTimed) for event in events):
        return events
    return [*events, _timer_event(subject, None)]


def before_start(state: State, task: Task, agent: Agent, ctx: DecisionContext) -> list[Event]:
    """Return the events that replace an attempt of `task` on `agent`; none if it may begin.

    The events must leave `task` no longer ready for `agent`: otherwise dispatch would choose it again.
    """
    if not state.limited:
        return []
    run = state.runs[task.run_id]
    if not is_limited(state, task, run, agent):
        return []
    for subject in paying_subjects(state, task, run, agent):
        if isinstance(subject, Agent | Supervisor) and subject.exhausted is not None:
            return [_move_task(state, task, subject, ctx)]
        for budget in budgets(state, subject, agent=agent if subject is task else None):
            if budget.spent >= budget.limit:
                return end_budget(state, subject, budget, ctx)
    return []


def before_retry(state: State, task: Task, ctx: DecisionContext) -> list[Event]:
    """Return the events that replace a retry; none if the task and its run may have another attempt."""
    if not state.limited:
        return []
    for subject in paying_subjects(state, task, state.runs[task.run_id], None):
        for budget in budgets(state, subject):
            if budget.name == "attempts" and budget.spent >= budget.limit and not _is_exhausted(subject):
                last = f"; it failed with: {task.error}" if task.error else ""
                return end_budget(state, subject, budget, ctx, last=last)
    return []


def _move_task(state: State, task: Task, spender: Agent | Supervisor, ctx: DecisionContext) -> Event:
    """Move a task to an agent with budget, return a team's item to its shared queue, or fail the task."""
    error = spender.exhausted or "its budget is spent"
    if isinstance(spender, Supervisor) and (item := item_others_could_do(state, task)) is not None:
        return item_returned(state, item, ctx.now_ms)
    if isinstance(spender, Agent):
        other = next(stand_ins(state, task), None)
        if other is not None:
            return TaskRequeued(task_id=task.id, queue=own_queue(other.id), reason=f"{error}; {other.name} takes over")
    return TaskFailed(task_id=task.id, error=error)


def on_budget_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Grant the same amount again, or end what has spent it."""
    subject = subject_with(state, event.subject)
    if subject is None or not subject.held or is_over(state, subject):
        return []
    budget = _budget_of_question(state, subject, event)
    if budget is not None and not _has_too_little(state, budget, subject) and _was_raised(budget, event):
        # Another budget is exceeded now: `continue` checks it again, any other answer ends it.
        others = (other for other in budgets(state, subject) if _has_too_little(state, other, subject))
        budget = None if event.answer == "continue" else next(others, None)
    if budget is None:  # its limit was removed or raised meanwhile
        return [extended_event(subject, None, 0, None)]
    if event.answer != "continue":
        return [exhausted_event(state, subject, budget, event.answer)]
    ledger = state.ledgers.get(subject.id)
    # `budget.limit` includes earlier grants. The original amount is granted again, as often as needed to exceed the
    # spending.
    times = 1 + (ledger.granted.get(budget.name, 0) if ledger is not None else 0)
    raised = ledger.raised.get(budget.name, _NOTHING) if ledger is not None else _NOTHING
    if event.amount is not None:
        raise_to = budget.limit + event.amount
        return [extended_event(subject, budget, times - 1, raise_to, raised=raised + event.amount)]
    once = (budget.limit - raised) / times
    granted = max(times, int((budget.spent - raised + _needs(state, subject, budget)) // once))
    return [extended_event(subject, budget, granted, once * (1 + granted) + raised, raised=raised)]


def _was_raised(budget: Budget, question: Escalation | EscalationAnswered) -> bool:
    """Return whether the limit is above the one that a question is about."""
    return budget.limit > Decimal(str(question.detail["limit"]))


def _budget_of_question(state: State, subject: Subject, event: EscalationAnswered) -> Budget | None:
    """Return the budget that a question is about; None if its limit was removed meanwhile."""
    amount_name = event.detail.get("amount")
    budget = next((budget for budget in budgets(state, subject) if budget.name == amount_name), None)
    if not isinstance(subject, Task) or (budget is not None and budget.spent >= budget.limit):
        return budget
    # A task that has not begun was limited by the agent that was about to begin it: only the question records that.
    amount, spent, limit = (event.detail[key] for key in ("amount", "spent", "limit"))
    name = next(name for name in AMOUNTS if name == amount)
    return Budget(
        name=name,
        # What was at work below it has ended since, and has reported the rest of what it spent.
        spent=max(Decimal(str(spent)), spent_of(state, subject, name)),
        limit=Decimal(str(limit)),
        warn_at=1.0,
        then="ask",
        warned=True,
    )


def exhaustion_reason(state: State, supervisor: Supervisor) -> str | None:
    """Return the spent budget for which `supervisor` accepts no work; None if it does, or while a person is asked."""
    for ancestor in lineage_of(state, supervisor):
        if ancestor.exhausted is not None and not ancestor.held:
            return ancestor.exhausted
    return None


BUDGET_OPTIONS = ["continue", "stop", "fail"]
"""Answers to a spent budget: grant the same amount again, stop at the next step, stop now."""


def _ids_of(subject: Subject) -> dict[str, Any]:
    """Return the ids in an event about a budget, by which the journal is searched."""
    ids: dict[str, Any] = {"run_id": None, "task_id": None, "agent_id": None}
    if isinstance(subject, Task):
        return ids | {"run_id": subject.run_id, "task_id": subject.id}
    if isinstance(subject, Run):
        return ids | {"run_id": subject.id}
    return ids | {"agent_id": subject.id} if isinstance(subject, Agent) else ids


def end_budget(
    state: State,
    subject: Subject,
    budget: Budget,
    ctx: DecisionContext,
    *,
    last: str = "",
    needs: Decimal = _NOTHING,
    reporter: str | None = None,
) -> list[Event]:
    """Return the event that ends a budget, and the question to a person if the budget says `ask`.

    Args:
        subject: The task, run, agent or supervisor.
        last: Text to add to the error.
        needs: Estimate for the next call, if that is what does not fit.
        reporter: The task whose finished step has spent the rest.
    """
    event = exhausted_event(state, subject, budget, budget.then, last=last, needs=needs, reporter=reporter)
    if budget.then != "ask":
        return [event]
    return [event, _question(state, subject, event, ctx)]


def _question(state: State, subject: Subject, event: BudgetExhausted, ctx: DecisionContext) -> Event:
    name = subject.title if isinstance(subject, Task | Run) else subject.name
    return ask(
        state,
        ctx,
        kind="budget",
        subject=subject.id,
        run_id=event.run_id,
        question=f"{name}: {event.error}; may it continue?",
        options=BUDGET_OPTIONS,
        detail={"amount": event.amount, "spent": str(event.spent), "limit": str(event.limit)},
    )


def exhausted_event(
    state: State,
    subject: Subject,
    budget: Budget,
    action: str,
    *,
    last: str = "",
    needs: Decimal = _NOTHING,
    reporter: str | None = None,
) -> BudgetExhausted:
    """Return the event that ends a budget as `action` says."""
    if budget.spent < budget.limit:
        needs = needs or _needs(state, subject, budget)
    ended_ids, stopping = spending_tasks_to_end(state, subject)
    if action == "ask":
        # While a person is asked, waiting tasks are only held back, and built-in joins and checks spend nothing.
        ended_ids = []
        stopping = [task_id for task_id in stopping if is_agent_at_work(state.tasks[task_id])]
    if budget.name == "attempts" and action != "fail":
        stopping = []  # attempts that have begun spend no more of it
    return BudgetExhausted(
        subject=subject.id,
        **_ids_of(subject),
        amount=budget.name,
        spent=budget.spent,
        limit=budget.limit,
        then="ask" if action == "ask" else "fail" if action == "fail" else "stop",
        ended=ended_ids,
        stopping=stopping,
        grace_ms=_grace_ms(state, subject),
        error=_describe_budget(subject, budget, needs) + last,
        needs=needs,
        reporter=reporter if reporter in stopping else None,
    )


def _grace_ms(state: State, subject: Subject) -> int:
    return grace_ms(state, subject.id if isinstance(subject, Supervisor) else subject.supervisor_id)


_UNITS = {"attempts": "attempts", "time_s": "s of work", "tokens": "tokens"}


def _describe_budget(subject: Subject, budget: Budget, needs: Decimal) -> str:
    limit, spent = _amount(budget, budget.limit), _amount(budget, budget.spent)
    unit = f" {_UNITS[budget.name]}" if budget.name != "cost_usd" else ""
    unit = unit[:-1] if unit.endswith("s") and budget.limit == 1 and budget.name != "time_s" else unit
    whose = f" of {subject.name}" if isinstance(subject, Agent | Supervisor) else ""
    if budget.spent < budget.limit:
        return (
            f"budget of {limit}{unit}{whose} has too little left for the next call of a model"
            f" ({spent} spent, about {_amount(budget, needs)} needed)"
        )
    return f"budget of {limit}{unit}{whose} is spent ({spent})"


def _amount(budget: Budget, number: Decimal) -> str:
    return dollars(number) if budget.name == "cost_usd" else f"{round(number, 6).normalize():,f}"


def end_set_aside(
    state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: DecisionContext
) -> list[Event]:
    """End the spent budget of a task, an ancestor or the run, because of which an attempt was stopped.

    The task is queued again if a person is asked, or if it was the budget of its agent or of a supervisor: then
    `before_start` decides what happens to it.
    """
    for subject in paying_subjects(state, task, state.runs[task.run_id], None):
        budget = next((budget for budget in budgets(state, subject, ctx.now_ms) if _is_spent(budget)), None)
        if budget is None or _is_exhausted(subject):
            continue
        events = end_budget(state, subject, budget, ctx)
        if budget.then == "ask":
            return [*events, attempt_event(AttemptSetAside, attempt, signal)]
        limit = exhausted_event(state, subject, budget, budget.then).error
        return [*events, attempt_event(AttemptCancelled, attempt, signal, requeued=False, limit=limit)]
    return [attempt_event(AttemptSetAside, attempt, signal)]


def extended_event(
    subject: Subject, budget: Budget | None, granted: int, limit: Decimal | None, *, raised: Decimal = _NOTHING
) -> BudgetExtended:
    """Return the event that resumes work with remaining budget; without `budget` because the limits have changed."""
    return BudgetExtended(
        subject=subject.id,
        **_ids_of(subject),
        amount=None if budget is None else budget.name,
        granted=granted,
        limit=limit,
        raised=raised,
    )
