"""Fold: insights, who reads them, and parts of prompts."""

from engine.core.events import InsightsForgotten, PartRecorded, Remembered
from engine.core.fold.timers import drop_timer, note_id, set_timer
from engine.core.queries.team.memory import root_of
from engine.core.queries.team.tree import agents_of
from engine.core.records.values import stored_value
from engine.core.state import MAX_INSIGHTS, MAX_PARTS, MAX_READERS, PRIVATE, Agent, Insight, State, Supervisor


def _remembered(state: State, event: Remembered) -> None:
    note_id(state, event.insight_id)
    root_id, author = event.supervisor_id, event.author
    if event.segment == PRIVATE:
        agent = state.agents[event.agent_id or ""]
        if len(agent.insights) >= MAX_INSIGHTS:  # only in older journals; later ones say what was forgotten
            _drop(state, min(agent.insights, key=lambda insight_id: state.insights[insight_id].importance))
        agent.insights.append(event.insight_id)
        root_id, author = root_id or root_of(state, agent.supervisor_id).id, author or agent.name
    else:
        state.supervisors[root_id].insights[event.insight_id] = None
    state.insights[event.insight_id] = Insight(
        id=event.insight_id,
        agent_id=event.agent_id,
        author=author,
        supervisor_id=root_id,
        text=stored_value(event.text, state.seq, "text"),
        tags=list(event.tags),
        segment=event.segment,
        importance=event.importance,
        at_ms=event.at_ms,
        version=event.version,
        supersedes=event.supersedes,
        expires_ms=event.expires_ms,
        evidence=event.evidence,
    )
    older = state.insights.get(event.supersedes or "")
    if older is not None:
        older.superseded_by = event.insight_id
    if event.expires_ms is not None:
        set_timer(state, "expiry", event.insight_id, event.expires_ms)


def _insights_forgotten(state: State, event: InsightsForgotten) -> None:
    for insight_id in event.ids:
        _drop(state, insight_id)


def _drop(state: State, insight_id: str) -> None:
    """Drop an insight; the versions before and after it become neighbours, so that their chain stays one."""
    insight = state.insights.pop(insight_id)
    older, newer = state.insights.get(insight.supersedes or ""), state.insights.get(insight.superseded_by or "")
    if older is not None and newer is not None:
        older.superseded_by, newer.supersedes = newer.id, older.id
    if insight.segment == PRIVATE:
        state.agents[insight.agent_id or ""].insights.remove(insight_id)
    else:
        del state.supervisors[insight.supervisor_id].insights[insight_id]
    drop_timer(state, "expiry", insight_id)


def note_reads(state: State, reader_id: str, insight_ids: list[str]) -> None:
    """Count a step of an agent as a reader of the insights that it returned, as far as they are not forgotten."""
    for insight_id in insight_ids:
        insight = state.insights.get(insight_id)
        if insight is not None:
            insight.reads += 1
            insight.readers[:] = [*(each for each in insight.readers if each != reader_id), reader_id][-MAX_READERS:]


def forget_insights(state: State, owner: Agent | Supervisor) -> None:
    """Drop the private insights of an agent, or the pool of a team, that is removed."""
    for insight_id in owner.insights:
        del state.insights[insight_id]
        drop_timer(state, "expiry", insight_id)


def rehome_insights(state: State, member: Agent | Supervisor) -> None:
    """Let private insights belong to the team that their agents have moved to, and add a moved team's pool to its."""
    root = root_of(state, member.supervisor_id if isinstance(member, Agent) else member.id)
    for agent in agents_of(state, member.id):
        for insight in map(state.insights.__getitem__, agent.insights):
            insight.supervisor_id, insight.author = root.id, insight.author or agent.name
    if isinstance(member, Supervisor) and member.insights:
        for insight_id in member.insights:
            state.insights[insight_id].supervisor_id = root.id
        merged = sorted([*root.insights, *member.insights], key=lambda insight_id: int(insight_id[1:]))
        root.insights, member.insights = dict.fromkeys(merged), {}


def _part_recorded(state: State, event: PartRecorded) -> None:
    state.parts[event.hash] = state.seq
    if len(state.parts) > MAX_PARTS:
        state.parts.pop(next(iter(state.parts)))
