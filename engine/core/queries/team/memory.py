"""Who may read and write insights, and which versions of them there are."""

from engine.core.entities.memory import PRIVATE
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import fact
from engine.core.specs.memory import ALL, MemoryOptions, SegmentRights
from engine.core.state import Agent, Insight, State, Supervisor

_OPEN = SegmentRights()
_DEFAULTS = MemoryOptions()


@fact
class NewInsight:
    """What a writer asks for, besides the text."""

    segment: str
    supersedes: str | None = None
    """The insight whose newest version it takes the place of."""
    expect: int | None = None
    """The version that this one must have."""

    def conflicts_with(self, older: Insight) -> bool:
        """Return whether the newest version is another than expected."""
        return self.expect not in (None, older.version)


def root_of(state: State, supervisor_id: str) -> Supervisor:
    """Return the supervisor at the top of a team, to which its pool belongs."""
    *_, root = lineage_of(state, state.supervisors[supervisor_id])
    return root


def memory_options(root: Supervisor) -> MemoryOptions:
    """Return the size and the rights of a team's pool."""
    return root.options.memory or _DEFAULTS


def may_read(state: State, agent: Agent, insight: Insight) -> bool:
    """Return whether an agent may read an insight: a private one only its own, others by the rights of its team."""
    if insight.segment == PRIVATE:
        return insight.agent_id == agent.id
    root = root_of(state, agent.supervisor_id)
    return insight.supervisor_id == root.id and may_read_segment(state, agent, insight.segment)


def may_read_segment(state: State, agent: Agent, segment: str) -> bool:
    """Return whether an agent may read a segment of its team."""
    holders = _rights(state, agent, segment).read
    return ALL in holders or not _holder_names(state, agent).isdisjoint(holders)


def may_write(state: State, agent: Agent, segment: str) -> bool:
    """Return whether an agent may write to a segment of its team; always to `private`."""
    holders = _rights(state, agent, segment).write
    return segment == PRIVATE or ALL in holders or not _holder_names(state, agent).isdisjoint(holders)


def newest_version(state: State, insight: Insight) -> Insight:
    """Return the newest version of an insight that is not forgotten."""
    while (newer := state.insights.get(insight.superseded_by or "")) is not None:
        insight = newer
    return insight


def versions_of(state: State, insight: Insight) -> list[Insight]:
    """Return all versions of an insight that are not forgotten, the newest first."""
    versions = {}
    newer: Insight | None = newest_version(state, insight)
    while newer is not None and newer.id not in versions:
        versions[newer.id] = newer
        newer = state.insights.get(newer.supersedes or "")
    return [*versions.values()]


def refusal_of(state: State, root: Supervisor, agent: Agent | None, new: NewInsight) -> str | None:
    """Return why an insight may not be written, as one line; None if it may.

    Args:
        root: The supervisor at the top of the team.
        agent: Who writes it; None is an operator, who may write everything but private insights.
    """
    if agent is None and new.segment == PRIVATE:
        return "private insights are those of an agent; name another segment, such as team"
    if agent is not None and not may_write(state, agent, new.segment):
        return f"{agent.name} may not write to the segment {new.segment}; memory.segments of {root.name} says who may"
    if new.supersedes is None:
        return None if new.expect is None else "expect is a version of the insight that is superseded; name it too"
    old = state.insights.get(new.supersedes)
    is_known = old is not None and old.supervisor_id == root.id
    if old is None or not is_known or (old.segment == PRIVATE and (agent is None or old.agent_id != agent.id)):
        return f"there is no insight {new.supersedes[:40]!r} to supersede; it may be forgotten by now"
    if old.segment != new.segment:
        return f"{old.id} is in the segment {old.segment}, and so is what supersedes it; not in {new.segment}"
    return None


def replaced_by(state: State, new: NewInsight) -> Insight | None:
    """Return the newest version of what an insight supersedes, which it takes the place of: a chain never forks."""
    return None if new.supersedes is None else newest_version(state, state.insights[new.supersedes])


def insights_to_drop(
    state: State, insight_ids: list[str], limit: int, now_ms: int, *, kept_id: str | None = None
) -> list[str]:
    """Return the insights that make room for one more: expired, superseded, least important, oldest.

    Args:
        insight_ids: The insights of a pool or an agent, oldest first.
        limit: How many there may be; once it is reached a hundredth of it goes at once.
        kept_id: One of them that stays, because it is about to be superseded.
    """
    excess = len(insight_ids) + 1 - limit
    if excess <= 0:
        return []

    def rank(insight_id: str) -> tuple[bool, bool, float]:
        insight = state.insights[insight_id]
        is_expired = insight.expires_ms is not None and insight.expires_ms <= now_ms
        return not is_expired, insight.superseded_by is None, insight.importance

    return sorted((each for each in insight_ids if each != kept_id), key=rank)[: max(excess, limit // 100)]


def _rights(state: State, agent: Agent, segment: str) -> SegmentRights:
    return memory_options(root_of(state, agent.supervisor_id)).segments.get(segment, _OPEN)


def _holder_names(state: State, agent: Agent) -> set[str]:
    """Return the names whose rights an agent has: its own, and those of the supervisors above it.

    One that an agent made has the rights of its maker; its own name, which the maker chose, gives it nothing.
    """
    maker_id = agent.id
    if agent.origin is not None and agent.origin.kind == "recipe":
        maker_id = agent.origin.id
        while (recipe := state.recipes.get(maker_id)) is not None:
            maker_id = recipe.parent_id
    holder = state.agents.get(maker_id)
    above = lineage_of(state, state.supervisors[(holder or agent).supervisor_id])
    return {supervisor.name for supervisor in above} | ({holder.name} if holder is not None else set())
