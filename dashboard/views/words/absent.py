"""What is said of an object that a state does not have: it is gone, or at that moment of the past not there yet."""

from dashboard.views.words.keyed import fill_keys
from engine.core.state import State

_WORDS = {
    "a": ("this agent has left the team", "agent"),
    "s": ("this supervisor has left the team", "supervisor"),
    "r": ("this run is no longer remembered; its events are in the journal", "run"),
}
"""By the letter of its id: what is said once it is gone, and what it is."""


_OVER = "this task is over with its run; on Runs <retry:r> submits the request again"


def is_issued(state: State, key: str) -> bool:
    """Tell whether an id was given to something by then; ids are never used twice."""
    number = key[1:]
    return number.isdecimal() and 0 < int(number[:18]) <= state.minted.get(key[:1], 0)


def absence(state: State, key: str) -> str:
    """Return why there is nothing to show of an agent, a supervisor or a run."""
    message, kind = _WORDS.get(key[:1], ("this is not here any more", "object"))
    return message if is_issued(state, key) else f"there is no such {kind} yet"


def untouchable(state: State, key: str) -> str:
    """Return why nothing can be done about what a row stands for; empty where it stands for nothing that ever was."""
    if not is_issued(state, key):
        return ""
    return fill_keys(_OVER) if key.startswith("t") else absence(state, key)
