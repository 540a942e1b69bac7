"""The table of all actions: keys, words of the `:` line, their completion and the help come from it.

Each action is in the file of its subject, with its handler; the `:` line in `command_line.py`, the help in `help.py`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from textual.binding import Binding

from dashboard.actions.action import Action
from dashboard.actions.agents import AGENT_ACTIONS
from dashboard.actions.application import APPLICATION_ACTIONS
from dashboard.actions.catalogue import CATALOGUE_ACTIONS
from dashboard.actions.inspection import INSPECTION_ACTIONS
from dashboard.actions.memory import MEMORY_ACTIONS
from dashboard.actions.recipes import RECIPE_ACTIONS
from dashboard.actions.specs import SPEC_ACTIONS
from dashboard.actions.team import TEAM_ACTIONS
from dashboard.actions.time_travel import TIME_TRAVEL_ACTIONS
from dashboard.actions.work import WORK_ACTIONS
from dashboard.views.words.keyed import write_keys

ACTIONS: tuple[Action, ...] = (
    *AGENT_ACTIONS,
    *SPEC_ACTIONS,
    *WORK_ACTIONS,
    *TEAM_ACTIONS,
    *CATALOGUE_ACTIONS,
    *MEMORY_ACTIONS,
    *RECIPE_ACTIONS,
    *TIME_TRAVEL_ACTIONS,
    *INSPECTION_ACTIONS,
    *APPLICATION_ACTIONS,
)
"""In the order of the help."""
BY_NAME = {action.name: action for action in ACTIONS}
OWN_KEYS = {action.name: action.key for action in ACTIONS}
BY_KEY = {action.key: action for action in ACTIONS if action.key}
_OTHER_KEYS: dict[str, str] = {}
"""Keys that a user has given, by the names of the actions."""
WORDS = {action.name: action for action in ACTIONS if action.about}
"""Actions with a command word."""


def bindings() -> list[Binding]:
    """Return the keys of every action."""
    return [
        # An action without a key is bound to a name that no key has, so that users can give it a key.
        Binding(
            action.key or f"key of {action.name}",
            f"act('{action.name}')",
            action.label or action.name,
            show=False,
            id=action.name,
        )
        for action in ACTIONS
    ]


def give_keys(keys: Mapping[str, str], signs: Mapping[str, str] = MappingProxyType({})) -> None:
    """Use the user's keys for lookup and display; Textual's keymap binds them.

    Args:
        keys: Textual's names of the keys, by the names of the actions.
        signs: The keys as texts write them.
    """
    _OTHER_KEYS.clear()
    _OTHER_KEYS.update(keys)
    BY_KEY.clear()
    BY_KEY.update({key_of(action): action for action in ACTIONS if key_of(action)})
    write_keys(signs)


def key_of(action: Action) -> str:
    """Return Textual's name of an action's key; empty for none."""
    return _OTHER_KEYS.get(action.name, action.key)


def display_key(action: Action) -> str:
    """Return how the help writes the key of an action."""
    return key_of(action) or f":{action.name}" if action.name in _OTHER_KEYS else action.key_text or action.key
