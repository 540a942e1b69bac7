"""What may be spent, and what is: by a task, a run, an agent, or everything under a supervisor.

Pure functions of the state, for decisions and for views. What is spent counts at every level above: on the task and all
that it is part of, on the run, on the agent, and on every supervisor from the agent's up.
See docs/semantics/limits.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeAlias

from engine.core.limits import Limits
from engine.core.queries.tree import above_of, inherited
from engine.core.state import Agent, Ledger, Run, State, Supervisor, Task
from engine.core.values import Usage

Amount: TypeAlias = Literal["attempts", "time_s", "tokens", "cost_usd"]
AMOUNTS: tuple[Amount, ...] = ("attempts", "time_s", "tokens", "cost_usd")
Subject: TypeAlias = Task | Run | Agent | Supervisor
_NONE = Decimal(0)


@dataclass(frozen=True, slots=True)
class Budget:
    """One amount of what may be spent."""

    name: Amount
    spent: Decimal
    """Attempts, seconds, tokens or USD; what is not known is not in it."""
    limit: Decimal
    """With what was granted on top."""
    warn_at: float
    then: Literal["stop", "ask", "fail"]
    warned: bool
    """It was warned about."""

    @property
    def share(self) -> float:
        """How much of it is spent; 1 and above is all of it."""
        return float(self.spent / self.limit)


@dataclass(frozen=True, slots=True)
class DeadlineOf:
    """By when something has to have ended."""

    due_ms: int
    own: bool
    """It was set for this, and not for what it is part of."""
    warn_ms: int | None
    """When it is warned about; None where that is over, or the deadline is not its own."""


def deadline_of(state: State, subject_id: str) -> DeadlineOf | None:
    """Return the deadline of an open run or a task, or None where it has none."""
    subject = state.runs.get(subject_id) or state.tasks.get(subject_id)
    if subject is None or subject.deadline_ms is None:
        return None
    timer = state.timers.get(f"warn:{subject_id}")
    warn_ms = timer.due_ms if timer is not None else None
    return DeadlineOf(due_ms=subject.deadline_ms, own=subject.deadline_after_ms is not None, warn_ms=warn_ms)


def budgets_of(state: State, subject_id: str, now_ms: int | None = None) -> list[Budget]:
    """Return what a task, an open run, an agent or a supervisor may spend, and what it has.

    Args:
        state: The state of the moment.
        subject_id: Whose.
        now_ms: With it, time counts that attempts of a task or a run are at work now; else only that of ended ones.
    """
    subject = subject_with(state, subject_id)
    return [] if subject is None else budgets(state, subject, now_ms)


def subject_with(state: State, subject_id: str) -> Subject | None:
    """Return what has an id, if it is there."""
    kinds: tuple[dict[str, Task] | dict[str, Run] | dict[str, Agent] | dict[str, Supervisor], ...] = (
        state.tasks, state.runs, state.agents, state.supervisors,
    )  # fmt: skip
    return next((kind[subject_id] for kind in kinds if subject_id in kind), None)


def budgets(state: State, subject: Subject, now_ms: int | None = None, agent: Agent | None = None) -> list[Budget]:
    """Return the budgets of `subject`: of several limits for one amount the tighter; `agent` as for `limits_of`."""
    found: dict[Amount, Budget] = {}
    ledger = state.ledgers.get(subject.id)
    for limits in limits_of(state, subject, agent):
        for name in AMOUNTS:
            limit = getattr(limits, name)
            if limit is None:
                continue
            whole = Decimal(str(limit)) * (1 + (ledger.granted.get(name, 0) if ledger is not None else 0))
            if name not in found or whole < found[name].limit:
                found[name] = _budget(state, subject, limits, name, whole, ledger, now_ms)
    return list(found.values())


def _budget(
    state: State, subject: Subject, limits: Limits, name: Amount, limit: Decimal, ledger: Ledger | None,
    now_ms: int | None,
) -> Budget:  # fmt: skip
    warned = ledger is not None and name in ledger.warned
    spent = spent_of(state, subject, name, now_ms)
    return Budget(name=name, spent=spent, limit=limit, warn_at=limits.warn_at, then=limits.then, warned=warned)


def limits_of(state: State, subject: Subject, agent: Agent | None = None) -> list[Limits]:
    """Return what limits `subject`.

    Args:
        state: The state of the moment.
        subject: Whose limits.
        agent: Of a task that has not begun: who is about to.
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
    """Return how much of an amount was spent; of time with `now_ms` also what is being spent."""
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
    """Return how many attempts of a run or a task hold a slot, and the time that is not charged yet, in milliseconds.

    Time counts while an attempt holds a slot, and not while it waits for what it delegated.
    """
    if isinstance(subject, Run):
        return subject.at_work, subject.at_work * now_ms - subject.since_ms
    if not isinstance(subject, Task):
        return 0, 0
    front, count, time_ms = [subject], 0, 0
    for task in front:
        if task.attempt is not None and task.attempt.agent_id is not None:
            count += not task.attempt.parked
            time_ms += (0 if task.attempt.parked else now_ms) - task.attempt.since_ms
        front += [state.tasks[child] for child in task.children]
    return count, time_ms


def touched(state: State, task: Task | None, run: Run | None, agent: Agent | None) -> Iterator[Subject]:
    """Yield everything that pays for an attempt, from the task up; what is not there any more is left out."""
    if task is not None:
        yield from (one for one in above_of(state, task) if one.kind == "agent")
    if run is not None:
        yield run
    if agent is not None:
        yield agent
        yield from above_of(state, state.supervisors[agent.supervisor_id])


def is_limited(state: State, task: Task | None, run: Run | None, agent: Agent | None) -> bool:
    """Return whether any level that pays for an attempt has a budget."""
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
    elsewhere = run is not None and (agent is None or run.supervisor_id != agent.supervisor_id)
    if run is not None and elsewhere and _limits_someone(state, run.supervisor_id):
        return True
    above = islice(above_of(state, task), 1, None) if task is not None else ()
    return any(one.kind == "agent" and limits_of(state, one) for one in above)


def _limits_someone(state: State, supervisor_id: str) -> bool:
    supervisor = state.supervisors.get(supervisor_id)
    said = (one.options for one in above_of(state, supervisor)) if supervisor is not None else ()
    return any(one.limits or one.run_limits or one.agent_limits or one.task_limits for one in said)


def is_empty(usage: Usage) -> bool:
    """Return whether nothing that is known was spent."""
    known = usage.tokens_in is not None or usage.tokens_out is not None or usage.cost_usd is not None
    return not usage.time_ms and not known
