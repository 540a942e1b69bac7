"""Messages about an object that is not in a state: it is gone, or did not exist yet at that moment of the past."""

from dashboard.views.words.keyed import fill_keys
from engine.core.state import State

_WORDS = {
    "a": ("this agent has left the team", "agent"),
    "s": ("this supervisor has left the team", "supervisor"),
    "r": ("this run is no longer remembered; its events are in the journal", "run"),
}
"""By the first letter of an id: the message once the object is gone, and the noun for it."""
_OVER = "this task is over with its run; on Runs <retry:r> submits the request again"


def is_issued(state: State, key: str) -> bool:
    """Return whether an id has been issued; ids are never reused."""
    number = key[1:]
    return number.isdecimal() and 0 < int(number[:18]) <= state.minted.get(key[:1], 0)


def absence(state: State, key: str) -> str:
    """Return why there is nothing to show of an agent, a supervisor or a run."""
    message, kind = _WORDS.get(key[:1], ("this is not here any more", "object"))
    return message if is_issued(state, key) else f"there is no such {kind} yet"


def untouchable(state: State, key: str) -> str:
    """Return why an object can no longer be changed; empty for a key that is not an issued id."""
    if not is_issued(state, key):
        return ""
    return fill_keys(_OVER) if key.startswith("t") else absence(state, key)
