"""The user's settings for every dashboard: colours, motion, name, keys. One TOML file.

    theme = "light"            # dark, light, contrast, colorblind
    motion = "reduced"         # full, reduced
    call = "desktop"           # bell, desktop, off: how you are told that something needs you
    [keys]
    swap = "w"                 # the name of an action, as `?` and the `:` line say it

A file that is wrong in one place counts in all others, and the place is said in one line.
"""

import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.clean import clean
from dashboard.theme import NAMES

_CHOICES: dict[str, Collection[str]] = {
    "theme": NAMES,
    "motion": ("full", "reduced"),
    "call": ("bell", "desktop", "off"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a user."""

    theme: str = "dark"
    motion: str = "full"
    call: str = "bell"
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of actions that differ from their own, by the names of the actions."""
    problem: str = ""
    """What in the file does not count and why, in one line."""

    @property
    def is_reduced(self) -> bool:
        """Whether little may move: by the settings, or by `TEXTUAL_ANIMATIONS=none`."""
        return self.motion == "reduced" or os.environ.get("TEXTUAL_ANIMATIONS") == "none"


def settings_file() -> Path | None:
    """Return where the settings are; None where this user has no home folder."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "quarterdeck" / "settings.toml"
    try:
        return Path.home() / ".config" / "quarterdeck" / "settings.toml"
    except RuntimeError:
        return None


def read_settings(path: Path | None, actions: Collection[str]) -> Settings:
    """Read the settings; without a file they are the defaults.

    Args:
        path: The file.
        actions: Names of the actions that may have another key.
    """
    if path is None:
        return Settings()
    try:
        said = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return Settings(problem=f"{path} does not count: {clean(str(error))}")
    found, wrong = _read(said, actions)
    about = f"{path}: {clean(wrong[0])}" + (f", and {len(wrong) - 1} more" if len(wrong) > 1 else "") if wrong else ""
    return Settings(found["theme"], found["motion"], found["call"], _keys(said, actions), about)


def _read(said: Mapping[str, object], actions: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Return the choices, and what is wrong with each that does not count."""
    found, wrong = {"theme": "dark", "motion": "full", "call": "bell"}, []
    for name, value in said.items():
        choices = _CHOICES.get(name)
        if choices is not None and isinstance(value, str) and value in choices:
            found[name] = value
        elif choices is not None:
            wrong.append(f"{name} is one of {', '.join(choices)}, not {value!r}")
        elif name != "keys":
            wrong.append(f"there is no setting {name!r}; there are {', '.join([*_CHOICES, 'keys'])}")
    keys = said.get("keys", {})
    if not isinstance(keys, Mapping):
        wrong.append("keys is a table of actions with their keys")
        return found, wrong
    kept = _keys(said, actions)
    for action, key in keys.items():
        if action not in actions:
            wrong.append(f"there is no action {action!r} to give a key; `?` names them")
        elif action not in kept:
            wrong.append(f"the key of {action!r} is {key!r}: a name such as w, W, ctrl+w or f5, and no other action's")
    return found, wrong


def _keys(said: Mapping[str, object], actions: Collection[str]) -> dict[str, str]:
    """Return keys that can be given, each to one action."""
    keys = said.get("keys", {})
    if not isinstance(keys, Mapping):
        return {}
    kept: dict[str, str] = {}
    for action, key in keys.items():
        if action in actions and isinstance(key, str) and key and not key.isspace() and key not in kept.values():
            kept[str(action)] = key
    return kept
