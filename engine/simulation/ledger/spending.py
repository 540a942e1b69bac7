"""Usage and counts of attempts at every level that pays for them."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

from engine.core import events
from engine.core.queries.money.spending import spending_rows
from engine.core.queries.work.answered import model_of
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import State
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.work import JobLedger

ENDS = ("done", "failed", "cancelled")
RowKey: TypeAlias = tuple[str | None, str | None, str | None]
"""Agent, model and tool."""
TOTAL = ""
"""Key of the sum of the whole team."""


class SpendingLedger:
    """Usage and counts by id of task, run, agent or supervisor."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        self.rows: dict[RowKey, Usage] = {}
        """Usage by agent, model and tool."""
        self.begun: Counter[str] = Counter()
        """Attempts of agents."""
        self.ends: Counter[tuple[str, str]] = Counter()
        """Ended attempts of each agent, and below each supervisor, by its id and `done`, `failed` or `cancelled`."""
        self.granted: dict[tuple[str, str], int] = {}
        """Number of extensions of a budget, by its owner and the name of the amount."""
        self.raised: dict[tuple[str, str], Decimal] = {}
        """What was added to a budget besides."""
        self.asked_limits: dict[tuple[str, str], Decimal] = {}
        """Limits that answered questions were about, by the owner and the name of the amount; an owner whose task moved
        on meanwhile may have another one now."""
        self.paid: list[tuple[str, str]] = []
        """Tasks and agents whose attempts reported usage since the last check of budgets."""
        self.returned: set[tuple[str, int]] = set()
        """Attempts, by task and number, whose code has returned its output without having noticed a stop."""

    def take(self, event: Any, team: TeamLedger, work: JobLedger) -> None:
        """Add the usage of an event; the other ledgers have not applied it yet."""
        if isinstance(event, events.EngineStarted):
            self.returned.clear()  # an output that was not journaled is lost with its engine
        usage = getattr(event, "usage", None)
        if usage is not None:
            for payer in payers(event, team, work):
                self.usage[payer] = self.usage_of(payer).plus(usage)
            row = _row_key(event)
            self.rows[row] = self.rows.get(row, NO_USAGE).plus(usage)
            if event.task_id and getattr(event, "agent_id", None) is not None:
                self.paid.append((event.task_id, event.agent_id))
        if isinstance(event, events.AttemptStarted) and event.agent_id is not None:
            self.begun.update(payers(event, team, work))
        if (
            isinstance(event, events.AttemptDone | events.AttemptFailed | events.AttemptCancelled)
            and event.agent_id is not None
        ):
            end = event.type.removeprefix("attempt_")
            supervisors = team.lineage(team.agents[event.agent_id].supervisor_id)
            self.ends.update((owner, end) for owner in (event.agent_id, *(supervisor.id for supervisor in supervisors)))
        if isinstance(event, events.EscalationAnswered) and event.kind == "budget":
            self.asked_limits[event.subject, str(event.detail["amount"])] = Decimal(str(event.detail["limit"]))
        if isinstance(event, events.BudgetExtended) and event.amount is not None:
            self.granted[event.subject, event.amount] = event.granted
            self.raised[event.subject, event.amount] = event.raised

    def adopt(self, state: State) -> None:
        """Take the usage of an import from the state."""
        owners: list[Any] = [
            *state.supervisors.values(),
            *state.agents.values(),
            *state.runs.values(),
            *state.tasks.values(),
        ]
        self.usage[TOTAL] = state.usage.plus(NO_USAGE)
        self.rows = {(row.agent_id, row.model, row.tool): row.usage.plus(NO_USAGE) for row in spending_rows(state)}
        for owner in owners:
            if owner.id not in self.usage and owner.usage is not None:
                self.usage[owner.id] = owner.usage.plus(NO_USAGE)
            self.begun.setdefault(owner.id, owner.begun)
        for agent in state.agents.values():
            for end in ENDS:
                self.ends.setdefault((agent.id, end), getattr(agent, end))
        for supervisor in state.supervisors.values():
            self.ends.setdefault((supervisor.id, "done"), supervisor.done)
            self.ends.setdefault((supervisor.id, "failed"), supervisor.failed)
        for ledger in state.ledgers.values():
            for amount, times in ledger.granted.items():
                self.granted.setdefault((ledger.id, amount), times)
            for amount, raised in ledger.raised.items():
                self.raised.setdefault((ledger.id, amount), raised)

    def usage_of(self, owner: str) -> Usage:
        """Return the usage of an owner."""
        return self.usage.get(owner, NO_USAGE)


def _row_key(event: Any) -> RowKey:
    usage = event.usage
    if isinstance(event, events.Discovered):
        return None, None, None
    if (usage.tokens_in, usage.tokens_out, usage.cost_usd) == (None, None, None):
        return event.agent_id, None, None
    if isinstance(event, events.ModelFailed):
        return event.agent_id, event.model, None
    if isinstance(event, events.StepStopped) and event.what != "tool":
        return event.agent_id, event.name, None
    if isinstance(event, events.StepRecorded | events.StepStopped) and event.what == "tool":
        return event.agent_id, None, event.name
    if isinstance(event, events.StepRecorded) and event.what != "code":
        return event.agent_id, model_of(event), None
    return event.agent_id, None, None


def payers(event: Any, team: TeamLedger, work: JobLedger) -> Iterator[str]:
    """Yield the ids of all owners to which the usage of an attempt is charged."""
    job = work.jobs.get(event.task_id or "")
    yield TOTAL
    supervisor_id = None
    if job is not None:
        yield job.run_id
        yield from (ancestor.id for ancestor in work.lineage(job))
        supervisor_id = job.supervisor_id
    if getattr(event, "agent_id", None) is not None:
        yield event.agent_id
        supervisor_id = team.agents[event.agent_id].supervisor_id
    yield from (supervisor.id for supervisor in team.lineage(supervisor_id))
