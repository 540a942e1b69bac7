"""Decides on insights, of agents and of people, and on parts of prompts."""

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
    conflict_of,
    insights_to_drop,
    memory_options,
    newest_version,
    refusal_of,
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
    newer = conflict_of(state, new)
    older = None if newer is not None else _superseded_by(state, new)
    insight_id, version = Mint(state)("m"), 1 if older is None else older.version + 1
    output: JsonValue = insight_id
    if newer is not None:
        output = {"conflict": newer.id}
    elif version > 1:  # a repeated attempt gets it from here, as the insight may be forgotten by then
        output = {"insight": insight_id, "version": version}
    step = attempt_event(StepRecorded, attempt, signal, name="remember", output=output, duration_ms=0)
    if newer is not None:
        return [step]
    insight = Remembered(
        run_id=task.run_id,
        task_id=task.id,
        agent_id=agent.id,
        supervisor_id=root.id,
        author=agent.name,
        insight_id=insight_id,
        text=signal.text,
        tags=signal.tags,
        segment=signal.segment,
        importance=signal.importance,
        expires_ms=_expiry_ms(signal.expires_s, ctx),
        evidence=Evidence(run_id=task.run_id, task_id=task.id, step=signal.key),
        version=version,
        supersedes=None if older is None else older.id,
    )
    return [*_make_room(state, root, agent, insight, ctx), step, insight]


def remember(state: State, command: Remember, ctx: DecisionContext) -> Decided:
    """Write an insight of a person or a program into the pool of a team; a conflict is an answer without an event."""
    root = root_of(state, find_supervisor(state, command.supervisor).id)
    old_id = None if command.supersedes is None else id_in(command.supersedes)
    new = NewInsight(segment=command.segment, supersedes=old_id, expect=command.expect)
    refusal = refusal_of(state, root, None, new)
    if refusal is not None:
        raise Refused(refusal)
    newer = conflict_of(state, new)
    if newer is not None:
        summary = f"nothing written: {newer.id} by {newer.author} is version {newer.version}, not {command.expect}"
        return Decided(events=[], summary=summary, result={"conflict": newer.id})
    older = _superseded_by(state, new)
    insight = Remembered(
        supervisor_id=root.id,
        author=ctx.sender or "operator",
        insight_id=Mint(state)("m"),
        text=command.text,
        tags=[*command.tags],
        segment=command.segment,
        importance=command.importance,
        expires_ms=_expiry_ms(command.expires_s, ctx),
        version=1 if older is None else older.version + 1,
        supersedes=None if older is None else older.id,
    )
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


def _expiry_ms(expires_s: float | None, ctx: DecisionContext) -> int | None:
    return None if expires_s is None else ctx.now_ms + round(expires_s * 1000)


def _superseded_by(state: State, new: NewInsight) -> Insight | None:
    """Return the newest version of what an insight supersedes, so that a chain never forks."""
    return None if new.supersedes is None else newest_version(state, state.insights[new.supersedes])


def _make_room(
    state: State, root: Supervisor, agent: Agent | None, insight: Remembered, ctx: DecisionContext
) -> list[Event]:
    older_id = insight.supersedes
    if agent is not None and insight.segment == PRIVATE:
        ids = insights_to_drop(state, agent.insights, MAX_INSIGHTS, ctx.now_ms, kept_id=older_id)[:1]
    else:
        ids = insights_to_drop(state, [*root.insights], memory_options(root).max, ctx.now_ms, kept_id=older_id)
    return [InsightsForgotten(ids=ids, why="room")] if ids else []
