"""Fold: circuits of agents that keep failing."""

from engine.core.events import CircuitClosed, CircuitHalfOpened, CircuitOpened
from engine.core.fold.handlers import Handlers
from engine.core.fold.slots import refresh_agent
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.state import Agent, State, Task


def attempt_began(state: State, agent: Agent, task: Task) -> None:
    """Remember the attempt that a half-open circuit lets through; no other is."""
    if agent.circuit == "half_open" and agent.probe is None:
        agent.probe = task.id
        refresh_agent(state, agent)


def give_up_probe(state: State, agent: Agent, task: Task) -> None:
    """Let another attempt through where the one that was let through has ended or waits for work that it delegated.

    That work may be the agent's own: it would wait for the circuit, and the circuit for it.
    """
    if agent.probe == task.id:
        agent.probe = None
        refresh_agent(state, agent)


def count_failure(agent: Agent, task: Task) -> None:
    """Count a failed attempt; of an open circuit only the one that was let through counts."""
    if agent.circuit == "closed" or agent.probe == task.id:
        agent.failures_in_a_row += 1


def shut_no_more(state: State, agent: Agent) -> None:
    """Begin anew with a closed circuit."""
    agent.failures_in_a_row = 0
    agent.circuit, agent.cool_s, agent.probe = "closed", None, None
    drop_timer(state, "circuit", agent.id)


def _circuit_opened(state: State, event: CircuitOpened) -> None:
    agent = state.agents[event.agent_id]
    agent.circuit, agent.cool_s, agent.probe = "open", event.cool_s, None
    set_timer(state, "circuit", agent.id, event.due_ms)
    refresh_agent(state, agent)


def _circuit_half_opened(state: State, event: CircuitHalfOpened) -> None:
    agent = state.agents[event.agent_id]
    agent.circuit, agent.failures_in_a_row = "half_open", 0
    drop_timer(state, "circuit", agent.id)
    refresh_agent(state, agent)


def _circuit_closed(state: State, event: CircuitClosed) -> None:
    agent = state.agents[event.agent_id]
    shut_no_more(state, agent)
    refresh_agent(state, agent)


HANDLERS: Handlers = {
    CircuitOpened: _circuit_opened,
    CircuitHalfOpened: _circuit_half_opened,
    CircuitClosed: _circuit_closed,
}
