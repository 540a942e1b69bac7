"""Circuits: when an agent gets nothing to do because it keeps failing, and when it is tried again."""

from engine.core.context import Context
from engine.core.events import CircuitClosed, CircuitHalfOpened, CircuitOpened, Event
from engine.core.inheritance import inherited
from engine.core.policies.records import Circuit
from engine.core.policies.rules import cool_s
from engine.core.prompts import LookAtCircuit
from engine.core.state import Agent, State, Timer


def circuit_of(state: State, agent: Agent) -> Circuit | None:
    """Return what is set for an agent: in its spec, else at the nearest supervisor; None never opens."""
    own = state.spec_of(agent).circuit
    found: Circuit | None = own or inherited(state, state.supervisors[agent.supervisor_id], "circuit", None)
    return found


def look_at_circuit(state: State, prompt: LookAtCircuit, ctx: Context) -> list[Event]:
    """Open or close the circuit of an agent whose attempt has ended."""
    agent = state.agents.get(prompt.agent_id)
    if agent is None:
        return []
    if prompt.well:
        return [] if agent.circuit == "closed" else [_closed(agent, "an attempt of it was done")]
    policy = circuit_of(state, agent)
    if policy is None:
        return [] if agent.circuit == "closed" else [_closed(agent, "no circuit is set for it any more")]
    broke_again = agent.circuit == "half_open" and agent.failures_in_a_row > 0
    if broke_again or (agent.circuit == "closed" and agent.failures_in_a_row >= policy.failures):
        return [_opened(agent, cool_s(policy, agent.cool_s), ctx)]
    return []


def _opened(agent: Agent, seconds: float, ctx: Context) -> Event:
    return CircuitOpened(
        agent_id=agent.id, failures=agent.failures_in_a_row, cool_s=seconds, due_ms=ctx.now_ms + round(seconds * 1000)
    )


def _closed(agent: Agent, reason: str) -> Event:
    return CircuitClosed(agent_id=agent.id, reason=reason)


def closed_by_hand(agent: Agent) -> list[Event]:
    """Return what closes the circuit of an agent because an operator says so."""
    return [] if agent.circuit == "closed" else [_closed(agent, "an operator closed it")]


def cooled(state: State, timer: Timer, ctx: Context) -> list[Event]:
    """Let one attempt through."""
    return [CircuitHalfOpened(agent_id=timer.subject)]
