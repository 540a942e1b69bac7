"""What an agent or a task does this second, in one line: the words of its activity, and for how long."""

from dashboard.views.drawing.lines import cut_path
from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import elapsed, remaining
from dashboard.views.words.glyphs import ACTIVITY
from engine.core.activities import SILENT_KINDS, ActivityKind, CurrentActivity
from engine.core.records.records import copy_with
from engine.core.state import Agent, Task

_TIMELESS: frozenset[ActivityKind] = frozenset({"suspended", "away", "error", "silent", "stopped", "idle"})
"""Kinds whose words have the time, or which last for no matter how long."""
_QUIET: frozenset[ActivityKind] = frozenset({"delegated", "slot", "stopped", "queued", "idle"})
"""Kinds in which others work."""
_LONG_MS = 5_000
"""Time from which on the time of a piece of work is shown."""
_BRIEF = (("waits for ", "for "), ("held by ", ""), ("held: ", ""), ("asks: ", ""), ("backing off", "tries again in"))
"""Beginnings of words and what is left of them beside the state."""
_TIME_WIDTH = 6
_MIN_WORDS_WIDTH = 8
"""Minimum cells of the words beside a time."""


def now_of_agent(
    agent: Agent, counts: Digest, now_ms: int, *, width: int | None = None, beside_state: bool = False
) -> Cell:
    """Return what an agent does at the moment; arguments as in `now_cell`."""
    activity = counts.activities.of_agent(agent)
    own_words = activity.words.removeprefix(f"{agent.name} is ")  # its row says already who it is
    activity = copy_with(activity, words=own_words) if own_words != activity.words else activity
    return now_cell(activity, now_ms, width=width, beside_state=beside_state)


def now_of_task(task: Task, counts: Digest, now_ms: int, *, beside_state: bool = False) -> Cell:
    """Return what an open task does, or why it waits; empty if it has ended."""
    return Cell("") if task.ended else now_cell(counts.activities.of_task(task), now_ms, beside_state=beside_state)


def silent_since_ms(agent: Agent, counts: Digest) -> int | None:
    """Return from when on an agent at work has been silent; None if it is not."""
    activity = counts.activities.of_agent(agent) if agent.running else None
    return activity.since_ms if activity is not None and activity.kind in SILENT_KINDS else None


def now_cell(activity: CurrentActivity, now_ms: int, *, width: int | None = None, beside_state: bool = False) -> Cell:
    """Return the words of an activity, and for how long or how much longer it goes on.

    Args:
        activity: What an agent or a task does.
        now_ms: The time of the look, UTC milliseconds.
        width: Maximum in cells: the words are cut, not the time behind them.
        beside_state: Whether a column beside it has the state, which need not be repeated.
    """
    mark = ACTIVITY[activity.kind]
    tone = "" if activity.kind == "working" else "muted" if activity.kind in _QUIET else mark.tone
    words, took = activity.words, _time_of(activity, now_ms)
    if beside_state:
        words = _without_state(words)
    if width is not None:
        took = took if len(took) + 2 + _MIN_WORDS_WIDTH <= width else ""
        words = cut_path(words, width - (len(took) + 2 if took else 0))
    return Cell(f"{words}  {took}".strip() if took else words, tone)


def _without_state(words: str) -> str:
    """Return words beside a column that has the state: it says already that the agent waits, or is held."""
    for start, brief in _BRIEF:
        if words.startswith(start) or f": {start}" in words:  # of a member: `deployer: asks: deploy canary.toml`
            words = words.replace(start, brief, 1)
            break
    return words.replace(", a person is asked", "")


def _time_of(activity: CurrentActivity, now_ms: int) -> str:
    """Return the time left of a wait that ends by itself, else the time since it began."""
    if activity.kind in _TIMELESS or activity.words.startswith("silent "):
        return ""
    if activity.until_ms is not None and activity.kind != "person":
        return remaining(activity.until_ms - now_ms, max_width=_TIME_WIDTH)
    since_ms = now_ms - activity.since_ms if activity.since_ms is not None else 0
    return elapsed(since_ms, max_width=_TIME_WIDTH) if since_ms >= _LONG_MS or activity.kind != "working" else ""
