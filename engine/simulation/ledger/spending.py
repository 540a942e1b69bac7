"""Usage and counts of attempts at every level that pays for them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from engine.core import events
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import State
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.work import WorkBook

ENDS = ("done", "failed", "cancelled")
TOTAL = ""
"""The key of the whole team's sum."""


class SpendingLedger:
    """Usage and counts by id of task, run, agent or supervisor."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        self.begun: Counter[str] = Counter()
        """Attempts of agents."""
        self.ends: Counter[tuple[str, str]] = Counter()
        """Attempts of each agent and of those below each supervisor, by its id and `done`, `failed` or `cancelled`."""
        self.granted: dict[tuple[str, str], int] = {}
        """How many times an amount was granted on top of the first, by whose it is and its name."""
        self.paid: list[tuple[str, str]] = []
        """Tasks and agents of which attempts reported what they spent, since that was last looked at."""
        self.returned: set[tuple[str, int]] = set()
        """Attempts, by task and number, whose code has returned its output without having noticed a stop."""

    def take(self, event: Any, team: TeamLedger, work: WorkBook) -> None:
        """Note what an event costs; the other parts have not taken it yet."""
        if isinstance(event, events.EngineStarted):
            self.returned.clear()  # an output that was not journaled is lost with its engine
        usage = getattr(event, "usage", None)
        if usage is not None:
            for payer in payers(event, team, work):
                self.usage[payer] = self.usage_of(payer).plus(usage)
            if event.agent_id is not None and event.task_id:
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
        if isinstance(event, events.BudgetExtended) and event.amount is not None:
            self.granted[event.subject, event.amount] = event.granted

    def adopt(self, state: State) -> None:
        """Take the figures of an import from the state."""
        owners: list[Any] = [
            *state.supervisors.values(),
            *state.agents.values(),
            *state.runs.values(),
            *state.tasks.values(),
        ]
        self.usage[TOTAL] = state.usage.plus(NO_USAGE)
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

    def usage_of(self, owner: str) -> Usage:
        """Return what an owner has spent."""
        return self.usage.get(owner, NO_USAGE)


def payers(event: Any, team: TeamLedger, work: WorkBook) -> Iterator[str]:
    """Yield the ids of all that an attempt's usage is charged to."""
    job = work.jobs.get(event.task_id or "")
    yield TOTAL
    supervisor_id = None
    if job is not None:
        yield job.run_id
        yield from (ancestor.id for ancestor in work.lineage(job))
        supervisor_id = job.supervisor_id
    if event.agent_id is not None:
        yield event.agent_id
        supervisor_id = team.agents[event.agent_id].supervisor_id
    yield from (supervisor.id for supervisor in team.lineage(supervisor_id))
