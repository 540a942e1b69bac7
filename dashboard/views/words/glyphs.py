"""The glyph, word and tone of every state, the same on all screens."""

from typing import NamedTuple

from engine.core.events import Event, RunFinished, StepRecorded
from engine.core.state import Agent, AgentStatus, Run, RunStatus, RunSummary, Task, TaskStatus


class Mark(NamedTuple):
    """How a state is shown."""

    glyph: str
    word: str
    tone: str

    @property
    def text(self) -> str:
        """Glyph and word."""
        return f"{self.glyph} {self.word}"


AGENT: dict[AgentStatus, Mark] = {
    AgentStatus.IDLE: Mark("○", "idle", "idle"),
    AgentStatus.BUSY: Mark("●", "busy", "busy"),
    AgentStatus.DRAINING: Mark("◐", "draining", "draining"),
    AgentStatus.PAUSED: Mark("‖", "paused", "paused"),
    AgentStatus.ERROR: Mark("✕", "error", "error"),
    AgentStatus.STOPPED: Mark("■", "stopped", "stopped"),
}
TASK: dict[TaskStatus, Mark] = {
    TaskStatus.WAITING: Mark("◌", "waiting", "waiting"),
    TaskStatus.RUNNING: Mark("●", "running", "busy"),
    TaskStatus.RETRYING: Mark("↻", "retrying", "draining"),
    TaskStatus.PREEMPTED: Mark("▽", "preempted", "paused"),
    TaskStatus.IN_DOUBT: Mark("?", "in doubt", "error"),
    TaskStatus.DONE: Mark("✓", "done", "done"),
    TaskStatus.FAILED: Mark("✕", "failed", "error"),
    TaskStatus.CANCELLED: Mark("■", "cancelled", "stopped"),
    TaskStatus.SKIPPED: Mark("–", "skipped", "stopped"),
}
RUN: dict[RunStatus, Mark] = {
    RunStatus.RUNNING: Mark("●", "running", "busy"),
    RunStatus.PAUSED: Mark("‖", "paused", "paused"),
    RunStatus.SUSPENDED: Mark("‖", "suspended", "paused"),
    RunStatus.DONE: Mark("✓", "done", "done"),
    RunStatus.FAILED: Mark("✕", "failed", "error"),
    RunStatus.CANCELLED: Mark("■", "cancelled", "stopped"),
    RunStatus.SKIPPED: Mark("–", "skipped", "stopped"),
}

EVENT: dict[str, tuple[str, str]] = {
    "attempt_done": ("✓", "done"),
    "attempt_failed": ("✕", "error"),
    "task_failed": ("✕", "error"),
    "model_failed": ("✕", "error"),
    "agent_broke": ("✕", "error"),
    "supervisor_failed": ("✕", "error"),
    "command_refused": ("✕", "error"),
    "attempt_lost": ("✕", "error"),
    "attempt_started": ("●", "busy"),
    "delegated": ("◔", "waiting"),
    "step_recorded": ("⚙", "tool"),
    "agent_swapped": ("◆", "accent"),
    "swap_rolled_back": ("◆", "accent"),
    "strategy_switched": ("◇", "accent"),
    "agent_paused": ("‖", "paused"),
    "run_paused": ("‖", "paused"),
    "supervisor_paused": ("‖", "paused"),
    "escalated": ("⚑", "attention"),
    "escalation_answered": ("⚑", "attention"),
    "steered": ("⚑", "accent"),
    "command_applied": ("▸", "accent"),
    "run_submitted": ("▸", "accent"),
    "retry_scheduled": ("↻", "draining"),
    "task_failed_over": ("↻", "draining"),
}
_OTHER_EVENT = ("·", "muted")
_RARE_EVENTS = (
    "agent_swapped",
    "swap_rolled_back",
    "strategy_switched",
    "task_failed",
    "agent_paused",
    "supervisor_paused",
    "run_paused",
    "escalated",
    "run_submitted",
)
MARKS: dict[str, str] = {kind: EVENT[kind][0] for kind in _RARE_EVENTS}
"""Marks of rare events in time bars, meters and lanes, by kind."""
MARK_TONES: dict[str, str] = dict(EVENT[kind] for kind in _RARE_EVENTS)
"""Their tones, by mark."""
MARK_PRECEDENCE = "⚑✕◆◇‖▸✓"
"""Of several marks in one cell, the first of these is drawn."""


def event_glyph(kind: str, event: Event) -> tuple[str, str]:
    """Return the glyph of an event, and its tone."""
    if isinstance(event, RunFinished):
        glyph, _, tone = RUN[event.status]
        return glyph, tone
    if isinstance(event, StepRecorded) and event.what != "tool":
        return ("✦", "waiting") if event.what == "model" else _OTHER_EVENT
    return EVENT.get(kind, _OTHER_EVENT)


ASKS = Mark("⚑", "asks", "attention")
"""Mark of a task or agent that waits for the answer of a person."""
PEOPLE = ("ask", "approval")
"""Reasons of a parked attempt that only a person can resolve."""
SUSPENDED = RUN[RunStatus.SUSPENDED]
"""Mark of work that was under way when its engine ended; the next engine resumes it."""
_STOPPING = Mark("◐", "stopping", "draining")


def agent_mark(agent: Agent, *, working: bool = True) -> Mark:
    """Return the mark of an agent; suspended if it was at work when its engine ended.

    An agent whose attempts all wait for delegated tasks, or for a person, is not at work itself.
    """
    if not working and agent.status in (AgentStatus.BUSY, AgentStatus.DRAINING):
        return SUSPENDED
    if agent.status is AgentStatus.BUSY and not agent.running:
        return Mark("◔", "busy", "waiting")
    return AGENT[agent.status]


def run_mark(run: Run | RunSummary, *, working: bool) -> Mark:
    """Return the mark of a run; an open one is suspended without an engine, and waits for the runs that it follows."""
    if isinstance(run, RunSummary):
        return RUN[run.status]
    if not working:
        return RUN[RunStatus.SUSPENDED]
    if run.cancelling:
        return _STOPPING
    return TASK[TaskStatus.WAITING] if run.after and run.status is RunStatus.RUNNING else RUN[run.status]


def task_mark(task: Task, *, working: bool = True) -> Mark:
    """Return the mark of a task; a task whose attempt is parked is not at work itself."""
    if task.status is TaskStatus.RUNNING and not working:
        return SUSPENDED
    if task.status is TaskStatus.RUNNING and task.attempt is not None:
        if task.attempt.stopping:
            return _STOPPING
        if task.attempt.parked_for in PEOPLE:
            return ASKS
        if task.attempt.parked and task.attempt.parked_for is not None:
            return Mark("◔", "waiting", "busy")
        if task.attempt.parked:
            return Mark("◔", "delegated", "busy")
    return TASK[task.status]
