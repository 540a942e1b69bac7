"""Fold: insights of agents, and parts of prompts."""

from engine.core.events import PartRecorded, Remembered
from engine.core.fold.timers import note_id
from engine.core.records.values import stored_value
from engine.core.state import MAX_INSIGHTS, MAX_PARTS, Agent, Insight, State


def _remembered(state: State, event: Remembered) -> None:
    note_id(state, event.insight_id)
    agent = state.agents[event.agent_id]
    if len(agent.insights) >= MAX_INSIGHTS:
        least_important = min(agent.insights, key=lambda insight_id: state.insights[insight_id].importance)
        agent.insights.remove(least_important)
        del state.insights[least_important]
    agent.insights.append(event.insight_id)
    state.insights[event.insight_id] = Insight(
        id=event.insight_id,
        agent_id=agent.id,
        text=stored_value(event.text, state.seq, "text"),
        tags=list(event.tags),
        importance=event.importance,
        at_ms=event.at_ms,
    )


def forget_insights(state: State, agent: Agent) -> None:
    """Drop the insights of an agent that is removed."""
    for insight_id in agent.insights:
        del state.insights[insight_id]


def _part_recorded(state: State, event: PartRecorded) -> None:
    state.parts[event.hash] = state.seq
    if len(state.parts) > MAX_PARTS:
        state.parts.pop(next(iter(state.parts)))
