"""Why tasks of agents failed for good in a simulated history, and what of a team would have changed it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.events import AgentAdded, AttemptFailed, AttemptStarted, Event, TaskFailed
from engine.core.values import preview

REMOVED = "was removed and no other agent"
OVER_TIME = "took longer than its time limit"
CUT_OFF = ("deadline of", "budget of")


@dataclass(frozen=True, slots=True)
class Cause:
    """What made tasks of one agent fail."""

    agent: str
    kind: str
    """`time limit`, `removed`, `deadline or budget`, or the class of the exception."""
    example: str
    """What was said of one of them."""
    tried: int
    """Attempts that such a task had before it failed, at the most."""

    @property
    def advice(self) -> str:
        """What of the team would have changed it."""
        if self.kind == "removed":
            return "give a second agent one of its specialties"
        if self.kind == "deadline or budget":
            return "raise the limit, or let more agents share the work"
        if self.kind == "time limit":
            return f"raise timeout_s of {self.agent}, or give it on_failure: [{{retry: 2}}]"
        if self.tried <= 1:
            return f"give {self.agent} on_failure: [{{retry: 2}}]"
        return f"let {self.agent} go on after its retries: failover, escalate or skip"


def causes_in(events: Iterable[Event]) -> Counter[Cause]:
    """Return how many tasks failed for good, by what made them fail."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    names: dict[str, str] = {}
    last: dict[str, AttemptFailed] = {}
    worked: dict[str, str] = {}
    for event in events:
        if isinstance(event, AgentAdded):
            names[event.agent_id] = event.name
        elif isinstance(event, AttemptStarted):
            worked[event.task_id] = names.get(event.agent_id or "", "")
        elif isinstance(event, AttemptFailed):
            last[event.task_id] = event
        elif isinstance(event, TaskFailed):
            failed = last.get(event.task_id)
            gone = event.error.partition(" ")[0] if REMOVED in event.error else "the team"
            agent = worked.get(event.task_id) or gone
            tried = failed.attempt if failed is not None else 0
            found.setdefault((agent, _kind(event.error, failed)), []).append((preview(event.error, 80), tried))
    return Counter(
        {
            Cause(agent, kind, tasks[0][0], max(tried for _, tried in tasks)): len(tasks)
            for (agent, kind), tasks in found.items()
        }
    )


def _kind(error: str, failed: AttemptFailed | None) -> str:
    if REMOVED in error:
        return "removed"
    if error.startswith(CUT_OFF):
        return "deadline or budget"
    if error.startswith(OVER_TIME):
        return "time limit"
    return failed.error_type if failed is not None else "not begun"
