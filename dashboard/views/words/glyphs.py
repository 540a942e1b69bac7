"""The glyph, word and tone of every state, the same on all screens."""

from typing import NamedTuple

from engine.core.activities import Activities, ActivityKind
from engine.core.events import Event, RunFinished, StepRecorded
from engine.core.state import Run, RunStatus, RunSummary, Task, TaskStatus


class Mark(NamedTuple):
    """How a state is shown."""

    glyph: str
    word: str
    tone: str

    @property
    def text(self) -> str:
        """Glyph and word."""
        return f"{self.glyph} {self.word}"


ACTIVITY: dict[ActivityKind, Mark] = {
    "suspended": Mark("‖", "suspended", "paused"),
    "away": Mark("‖", "away", "paused"),
    "error": Mark("✕", "error", "error"),
    "stuck": Mark("!", "stuck", "error"),
    "person": Mark("⚑", "asks", "attention"),
    "doubt": Mark("?", "in doubt", "error"),
    "budget": Mark("$", "budget", "attention"),
    "silent": Mark("⋯", "silent", "draining"),
    "pausing": Mark("◐", "pausing", "paused"),
    "draining": Mark("◐", "draining", "draining"),
    "working": Mark("●", "working", "busy"),
    "rate_limit": Mark("◷", "limited", "draining"),
    "backoff": Mark("↻", "backoff", "draining"),
    "delegated": Mark("◔", "delegated", "waiting"),
    "slot": Mark("◌", "slot", "waiting"),
    "circuit": Mark("⊘", "circuit", "draining"),
    "paused": Mark("‖", "paused", "paused"),
    "stopped": Mark("■", "stopped", "stopped"),
    "queued": Mark("◌", "queued", "waiting"),
    "idle": Mark("○", "idle", "idle"),
}
"""What agents, supervisors and open tasks do."""
TIME: dict[str, Mark] = {
    "model": Mark("⣿", "model", "busy"),
    "tool": Mark("▓", "tool", "accent"),
    "code": Mark("█", "code", "busy-before"),
    "slot": Mark("◌", "slot", "waiting"),
    "rate_limit": Mark("◷", "rate limit", "warn"),
    "backoff": Mark("↻", "back-off", "error"),
    "budget": Mark("$", "budget", "attention"),
    "person": Mark("┅", "person", "attention"),
    "delegated": Mark("╌", "delegated", "muted"),
    "queue": Mark("·", "queue", "waiting"),
    "paused": Mark("‖", "paused", "paused"),
    "suspended": Mark("╳", "no engine", "stopped"),
}
"""What time goes into, in lanes and bars; the glyphs differ, for those who see no colours."""
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


ASKS = ACTIVITY["person"]
_STOPPING = Mark("◐", "stopping", "draining")


def run_mark(run: Run | RunSummary, activities: Activities) -> Mark:
    """Return the mark of a run: what its tasks do, or how it ended."""
    if isinstance(run, RunSummary):
        return RUN[run.status]
    mark = ACTIVITY[activities.of_run(run).kind]
    return _STOPPING if run.cancelling and mark is not ACTIVITY["suspended"] else mark


def task_mark(task: Task, activities: Activities) -> Mark:
    """Return the mark of a task: what it does, or how it ended."""
    return TASK[task.status] if task.ended else ACTIVITY[activities.kind_of_task(task)]
