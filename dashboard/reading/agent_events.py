"""The events of an agent and of the task that it works on, for its page."""

from collections.abc import Sequence

from dashboard.reading.newest import HISTORY, Newest
from dashboard.views.event_log import Entry
from dashboard.views.view_state import ViewState
from engine.core.events import AttemptStarted
from engine.core.state import Agent
from store import Reader

MAX_TASK_EVENTS = 400
"""Newest events of one task that are read."""


class AgentEvents:
    """The newest events of an agent, and of its task those of other agents too."""

    def __init__(self, agent_id: str) -> None:
        self._agent_id = agent_id
        self.task_id: str | None = None
        """The task that the agent started last of those that are open, else the last one that it worked on."""
        self._own, self._of_task = Newest(HISTORY), Newest(MAX_TASK_EVENTS)

    def choose_task(self, agent: Agent | None, entries: Sequence[Entry]) -> None:
        """Set the task of an agent to its current one, else to that of the newest of its events that has one."""
        current_ids = [*agent.parked, *agent.running] if agent is not None else []
        self.task_id = current_ids[-1] if current_ids else _newest_task_id(entries) or self.task_id

    def task_needing_input(self, view: ViewState) -> str | None:
        """Return the task if the state has dropped it, and its input with it."""
        return None if self.task_id in view.state.tasks else self.task_id

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        """Read the events, the oldest first; called in a thread."""
        own = self._own.up_to(view.state.seq, reader, view.names, agent_id=self._agent_id)
        task = view.state.tasks.get(self.task_id or "")
        last = next((entry.event for entry in own[::-1] if getattr(entry.event, "task_id", None)), None)
        run_id, task_id = (getattr(last, "run_id", None), getattr(last, "task_id", None))
        if task is not None:
            run_id, task_id = task.run_id, task.id
        if task_id is None or (task is not None and task.attempts == 1 and _has_attempt_start(own, task.id)):
            return own
        of_task = self._of_task.up_to(view.state.seq, reader, view.names, run_id=run_id, task_id=task_id)
        return sorted({entry.seq: entry for entry in (*own, *of_task)}.values(), key=lambda entry: entry.seq)


def _newest_task_id(entries: Sequence[Entry]) -> str | None:
    """Return the task of the newest event with one."""
    task_ids = (getattr(entry.event, "task_id", None) for entry in reversed(entries))
    return next((task_id for task_id in task_ids if task_id), None)


def _has_attempt_start(entries: Sequence[Entry], task_id: str) -> bool:
    """Return whether events include the start of an attempt at a task."""
    return any(isinstance(entry.event, AttemptStarted) and entry.event.task_id == task_id for entry in entries)
