"""Usage at every level, budgets, and what it costs to hand work through a supervisor."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from engine.core import events
from engine.core.queries.money.budget import AMOUNTS, Amount
from engine.core.queries.money.spending import spending_rows, total_of
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.limits import Limits
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.spending import ENDS, TOTAL
from engine.simulation.ledger.team import AgentEntry, SupervisorEntry
from engine.simulation.ledger.work import Job, RunEntry
from engine.simulation.shadow_ledger import ShadowLedger

COUNTED_AMOUNTS: tuple[Amount, ...] = ("attempts", "tokens", "cost_usd")
"""Amounts that are known exactly; time at work is spent while nothing happens."""
Spender = Job | RunEntry | AgentEntry | SupervisorEntry


@law(When.AFTER_BATCH)
def usage_adds_up(ledger: ShadowLedger) -> str | None:
    """Usage and begun attempts add up from attempts to tasks, runs, agents, all supervisors above, and the total."""
    spending, state = ledger.spending, ledger.state
    if state.usage != spending.usage_of(TOTAL):
        return f"the total says {state.usage}; attempts come to {spending.usage_of(TOTAL)}"
    owners: list[Any] = [
        *state.runs.values(),
        *state.tasks.values(),
        *state.agents.values(),
        *state.supervisors.values(),
    ]
    for owner in owners:
        if (owner.usage or NO_USAGE) != spending.usage_of(owner.id):
            return f"{owner.id} says {owner.usage}; its attempts come to {spending.usage_of(owner.id)}"
        if owner.begun != spending.begun[owner.id]:
            return f"{owner.id} says that {owner.begun} attempts began; {spending.begun[owner.id]} did"
    return None


@law(When.AFTER_BATCH)
def spending_adds_up(ledger: ShadowLedger) -> str | None:
    """Rows of spending by agent, model and tool are what their events reported, and add up to the total exactly."""
    state = ledger.state
    rows = spending_rows(state)
    if (total := total_of(row.usage for row in rows)) != state.usage:
        return f"the rows add up to {total}; the total says {state.usage}"
    expected = {key: _amounts(usage) for key, usage in ledger.spending.rows.items() if any(_amounts(usage))}
    actual = {(row.agent_id, row.model, row.tool): _amounts(row.usage) for row in rows if any(_amounts(row.usage))}
    for key in expected.keys() | actual.keys():
        if actual.get(key) != expected.get(key):
            return f"{key} spent {actual.get(key)} by its row; its events say {expected.get(key)}"
    return None


@law(When.AFTER_BATCH)
def a_run_knows_who_spent(ledger: ShadowLedger) -> str | None:
    """What agents have spent on an open run adds up to the tokens and the money of the run."""
    for run in ledger.state.runs.values():
        *spent, _ = _amounts(total_of(run.spent_by.values()))
        *whole, _ = _amounts(run.usage)
        if spent != whole:
            return f"agents have spent {spent} on {run.id}, which says {whole}"
    return None


def _amounts(usage: Usage) -> tuple[int, int, int, Decimal, int]:
    tokens = (usage.tokens_in or 0, usage.tokens_out or 0, usage.tokens_cached or 0)
    return *tokens, usage.cost_usd or Decimal(0), usage.time_ms


@law(When.AFTER_BATCH)
def ends_add_up(ledger: ShadowLedger) -> str | None:
    """Agents count their attempts that were done, failed and were cancelled; supervisors the first two of all below."""
    for agent in ledger.state.agents.values():
        for end in ENDS:
            counted = ledger.spending.ends[agent.id, end]
            if getattr(agent, end) != counted:
                return f"{agent.id} says that {getattr(agent, end)} were {end}; it is {counted}"
    for supervisor in ledger.state.supervisors.values():
        for end, count in (("done", supervisor.done), ("failed", supervisor.failed)):
            if count != (counted := ledger.spending.ends[supervisor.id, end]):
                return f"{supervisor.id} says that {count} below it were {end}; it is {counted}"
    return None


@law(When.AFTER_BATCH)
def hand_overs_are_measured(ledger: ShadowLedger) -> str | None:
    """A supervisor counts the graphs that it handed through, and what they took besides the work below."""
    for supervisor in ledger.state.supervisors.values():
        expected = ledger.work.hand_overs.get(supervisor.id, (0, 0))
        actual = (supervisor.hand_overs, supervisor.hand_over_ms)
        if actual != expected:
            return f"{supervisor.id} counts {actual} hand-overs and milliseconds; they come to {expected}"
    return None


@law(events.AttemptStarted)
def nothing_begins_on_a_spent_budget(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """No attempt begins when a budget that would pay for it is exhausted."""
    if event.agent_id is None:
        return None
    job = ledger.work.jobs[event.task_id]
    for spender in payers(ledger, job, ledger.team.agents[event.agent_id]):
        for amount, spent, limit in budgets(ledger, spender, event.agent_id if spender is job else None):
            if spent >= limit:
                return f"{event.task_id} begins on {event.agent_id}; {spender.id} has spent {spent} of {limit} {amount}"
    return None


@law(When.AFTER_BATCH)
def a_spent_budget_is_noticed(ledger: ShadowLedger) -> str | None:
    """Under a budget that reported usage has exhausted every attempt is asked to stop, and nothing waits to begin."""
    paid, ledger.spending.paid = ledger.spending.paid, []
    for task_id, agent_id in paid:
        job, agent = ledger.work.jobs.get(task_id), ledger.team.agents.get(agent_id)
        for spender in payers(ledger, job, agent) if job is not None and agent is not None else ():
            for amount, spent, limit in budgets(ledger, spender, None):
                if amount == "attempts" or spent < limit:
                    continue
                attempt = job.attempt if job is not None else None
                # A spender that has used up its attempts lets running ones finish, within its other budgets.
                if (
                    attempt is not None
                    and attempt.agent_id == agent_id
                    and not (attempt.stop_reasons or attempt.parked)
                ):
                    return f"{spender.id} has spent {spent} of {limit} {amount}, and {task_id} goes on"
                if not _has_stopped(ledger, spender) and (goes_on := _open_task_id(ledger, spender)):
                    return f"{spender.id} has spent {spent} of {limit} {amount}, and {goes_on} is open"
    return None


def _open_task_id(ledger: ShadowLedger, spender: Spender) -> str | None:
    """Return a task that spends more of a run or task, at work or ready to begin."""
    if isinstance(spender, AgentEntry | SupervisorEntry):
        return None  # that nothing begins on it is a law of its own
    task_id = spender.id if isinstance(spender, Job) else None
    for job in ledger.work.open_under(spender.run_id if isinstance(spender, Job) else spender.id, task_id):
        attempt = job.attempt
        is_at_work = (
            attempt is not None and attempt.agent_id is not None and not (attempt.parked or attempt.stop_reasons)
        )
        if is_at_work or (ledger.work.waits_for_nothing(job) and not _may_be_needless(ledger, job)):
            return job.id
    return None


def _may_be_needless(ledger: ShadowLedger, job: Job) -> bool:
    """Return whether enough of n of m answers may come without a task or the team that it is of."""
    ancestor: Job | None = job
    while ancestor is not None:
        siblings = ledger.work.jobs[ancestor.parent_id].children if ancestor.parent_id is not None else []
        if any(
            ledger.work.jobs[sibling_id].need is not None and ancestor.id in ledger.work.jobs[sibling_id].after
            for sibling_id in siblings
        ):
            return True
        ancestor = ledger.work.jobs.get(ancestor.parent_id or "")
    return False


@law(events.BudgetExhausted)
def a_budget_ends_what_is_open(ledger: ShadowLedger, event: events.BudgetExhausted) -> str | None:
    """A budget ends, or asks about, only a run or task of which work of an agent is open."""
    if event.run_id is None:
        return None
    jobs = ledger.work.open_under(event.run_id, event.task_id)
    if any(job.kind == "agent" or (job.kind == "group" and not job.planned) for job in jobs):
        return None
    return f"{event.subject} has only {[job.id for job in jobs]} left, which are no work of an agent"


@law(events.AttemptCancelled, events.AttemptPreempted, events.AttemptSetAside)
def returned_attempts_are_done(ledger: ShadowLedger, event: Any) -> str | None:
    """An attempt that has returned its output is done, whatever it has spent and whoever has asked it to stop."""
    if (event.task_id, event.attempt) not in ledger.spending.returned:
        return None
    return f"{event.type} of {event.task_id}, whose attempt {event.attempt} has returned its output"


@law(events.BudgetExhausted)
def a_budget_ends_with_what_was_spent(ledger: ShadowLedger, event: events.BudgetExhausted) -> str | None:
    """The event of an exhausted budget carries the amount spent and the limit."""
    spender = _spender(ledger, event.subject)
    if spender is None or event.amount not in COUNTED_AMOUNTS:
        return None
    # The spec of the agent that is about to begin a task may limit the usage of the task.
    by = [None, *ledger.team.agents] if isinstance(spender, Job) else [None]
    subject_budgets = [budget for agent_id in by for budget in budgets(ledger, spender, agent_id, every=True)]
    limits = [limit for amount, _, limit in subject_budgets if amount == event.amount]
    asked_limit = ledger.spending.asked_limits.get((event.subject, event.amount))
    if event.spent != _sum_spent(ledger, spender.id, event.amount):
        return f"{spender.id} spent {_sum_spent(ledger, spender.id, event.amount)}; the event says {event.spent}"
    if limits and event.limit not in (*limits, asked_limit):
        return f"{spender.id} may spend {limits} {event.amount}; the event says {event.limit}"
    needed = event.spent + event.needs
    left = event.spent < event.limit if not event.needs else needed <= event.limit
    return f"{spender.id} has something left of {event.limit}" if left else None


def has_budget_left(ledger: ShadowLedger, agent: AgentEntry) -> bool:
    """Return whether an agent, and all above it, may spend more than they have; exact for all that they have spent."""
    spenders: list[Spender] = [agent, *ledger.team.lineage(agent.supervisor_id)]
    limited_amounts = (each for spender in spenders for each in budgets(ledger, spender, None, amounts=AMOUNTS))
    return all(spent < limit for _, spent, limit in limited_amounts)


def payers(ledger: ShadowLedger, job: Job, agent: AgentEntry) -> Iterator[Spender]:
    """Yield all that pay for what an agent does for a task."""
    yield from (ancestor for ancestor in ledger.work.lineage(job) if ancestor.kind == "agent")
    yield ledger.work.runs[job.run_id]
    yield agent
    yield from ledger.team.lineage(agent.supervisor_id)


def _spender(ledger: ShadowLedger, subject: str) -> Spender | None:
    kinds: tuple[dict[str, Any], ...] = (
        ledger.work.jobs,
        ledger.work.runs,
        ledger.team.agents,
        ledger.team.supervisors,
    )
    return next((kind[subject] for kind in kinds if subject in kind), None)


def budgets(
    ledger: ShadowLedger,
    spender: Spender,
    agent_id: str | None,
    *,
    every: bool = False,
    amounts: tuple[Amount, ...] = COUNTED_AMOUNTS,
) -> Iterator[tuple[Amount, Decimal, Decimal]]:
    """Yield each amount that is limited, with what was spent and what may be; `every` limit, or the tightest."""
    for amount in amounts:
        values = [getattr(limits, amount) for limits in _limits(ledger, spender, agent_id)]
        limits = sorted(Decimal(str(value)) for value in values if value is not None)
        times = 1 + ledger.spending.granted.get((spender.id, amount), 0)
        for limit in limits if every else limits[:1]:
            raised = ledger.spending.raised.get((spender.id, amount), Decimal(0))
            yield amount, _sum_spent(ledger, spender.id, amount), limit * times + raised


def _sum_spent(ledger: ShadowLedger, owner: str, amount: Amount) -> Decimal:
    if amount == "attempts":
        return Decimal(ledger.spending.begun[owner])
    usage = ledger.spending.usage_of(owner)
    if amount == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    if amount == "time_s":
        return Decimal(usage.time_ms) / 1000
    return usage.cost_usd or Decimal(0)


def _limits(ledger: ShadowLedger, spender: Spender, agent_id: str | None) -> list[Limits]:
    """Return the limits of a subject: its own, or inherited ones; of a task, those of the agent that begins it."""
    team = ledger.team
    if isinstance(spender, SupervisorEntry):
        limits = [spender.options.limits]
    elif isinstance(spender, AgentEntry):
        limits = [spender.spec.limits or team.inherited_option(spender.supervisor_id, "agent_limits", None)]
    elif isinstance(spender, RunEntry):
        limits = [spender.limits, team.inherited_option(spender.supervisor_id, "run_limits", None)]
    else:
        agent = team.agents.get(agent_id or spender.agent_id or spender.worker_id or "")
        supervisor_id = spender.supervisor_id if agent is None else agent.supervisor_id
        own = agent.spec.task_limits if agent is not None else None
        limits = [own or team.inherited_option(supervisor_id, "task_limits", None)]
    return [limit for limit in limits if limit is not None]


def _has_stopped(ledger: ShadowLedger, spender: Spender) -> bool:
    """Return whether a subject has nothing at work: it is on hold, over, or idle."""
    if isinstance(spender, AgentEntry | SupervisorEntry):
        return spender.exhausted
    if spender.is_on_hold or spender.cancelling or spender.exceeded:
        return True
    if isinstance(spender, RunEntry):
        return ledger.work.jobs[spender.root_id].outcome is not None
    return spender.outcome is not None or ledger.work.is_over(spender)
