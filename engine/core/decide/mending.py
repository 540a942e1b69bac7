"""What an operator's Resume mends besides a pause: errors and open circuits."""

from engine.core.decide.circuit import closed_by_hand
from engine.core.errors import Refused
from engine.core.events import AgentCheckAsked, Event, SupervisorMended
from engine.core.state import Agent, State, Supervisor


def mended(member: Agent | Supervisor) -> list[Event]:
    """Return what lets a member work again that cannot: its code, its circuit and its failure are looked at anew."""
    if isinstance(member, Supervisor):
        return [] if member.error is None else [SupervisorMended(supervisor_id=member.id)]
    events = closed_by_hand(member)
    if member.error is not None or member.away:
        events.append(AgentCheckAsked(agent_id=member.id))
    return events


def failed_above(state: State, supervisor: Supervisor) -> Supervisor | None:
    """Return the supervisor, from this one up, that has failed and takes nothing; None where none has."""
    above: Supervisor | None = supervisor
    while above is not None and above.error is None:
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
    return above


def must_work(state: State, supervisor: Supervisor) -> None:
    """Refuse a request to a supervisor that has failed.

    Raises:
        Refused: If it, or one above it, has.
    """
    failed = failed_above(state, supervisor)
    if failed is not None:
        raise Refused(f"{failed.error}; look at its agents, then resume {failed.name}")
