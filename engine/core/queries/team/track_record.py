"""What came of the work of agents and teams, by the category of the requests."""

from engine.core.queries.team.tree import agents_of, inherited_option
from engine.core.state import Agent, State, Supervisor, Task, TrackRecord


def track_record_of(state: State, member: Agent | Supervisor) -> dict[str, TrackRecord]:
    """Return the track record of an agent, or of all agents under a team together, by category.

    The key "" stands for work without a category, and for those that were too many to keep apart.
    """
    if isinstance(member, Agent):
        return member.track_record
    record_by_category: dict[str, TrackRecord] = {}
    for agent in agents_of(state, member.id):
        for category, record in agent.track_record.items():
            record_by_category[category] = (
                _sum(record_by_category[category], record) if category in record_by_category else record
            )
    return record_by_category


def track_record_category(state: State, supervisor: Supervisor, task: Task) -> str | None:
    """Return the category in which a model that leads `task` is told of its workers' track records; None: it is not."""
    if not inherited_option(state, supervisor, "track_record", False):
        return None
    return state.runs[task.run_id].category or ""


def mean_of(record: TrackRecord) -> tuple[float, float | None]:
    """Return the mean time, in seconds, and the mean cost in USD of attempts that have ended; None where unknown.

    The mean is unknown where a part of the cost is: compared with those of others it would be too little.
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
