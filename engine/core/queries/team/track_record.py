"""Track records of agents and teams: outcomes and usage of their attempts, by category of the request."""

from engine.core.queries.team.tree import agents_of, inherited_option
from engine.core.state import Agent, State, Supervisor, Task, TrackRecord


def track_record_of(state: State, member: Agent | Supervisor) -> dict[str, TrackRecord]:
    """Return the track record of an agent, or of all agents under a team together, by category.

    The key "" stands for work without a category, and for the oldest categories beyond the limit.
    """
    if isinstance(member, Agent):
        return member.track_record
    record_by_category: dict[str, TrackRecord] = {}
    for agent in agents_of(state, member.id):
        for category, record in agent.track_record.items():
            total = record_by_category.get(category)
            record_by_category[category] = record if total is None else _sum(total, record)
    return record_by_category


def track_record_category(state: State, supervisor: Supervisor, task: Task) -> str | None:
    """Return the category for which the lead of `task` sees track records of workers; None if it sees none."""
    if not inherited_option(state, supervisor, "track_record", False):
        return None
    return state.runs[task.run_id].category or ""


def mean_of(record: TrackRecord) -> tuple[float, float | None]:
    """Return the mean time in seconds and the mean cost in USD of ended attempts; None if the cost is unknown.

    The mean cost is unknown if a part of the cost is: it would be too low to compare.
    """
    attempts = record.done + record.failed + record.cancelled
    usage, share = record.usage, max(1, attempts)
    cost_usd = None if usage.cost_usd is None or usage.unpriced else float(usage.cost_usd) / share
    return usage.time_ms / 1000 / share, cost_usd


def _sum(record: TrackRecord, other: TrackRecord) -> TrackRecord:
    return TrackRecord(
        done=record.done + other.done,
        failed=record.failed + other.failed,
        cancelled=record.cancelled + other.cancelled,
        usage=record.usage.plus(other.usage),
    )
