"""Budgets of tasks, runs, agents and supervisors: limits and spending, as pure functions of the state.

Spending counts at every level: the task and its ancestors, the run, the agent, and all supervisors above it.
See docs/semantics/limits.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeAlias

from engine.core.queries.team.made import working_spec
from engine.core.queries.team.tree import inherited_option, lineage_of, supervisors_from
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.state import Agent, Ledger, Run, State, Supervisor, Task

Amount: TypeAlias = Literal["attempts", "time_s", "tokens", "cost_usd"]
AMOUNTS: tuple[Amount, ...] = ("attempts", "time_s", "tokens", "cost_usd")
Subject: TypeAlias = Task | Run | Agent | Supervisor
_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget for one kind of amount."""

    name: Amount
    spent: Decimal
    """Attempts, seconds, tokens or USD; unknown amounts count as 0."""
    limit: Decimal
    """The limit, including extensions granted by a person."""
    warn_at: float
    then: Literal["stop", "ask", "fail"]
    warned: bool
    """Whether `BudgetWarned` was recorded."""

    @property
    def share(self) -> float:
        """Fraction that is spent; at least 1 if all of it is."""
        return float(self.spent / self.limit)


@dataclass(frozen=True, slots=True)
class EffectiveDeadline:
    """The deadline in force of a run or task."""

    due_ms: int
    own: bool
    """Whether it was set for the object itself, and not for an ancestor."""
    warn_ms: int | None
    """Time of the warning; None if it was given, or if the deadline is an ancestor's."""


def deadline_of(state: State, subject_id: str) -> EffectiveDeadline | None:
    """Return the deadline of an open run or a task; None if it has none."""
    subject = state.runs.get(subject_id) or state.tasks.get(subject_id)
    if subject is None or subject.deadline_ms is None:
        return None
    timer = state.timers.get(f"warn:{subject_id}")
    warn_ms = timer.due_ms if timer is not None else None
    return EffectiveDeadline(due_ms=subject.deadline_ms, own=subject.deadline_after_ms is not None, warn_ms=warn_ms)


def budgets_of(state: State, subject_id: str, now_ms: int | None = None) -> list[Budget]:
    """Return the budgets of a task, open run, agent or supervisor; none if the id is unknown.

    Args:
        now_ms: Also count the time of attempts still at work at this moment; None counts ended attempts only.
    """
    subject = subject_with(state, subject_id)
    return [] if subject is None else budgets(state, subject, now_ms)


def subject_with(state: State, subject_id: str) -> Subject | None:
    """Return the task, run, agent or supervisor with an id, if it exists."""
    work: Subject | None = state.tasks.get(subject_id) or state.runs.get(subject_id)
    return work or state.agents.get(subject_id) or state.supervisors.get(subject_id)


def budgets(state: State, subject: Subject, now_ms: int | None = None, agent: Agent | None = None) -> list[Budget]:
    """Return the budgets of `subject`, the tightest for each amount; `agent` as for `limits_of`."""
    budget_by_amount: dict[Amount, Budget] = {}
    ledger = state.ledgers.get(subject.id)
    for limits in limits_of(state, subject, agent):
        for name in AMOUNTS:
            limit = getattr(limits, name)
            if limit is None:
                continue
            # Through `str`: the decimal of the float 0.1 is not 0.1, so a sum of exact amounts would miss the limit.
            total_limit = Decimal(str(limit))
            if ledger is not None:
                total_limit = total_limit * (1 + ledger.granted.get(name, 0)) + ledger.raised.get(name, 0)
            if name not in budget_by_amount or total_limit < budget_by_amount[name].limit:
                budget_by_amount[name] = _budget(state, subject, limits, name, total_limit, ledger, now_ms)
    return list(budget_by_amount.values())


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
    """Return the `Limits` that apply to a subject, with those of the agent that is about to begin a task."""
    if isinstance(subject, Supervisor):
        declared_limits = [subject.options.limits]
    elif isinstance(subject, Agent):
        own = working_spec(state, subject)[0].limits
        declared_limits = [own if own is not None else _inherited_limits(state, subject.supervisor_id, "agent_limits")]
    elif isinstance(subject, Run):
        declared_limits = [subject.limits, _inherited_limits(state, subject.supervisor_id, "run_limits")]
    elif subject.kind != "agent":
        return []
    else:
        assigned_agent = agent or state.agents.get(subject.agent_id or subject.worker_id or "")
        own = working_spec(state, assigned_agent)[0].task_limits if assigned_agent is not None else None
        supervisor_id = subject.supervisor_id if assigned_agent is None else assigned_agent.supervisor_id
        declared_limits = [own if own is not None else _inherited_limits(state, supervisor_id, "task_limits")]
    return [limits for limits in declared_limits if limits is not None]


def _inherited_limits(state: State, supervisor_id: str, name: str) -> Limits | None:
    supervisor = state.supervisors.get(supervisor_id)
    limits: Limits | None = None if supervisor is None else inherited_option(state, supervisor, name, None)
    return limits


def spent_of(state: State, subject: Subject, name: Amount, now_ms: int | None = None) -> Decimal:
    """Return how much of an amount is spent; with `now_ms`, including the time of running attempts."""
    if name == "attempts":
        return Decimal(subject.begun)
    usage = subject.usage
    if name == "time_s":
        time_ms = 0 if usage is None else usage.time_ms
        if now_ms is not None:
            _, running_ms = time_at_work(state, subject, now_ms)
            time_ms += running_ms
        return Decimal(time_ms) / 1000
    if usage is None:
        return _ZERO
    if name == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    return usage.cost_usd or _ZERO


def time_at_work(state: State, subject: Subject, now_ms: int) -> tuple[int, int]:
    """Return how many attempts of a run or task hold a slot, and their uncharged time in milliseconds."""
    if isinstance(subject, Run):
        # `since_ms` is the sum over the attempts, so this is the sum of (now - since) without visiting each of them.
        return subject.at_work, subject.at_work * now_ms - subject.since_ms
    if not isinstance(subject, Task):
        return 0, 0
    front = [subject]
    count = 0
    time_ms = 0
    for task in front:
        if task.attempt is not None and task.attempt.agent_id is not None:
            if not task.attempt.parked:
                count += 1
            time_ms += task.attempt.at_work_ms(now_ms)
        front += [state.tasks[child] for child in task.children]
    return count, time_ms


def paying_subjects(state: State, task: Task | None, run: Run | None, agent: Agent | None) -> Iterator[Subject]:
    """Yield the subjects that pay for an attempt: tasks upwards, the run, the agent, its supervisors upwards."""
    if task is not None:
        yield from (ancestor for ancestor in lineage_of(state, task) if ancestor.kind == "agent")
    if run is not None:
        yield run
    if agent is not None:
        yield agent
        yield from lineage_of(state, state.supervisors[agent.supervisor_id])


def is_limited(state: State, task: Task | None, run: Run | None, agent: Agent | None) -> bool:
    """Return whether any level that pays for an attempt has a budget; a cheap test before `budgets`."""
    if not state.limited:
        return False
    if run is not None and run.limits is not None:
        return True
    if agent is not None:
        spec, _ = working_spec(state, agent)
        if spec.limits is not None or spec.task_limits is not None:
            return True
        if _has_limited_supervisor(state, agent.supervisor_id):
            return True
    # Work may be delegated to another branch of the tree: then the run's own supervisors pay as well.
    is_in_other_team = run is not None and (agent is None or run.supervisor_id != agent.supervisor_id)
    if run is not None and is_in_other_team and _has_limited_supervisor(state, run.supervisor_id):
        return True
    ancestors = islice(lineage_of(state, task), 1, None) if task is not None else ()
    return any(ancestor.kind == "agent" and limits_of(state, ancestor) for ancestor in ancestors)


def _has_limited_supervisor(state: State, supervisor_id: str) -> bool:
    all_options = (supervisor.options for supervisor in supervisors_from(state, supervisor_id))
    return any(
        options.limits or options.run_limits or options.agent_limits or options.task_limits for options in all_options
    )


def is_empty(usage: Usage) -> bool:
    """Return whether a report of usage has no known amounts."""
    has_amounts = usage.tokens_in is not None or usage.tokens_out is not None or usage.cost_usd is not None
    return not usage.time_ms and not has_amounts
