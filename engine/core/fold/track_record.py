"""Fold: outcomes of an agent's attempts by category of work.

Beyond `MAX_CATEGORIES` the oldest category is merged into the one without a name, so that the sums over all categories
stay equal to the agent's own counts and usage.
"""

from engine.core.state import MAX_CATEGORIES, Agent, State, Task, TrackRecord


def record_for_update(state: State, task: Task | None, agent: Agent) -> TrackRecord:
    """Return the record of an agent for the category of `task`, added if missing; without a task, for no category."""
    category = "" if task is None else state.runs[task.run_id].category or ""
    record = agent.track_record.get(category)
    return record if record is not None else _add_record(agent, category)


def _add_record(agent: Agent, category: str) -> TrackRecord:
    records = agent.track_record
    named = [name for name in records if name]
    if category and len(named) >= MAX_CATEGORIES:
        oldest = records.pop(named[0])
        if "" not in records:
            records[""] = oldest
        else:
            other = records[""]
            other.done += oldest.done
            other.failed += oldest.failed
            other.cancelled += oldest.cancelled
            other.usage = other.usage.plus(oldest.usage)
    record = records[category] = TrackRecord()
    return record
