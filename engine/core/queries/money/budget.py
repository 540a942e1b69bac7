"""Budgets of tasks, runs, agents and supervisors: limits and spending, as pure functions of the state.

Spending counts at every level: the task and its ancestors, the run, the agent, and all supervisors above it.
See docs/semantics/limits.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeAlias

from engine.core.queries.team.tree import above_of, inherited, supervisors_from
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.state import Agent, Ledger, Run, State, Supervisor, Task

Amount: TypeAlias = Literal["attempts", "time_s", "tokens", "cost_usd"]
AMOUNTS: tuple[Amount, ...] = ("attempts", "time_s", "tokens", "cost_usd")
Subject: TypeAlias = Task | Run | Agent | Supervisor
_NONE = Decimal(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget for one kind of amount."""

    name: Amount
    spent: Decimal
    """Attempts, seconds, tokens or USD; unknown amounts count as nothing."""
    limit: Decimal
    """Including amounts that a person has granted."""
    warn_at: float
    then: Literal["stop", "ask", "fail"]
    warned: bool
    """Whether `BudgetWarned` was recorded."""

    @property
    def share(self) -> float:
        """Fraction that is spent; 1 and above is all of it."""
        return float(self.spent / self.limit)


@dataclass(frozen=True, slots=True)
class DeadlineOf:
    """The deadline in force of a run or task."""

    due_ms: int
    own: bool
    """Whether it was set for the object itself, and not for an ancestor."""
    warn_ms: int | None
    """Time of the warning; None if it was given, or if the deadline is an ancestor's."""


def deadline_of(state: State, subject_id: str) -> DeadlineOf | None:
    """Return the deadline of an open run or a task; None if it has none."""
    subject = state.runs.get(subject_id) or state.tasks.get(subject_id)
    if subject is None or subject.deadline_ms is None:
        return None
    timer = state.timers.get(f"warn:{subject_id}")
    warn_ms = timer.due_ms if timer is not None else None
    return DeadlineOf(due_ms=subject.deadline_ms, own=subject.deadline_after_ms is not None, warn_ms=warn_ms)


def budgets_of(state: State, subject_id: str, now_ms: int | None = None) -> list[Budget]:
    """Return the budgets of a task, open run, agent or supervisor; none if the id is unknown.

    Args:
        now_ms: Also count the time of attempts still at work at this moment; None counts ended attempts only.
    """
    subject = subject_with(state, subject_id)
    return [] if subject is None else budgets(state, subject, now_ms)


def subject_with(state: State, subject_id: str) -> Subject | None:
    """Return the task, run, agent or supervisor with an id, if it exists."""
    kinds: tuple[dict[str, Task] | dict[str, Run] | dict[str, Agent] | dict[str, Supervisor], ...] = (
        state.tasks,
        state.runs,
        state.agents,
        state.supervisors,
    )
    return next((kind[subject_id] for kind in kinds if subject_id in kind), None)


def budgets(state: State, subject: Subject, now_ms: int | None = None, agent: Agent | None = None) -> list[Budget]:
    """Return the budgets of `subject`, the tightest for each amount; `agent` as for `limits_of`."""
    found: dict[Amount, Budget] = {}
    ledger = state.ledgers.get(subject.id)
    for limits in limits_of(state, subject, agent):
        for name in AMOUNTS:
            limit = getattr(limits, name)
            if limit is None:
                continue
            # Through `str`: the decimal of the float 0.1 is not 0.1, and a sum of exact amounts would then miss the
            # limit.
            whole = Decimal(str(limit)) * (1 + (ledger.granted.get(name, 0) if ledger is not None else 0))
            if name not in found or whole < found[name].limit:
                found[name] = _budget(state, subject, limits, name, whole, ledger, now_ms)
    return list(found.values())


def _budget(
    state: State,
    subject: Subject,
    limits: Limits,
    name: Amount,
    limit: Decimal,
    ledger: Ledger | None,
    now_ms: int | None,
) -> Budget:
    warned = ledger is not None and name in ledger.warned
    spent = spent_of(state, subject, name, now_ms)
    return Budget(name=name, spent=spent, limit=limit, warn_at=limits.warn_at, then=limits.then, warned=warned)


def limits_of(state: State, subject: Subject, agent: Agent | None = None) -> list[Limits]:
    """Return the `Limits` that apply to `subject`.

    Args:
        subject: The task, run, agent or supervisor.
        agent: The agent that is about to begin a task, which has none yet.
    """
    if isinstance(subject, Supervisor):
        found = [subject.options.limits]
    elif isinstance(subject, Agent):
        own = state.spec_of(subject).limits
        found = [own if own is not None else _inherited(state, subject.supervisor_id, "agent_limits")]
    elif isinstance(subject, Run):
        found = [subject.limits, _inherited(state, subject.supervisor_id, "run_limits")]
    elif subject.kind != "agent":
        return []
    else:
        at_it = agent or state.agents.get(subject.agent_id or subject.worker_id or "")
        own = state.spec_of(at_it).task_limits if at_it is not None else None
        above = subject.supervisor_id if at_it is None else at_it.supervisor_id
        found = [own if own is not None else _inherited(state, above, "task_limits")]
    return [limits for limits in found if limits is not None]


def _inherited(state: State, supervisor_id: str, name: str) -> Limits | None:
    supervisor = state.supervisors.get(supervisor_id)
    found: Limits | None = None if supervisor is None else inherited(state, supervisor, name, None)
    return found


def spent_of(state: State, subject: Subject, name: Amount, now_ms: int | None = None) -> Decimal:
    """Return how much of an amount was spent; with `now_ms` including the time of attempts at work."""
    if name == "attempts":
        return Decimal(subject.begun)
    usage = subject.usage
    if name == "time_s":
        time_ms = 0 if usage is None else usage.time_ms
        if now_ms is not None:
            time_ms += time_at_work(state, subject, now_ms)[1]
        return Decimal(time_ms) / 1000
    if usage is None:
        return _NONE
    if name == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    return usage.cost_usd or _NONE


def time_at_work(state: State, subject: Subject, now_ms: int) -> tuple[int, int]:
    """Return how many attempts of a run or task hold a slot, and their time that is not charged yet, in ms."""
    if isinstance(subject, Run):
        # `since_ms` is the sum over the attempts, so this is the sum of (now - since) without visiting each of them.
        return subject.at_work, subject.at_work * now_ms - subject.since_ms
    if not isinstance(subject, Task):
        return 0, 0
    front, count, time_ms = [subject], 0, 0
    for task in front:
        if task.attempt is not None and task.attempt.agent_id is not None:
            count += not task.attempt.parked
            time_ms += task.attempt.at_work_ms(now_ms)
        front += [state.tasks[child] for child in task.children]
    return count, time_ms


def touched(state: State, task: Task | None, run: Run | None, agent: Agent | None) -> Iterator[Subject]:
    """Yield everything that pays for an attempt, from the task up, without what has been removed."""
    if task is not None:
        yield from (one for one in above_of(state, task) if one.kind == "agent")
    if run is not None:
        yield run
    if agent is not None:
        yield agent
        yield from above_of(state, state.supervisors[agent.supervisor_id])


def is_limited(state: State, task: Task | None, run: Run | None, agent: Agent | None) -> bool:
    """Return whether any level that pays for an attempt has a budget; a cheap test before `budgets`."""
    if not state.limited:
        return False
    if run is not None and run.limits is not None:
        return True
    if agent is not None:
        spec = state.spec_of(agent)
        if spec.limits is not None or spec.task_limits is not None:
            return True
        if _limits_someone(state, agent.supervisor_id):
            return True
    # Work may be delegated to another branch of the tree: then the run's own supervisors pay as well.
    elsewhere = run is not None and (agent is None or run.supervisor_id != agent.supervisor_id)
    if run is not None and elsewhere and _limits_someone(state, run.supervisor_id):
        return True
    above = islice(above_of(state, task), 1, None) if task is not None else ()
    return any(one.kind == "agent" and limits_of(state, one) for one in above)


def _limits_someone(state: State, supervisor_id: str) -> bool:
    said = (one.options for one in supervisors_from(state, supervisor_id))
    return any(one.limits or one.run_limits or one.agent_limits or one.task_limits for one in said)


def is_empty(usage: Usage) -> bool:
    """Return whether a report has no known amounts."""
    known = usage.tokens_in is not None or usage.tokens_out is not None or usage.cost_usd is not None
    return not usage.time_ms and not known
