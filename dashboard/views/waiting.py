"""Why a task waits, in a few words: what `engine.core.waiting` finds, with the time that is left."""

from dashboard.views.amounts import remaining
from dashboard.views.digest import Digest
from engine.core.state import State, Task


def why(state: State, task: Task, counts: Digest, now_ms: int) -> str:
    """Return what a task waits for; empty where it does not wait."""
    wait = counts.waits(state).why(task)
    if wait is None:
        return ""
    if wait.until_ms is None:
        return wait.words
    left = remaining(wait.until_ms - now_ms)
    return f"{wait.words} {left}" if wait.why == "retry" else f"{wait.words}, {left} left"
