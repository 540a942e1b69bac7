"""`DynamicSupervisorState`: what programs read of a supervisor at one moment, in one value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.core.activities.workflow import WorkflowState
from engine.core.records.values import StoredValue, TextRef, as_text
from engine.core.specs.spec import AgentCapability, AgentSpec
from engine.core.state import Discovery, State, Supervisor
from engine.supervisor.metrics import ActiveAgent, SupervisorMetrics


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """A request of a conversation, or the answer to it."""

    conversation: str
    run_id: str
    role: Literal["user", "assistant"]
    text: str | None
    """None for more than 120 characters, which the state does not hold; `status(run_id)` returns an answer whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSupervisorState:
    """A supervisor at one moment; it does not change with the team."""

    messages: tuple[ConversationMessage, ...]
    """Its conversations, the one used last at the end: the last 50 exchanges of each, then its open requests."""
    active_agents: Mapping[str, ActiveAgent]
    """Its own agents by name."""
    agent_capabilities: Mapping[str, AgentCapability]
    """Their capabilities by name."""
    discovered_agents: Mapping[str, ActiveAgent]
    """Those of them whose spec was found in a catalogue or by a search."""
    available_specs: Mapping[str, AgentSpec]
    """Specs of the program's registry and the team's, from which agents can be added, by name."""
    supervisor_metrics: SupervisorMetrics
    """Metrics of everything under it."""
    discovery_cache: Mapping[str, Discovery]
    """Its last ten searches for agents outside the team, by the task that they were for, the newest last."""
    workflow_state: WorkflowState
    """What its open work, and that of everything under it, is at."""


def messages_of(state: State, supervisor: Supervisor) -> Iterator[ConversationMessage]:
    """Yield the messages of a supervisor's conversations."""
    open_runs = [run for run in state.runs.values() if run.supervisor_id == supervisor.id]
    for name, conversation in supervisor.conversations.items():
        for _, exchange in sorted(conversation.exchanges.items()):
            yield ConversationMessage(name, exchange.run_id, "user", _text(exchange.request))
            answer = exchange.error if exchange.output is None else exchange.output
            yield ConversationMessage(name, exchange.run_id, "assistant", _text(answer))
        for run in open_runs:
            if run.conversation == name:
                yield ConversationMessage(name, run.id, "user", _text(run.request))


def _text(value: StoredValue) -> str | None:
    return None if value is None or isinstance(value, TextRef) else as_text(value)
