"""Decides on insights of agents and on parts of prompts."""

from engine.core.decide.work.attempts import find_attempt
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint, attempt_event
from engine.core.events import Event, PartRecorded, Remembered, StepRecorded
from engine.core.signals import InsightNoted, PartTold
from engine.core.state import State


def insight_noted(state: State, signal: InsightNoted, ctx: DecisionContext) -> list[Event]:
    """Store an insight of an agent, once for each step key."""
    attempt = find_attempt(state, signal)
    if attempt is None or attempt.agent_id is None or signal.key in state.tasks[signal.task_id].steps:
        return []
    insight_id = Mint(state)("m")
    step = attempt_event(StepRecorded, attempt, signal, name="remember", output=insight_id, duration_ms=0)
    insight = Remembered(
        task_id=signal.task_id,
        agent_id=attempt.agent_id,
        insight_id=insight_id,
        text=signal.text,
        tags=signal.tags,
        importance=signal.importance,
    )
    return [step, insight]


def part_told(state: State, signal: PartTold, ctx: DecisionContext) -> list[Event]:
    """Record a part of a prompt, once for each content."""
    return [] if signal.hash in state.parts else [PartRecorded(hash=signal.hash, value=signal.value)]
