"""Decides on insights, of agents and of people, and on parts of prompts."""

from functools import partial
from typing import Any

from engine.core.commands import Forget, Remember
from engine.core.decide.work.attempts import find_attempt
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint, attempt_event
from engine.core.entities.memory import MAX_INSIGHTS, PRIVATE, Evidence
from engine.core.errors import Refused
from engine.core.events import Event, InsightsForgotten, PartRecorded, Remembered, StepRecorded
from engine.core.queries.targets import find_supervisor, id_in
from engine.core.queries.team.memory import (
    NewInsight,
    insights_to_drop,
    memory_options,
    refusal_of,
    replaced_by,
    root_of,
)
from engine.core.records.records import JsonValue
from engine.core.records.values import pluralize
from engine.core.signals import InsightNoted, PartTold
from engine.core.state import Agent, Insight, State, Supervisor, Timer


def insight_noted(state: State, signal: InsightNoted, ctx: DecisionContext) -> list[Event]:
    """Write an insight of an agent, once for each step key; nothing if it may not write there."""
    attempt = find_attempt(state, signal)
    task = state.tasks.get(signal.task_id)
    if attempt is None or task is None or attempt.agent_id is None or signal.key in task.steps:
        return []
    agent = state.agents[attempt.agent_id]
    root = root_of(state, agent.supervisor_id)
    new = NewInsight(segment=signal.segment, supersedes=signal.supersedes, expect=signal.expect)
    if refusal_of(state, root, agent, new) is not None:
        return []  # the attempt finds out why by itself
    older = replaced_by(state, new)
    step = partial(attempt_event, StepRecorded, attempt, signal, name="remember", duration_ms=0)
    if older is not None and new.conflicts_with(older):
        return [step(output={"conflict": older.id})]
    evidence = Evidence(run_id=task.run_id, task_id=task.id, step=signal.key)
    insight = _remembered(
        state, root, signal, older, ctx,
        author=agent.name, run_id=task.run_id, task_id=task.id, agent_id=agent.id, evidence=evidence,
    )  # fmt: skip
    output: JsonValue = insight.insight_id
    if insight.version > 1:  # a repeated attempt gets it from here, as the insight may be forgotten by then
        output = {"insight": insight.insight_id, "version": insight.version}
    return [*_make_room(state, root, agent, insight, ctx), step(output=output), insight]


def remember(state: State, command: Remember, ctx: DecisionContext) -> Decided:
    """Write an insight of a person or a program into the pool of a team; a conflict is an answer without an event."""
    root = root_of(state, find_supervisor(state, command.supervisor).id)
    old_id = None if command.supersedes is None else id_in(command.supersedes)
    new = NewInsight(segment=command.segment, supersedes=old_id, expect=command.expect)
    refusal = refusal_of(state, root, None, new)
    if refusal is not None:
        raise Refused(refusal)
    older = replaced_by(state, new)
    if older is not None and new.conflicts_with(older):
        summary = f"nothing written: {older.id} by {older.author} is version {older.version}, not {command.expect}"
        return Decided(events=[], summary=summary, result={"conflict": older.id})
    insight = _remembered(state, root, command, older, ctx, author=ctx.sender or "operator")
    return Decided(
        events=[*_make_room(state, root, None, insight, ctx), insight],
        summary=f"{insight.insight_id} is in {command.segment} of {root.name}",
        result={"insight_id": insight.insight_id},
    )


def forget(state: State, command: Forget, ctx: DecisionContext) -> Decided:
    """Forget insights, private ones too."""
    ids = list(dict.fromkeys(map(id_in, command.insights)))
    unknown = next((insight_id for insight_id in ids if insight_id not in state.insights), None)
    if unknown is not None or not ids:
        raise Refused(f"there is no insight {unknown[:40]!r}" if unknown is not None else "name an insight, such as m3")
    return Decided(
        events=[InsightsForgotten(ids=ids, why="person")], summary=f"{pluralize(len(ids), 'insight')} forgotten"
    )


def expiry_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Forget all insights whose time is over."""
    timers = (timer for timer in state.timers.values() if timer.kind == "expiry" and timer.due_ms <= ctx.now_ms)
    return [InsightsForgotten(ids=[timer.subject for timer in timers], why="expired")]


def part_told(state: State, signal: PartTold, ctx: DecisionContext) -> list[Event]:
    """Record a part of a prompt, once for each content."""
    return [] if signal.hash in state.parts else [PartRecorded(hash=signal.hash, value=signal.value)]


def _remembered(
    state: State,
    root: Supervisor,
    asked: InsightNoted | Remember,
    older: Insight | None,
    ctx: DecisionContext,
    **writer: Any,
) -> Remembered:
    return Remembered(
        supervisor_id=root.id,
        insight_id=Mint(state)("m"),
        text=asked.text,
        tags=[*asked.tags],
        segment=asked.segment,
        importance=asked.importance,
        expires_ms=None if asked.expires_s is None else ctx.now_ms + round(asked.expires_s * 1000),
        version=1 if older is None else older.version + 1,
        supersedes=None if older is None else older.id,
        **writer,
    )


def _make_room(
    state: State, root: Supervisor, agent: Agent | None, insight: Remembered, ctx: DecisionContext
) -> list[Event]:
    older_id = insight.supersedes
    if agent is not None and insight.segment == PRIVATE:
        ids = insights_to_drop(state, agent.insights, MAX_INSIGHTS, ctx.now_ms, kept_id=older_id)[:1]
    else:
        ids = insights_to_drop(state, [*root.insights], memory_options(root).max, ctx.now_ms, kept_id=older_id)
    return [InsightsForgotten(ids=ids, why="room")] if ids else []
