"""What was declared of each member: kept as it was said, beside what became of it."""

from dataclasses import dataclass

from engine.core.events import (
    AgentAdded,
    AgentRemoved,
    Event,
    MembersDeclared,
    SupervisorAdded,
    SupervisorRemoved,
)
from engine.core.spec import spec_hash
from engine.simulation.ledger.team import TeamLedger


@dataclass(frozen=True, slots=True)
class DeclaredEntry:
    """A member as it was declared last."""

    spec: str | None
    """The content hash of an agent's spec."""
    parent_id: str
    """Empty for a root."""


class DeclaredLedger:
    """Every member that was declared and is there."""

    def __init__(self) -> None:
        self.members: dict[str, DeclaredEntry] = {}

    def take(self, event: Event, team: TeamLedger) -> None:
        """Note what an event says; the ledger of the team has taken it."""
        match event:
            case SupervisorAdded(declared=True):
                self.members[event.supervisor_id] = self.now(event.supervisor_id, team)
            case AgentAdded(declared=True):
                self.members[event.agent_id] = self.now(event.agent_id, team)
            case SupervisorRemoved():
                self.members.pop(event.supervisor_id, None)
            case AgentRemoved():
                self.members.pop(event.agent_id, None)
            case MembersDeclared():
                self._declared(event, team)

    def _declared(self, event: MembersDeclared, team: TeamLedger) -> None:
        for member_id in event.same:
            self.members[member_id] = self.now(member_id, team)
        for member_id, said in event.different.items():
            now = self.now(member_id, team)
            parent_id = now.parent_id if said.parent_id is None else said.parent_id
            self.members[member_id] = DeclaredEntry(said.spec or now.spec, parent_id)
        for member_id in event.dropped:
            self.members.pop(member_id, None)

    @staticmethod
    def now(member_id: str, team: TeamLedger) -> DeclaredEntry:
        """Return a member as it is, in the same words."""
        agent = team.agents.get(member_id)
        if agent is None:
            return DeclaredEntry(None, team.supervisors[member_id].parent_id or "")
        return DeclaredEntry(spec_hash(agent.spec), agent.supervisor_id)
