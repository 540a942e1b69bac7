"""A budget is spent, or extended: the events that say so, and what they stop."""

from decimal import Decimal

from engine.core.budget import Budget, Subject
from engine.core.context import Context
from engine.core.decide.deadlines import grace_ms, halted
from engine.core.decide.escalations import ask
from engine.core.events import AttemptSetAside, BudgetExhausted, BudgetExtended, Event
from engine.core.fact import fact
from engine.core.inheritance import above_and_self
from engine.core.signals import AttemptStopped
from engine.core.state import Agent, Attempt, Run, State, Supervisor, Task

OPTIONS = ["continue", "stop", "fail"]
"""What a person can say of a budget that is spent: the same amount again; stop at the next step; stop now."""


@fact
class Ids:
    """What a fact about a budget is about, by the kinds of things that a journal is searched for."""

    run_id: str | None
    task_id: str | None
    agent_id: str | None


def ids_of(subject: Subject) -> Ids:
    """Return what a journal is searched for, of what a fact about a budget is about."""
    return Ids(
        run_id=subject.id if isinstance(subject, Run) else subject.run_id if isinstance(subject, Task) else None,
        task_id=subject.id if isinstance(subject, Task) else None,
        agent_id=subject.id if isinstance(subject, Agent) else None,
    )


def exhausted(state: State, subject: Subject, budget: Budget, ctx: Context, *, last: str = "") -> list[Event]:
    """Return what ends a budget, and with `ask` the question to a person."""
    event = exhausted_as(state, subject, budget, budget.then, last=last)
    if budget.then != "ask":
        return [event]
    return [event, _asked(state, subject, event, ctx)]


def _asked(state: State, subject: Subject, event: BudgetExhausted, ctx: Context) -> Event:
    name = subject.title if isinstance(subject, Task | Run) else subject.name
    return ask(
        state,
        ctx,
        kind="budget",
        subject=subject.id,
        run_id=event.run_id,
        question=f"{name}: {event.error}; may it go on?",
        options=OPTIONS,
        detail={"amount": event.amount, "spent": str(event.spent), "limit": str(event.limit)},
    )


def exhausted_as(state: State, subject: Subject, budget: Budget, then: str, *, last: str = "") -> BudgetExhausted:
    """Return the event that ends a budget in one of its ways."""
    ids = ids_of(subject)
    ended, stopping = _spenders(state, subject)
    if then == "ask":
        ended = []
        stopping = [one for one in stopping if _is_of_an_agent(state.tasks[one])]
    if budget.name == "attempts" and then != "fail":
        stopping = []  # what has begun spends no more of it
    return BudgetExhausted(
        subject=subject.id,
        run_id=ids.run_id,
        task_id=ids.task_id,
        agent_id=ids.agent_id,
        amount=budget.name,
        spent=budget.spent,
        limit=budget.limit,
        then="ask" if then == "ask" else "fail" if then == "fail" else "stop",
        ended=ended,
        stopping=stopping,
        grace_ms=grace_ms(state, subject.id if isinstance(subject, Supervisor) else subject.supervisor_id),
        error=_words(subject, budget) + last,
    )


def _is_of_an_agent(task: Task) -> bool:
    return task.attempt is not None and task.attempt.agent_id is not None


def _spenders(state: State, subject: Subject) -> tuple[list[str], list[str]]:
    if isinstance(subject, Task | Run):
        return halted(state, subject)
    if isinstance(subject, Agent):
        return [], [*subject.running, *subject.parked]
    return [], [
        task_id
        for agent in state.agents.values()
        if subject.id in {one.id for one in above_and_self(state, state.supervisors[agent.supervisor_id])}
        for task_id in (*agent.running, *agent.parked)
    ]


_UNITS = {"attempts": "attempts", "time_s": "s of work", "tokens": "tokens", "cost_usd": "USD"}


def _words(subject: Subject, budget: Budget) -> str:
    unit = _UNITS[budget.name]
    unit = unit[:-1] if unit.endswith("s") and budget.limit == 1 and budget.name != "time_s" else unit
    whose = f" of {subject.name}" if isinstance(subject, Agent | Supervisor) else ""
    return f"budget of {_number(budget.limit)} {unit}{whose} is spent ({_number(budget.spent)})"


def _number(amount: Decimal) -> str:
    return f"{round(amount, 6).normalize():,f}"


def set_aside(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Let a task wait whose attempt was stopped for a budget; whether it goes on is decided when it is its turn."""
    return [
        AttemptSetAside(
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            partial=signal.partial,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
    ]


def extended(subject: Subject, budget: Budget | None, granted: int, limit: Decimal | None) -> BudgetExtended:
    """Return the event that lets go on who has something left; without `budget` the limits were set anew."""
    ids = ids_of(subject)
    return BudgetExtended(
        subject=subject.id,
        run_id=ids.run_id,
        task_id=ids.task_id,
        agent_id=ids.agent_id,
        amount=None if budget is None else budget.name,
        granted=granted,
        limit=limit,
    )
