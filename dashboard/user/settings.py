"""The user's settings for every dashboard: colours, motion, name, keys. One TOML file.

    theme = "light"            # dark, light, contrast, colorblind
    motion = "reduced"         # full, reduced
    call = "desktop"           # bell, desktop, off: how you are told that something needs you
    [keys]
    swap = "W"                 # the name of an action, as the palette (ctrl+p) says it

Invalid values are ignored and reported in one line; the rest of the file is used.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from dashboard.clean import clean
from dashboard.user.key_labels import label_of, textual_name_of
from dashboard.user.theme import NAMES
from dashboard.views.teams import from_home
from engine.platform.folders import NoHome, home_folder

_CHOICES: dict[str, Collection[str]] = {
    "theme": NAMES,
    "motion": ("full", "reduced"),
    "call": ("bell", "desktop", "off"),
}
_FIXED = frozenset(
    {
        *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "j", "k", "g", "G"),
        *("enter", "space", "asterisk", "tab", "shift+tab", "escape"),
        *("colon", "slash", "less_than_sign", "greater_than_sign", "comma", "full_stop"),
        *("ctrl+b", "ctrl+f", "ctrl+c", "ctrl+p", "ctrl+q", "ctrl+z"),
        *("ctrl+left", "ctrl+right", "ctrl+up", "ctrl+down"),
    }
)
"""Keys that cannot be reassigned: they move, type or quit on every screen."""
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})
_NAMED = frozenset(key.value for key in Keys if not key.value.startswith("<")) | {*KEY_NAME_REPLACEMENTS.values()}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a user."""

    theme: str = "dark"
    motion: str = "full"
    call: str = "bell"
    keys: Mapping[str, str] = field(default_factory=dict)
    """Changed keys by the names of the actions; empty for an action that lost its key to another one."""
    problem: str = ""
    """The ignored part of the file and the reason, in one line."""

    @property
    def key_signs(self) -> dict[str, str]:
        """Labels of the changed keys; for an action without a key, its command word."""
        return {action: label_of(key) or f":{action}" for action, key in self.keys.items()}

    @property
    def is_reduced(self) -> bool:
        """Whether motion is reduced, by the settings or by `TEXTUAL_ANIMATIONS=none`."""
        return self.motion == "reduced" or os.environ.get("TEXTUAL_ANIMATIONS") == "none"


def own_file(variable: str, in_home: str, name: str) -> Path | None:
    """Return the path of a file of this user; None without a home folder.

    Args:
        variable: Environment variable of the folder, from the XDG Base Directory Specification.
        in_home: The default folder, relative to the home folder.
    """
    folder = Path(os.environ.get(variable, ""))
    try:
        return (folder if folder.is_absolute() else home_folder() / in_home) / "quarterdeck" / name
    except NoHome:
        return None


def settings_file() -> Path | None:
    """Return the path of the settings; None if this user has no home folder."""
    return own_file("XDG_CONFIG_HOME", ".config", "settings.toml")


def settings_path_text() -> str:
    """Return the path of the settings with `~`; empty if this user has no home folder."""
    path = settings_file()
    return from_home(str(path), str(Path.home())) if path is not None else ""


def read_settings(path: Path | None, actions: Mapping[str, str]) -> Settings:
    """Read the settings; defaults without a file.

    Args:
        actions: Default keys by action, none or several separated by commas.
    """
    if path is None:
        return Settings()
    try:
        if path.exists() and not path.is_file():
            return Settings(problem=f"{path} is ignored: it is not a regular file")
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        return Settings(problem=_ignored_notice(path, error))
    import tomllib  # needed only with a file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Settings(problem=_ignored_notice(path, error))
    choices, wrong = _choices(document)
    keys, about_keys = _keys(document.get("keys", {}), actions)
    wrong += about_keys
    about = f"{path}: {clean(wrong[0])}" + (f", and {len(wrong) - 1} more" if len(wrong) > 1 else "") if wrong else ""
    return Settings(choices["theme"], choices["motion"], choices["call"], keys, about)


def _ignored_notice(path: Path, error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{path} is ignored: {clean(reason or str(error))}"


def _choices(document: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Return the valid choices, and errors of the others."""
    settings, wrong = {"theme": "dark", "motion": "full", "call": "bell"}, []
    for name, value in document.items():
        choices = _CHOICES.get(name)
        if choices is not None and isinstance(value, str) and value in choices:
            settings[name] = value
        elif choices is not None:
            wrong.append(f"{name} is one of {', '.join(choices)}, not {value!r}")
        elif name != "keys":
            wrong.append(f"there is no setting {name!r}; there are {', '.join([*_CHOICES, 'keys'])}")
    return settings, wrong


def _keys(table: object, actions: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the changed keys of actions, and errors of invalid ones."""
    if not isinstance(table, Mapping):
        return {}, ["keys is a table of actions with their keys"]
    given_keys: dict[str, str] = {}
    wrong = []
    for action, key in table.items():
        names = _parse_keys(key)
        if action not in actions:
            wrong.append(f"there is no action {action!r} to give a key; ctrl+p names them")
        elif not names or any(name in used_keys.split(",") for name in names for used_keys in given_keys.values()):
            wrong.append(f"the key of {action!r} is {key!r}: a name such as w, W, ctrl+w or f5, and no other action's")
        elif fixed := _FIXED.intersection(names):
            wrong.append(f"the key of {action!r} is {key!r}: {min(fixed)} stays what it is, give it another one")
        else:
            given_keys[str(action)] = ",".join(names)
    left, lost = _remaining_keys(given_keys, actions)
    return given_keys | left, wrong + lost


def _remaining_keys(given_keys: Mapping[str, str], actions: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the remaining keys of actions that lost some to others, and errors for actions without any."""
    takers = {key: action for action, keys in given_keys.items() for key in keys.split(",")}
    left, lost = {}, []
    for action, own in actions.items():
        names = own.split(",")
        taken_keys = [key for key in names if key in takers]
        if action in given_keys or not taken_keys:
            continue
        left[action] = ",".join(key for key in names if key not in takers)
        if not left[action]:
            lost.append(
                f"{taken_keys[0]} is the key of {takers[taken_keys[0]]!r} now, and {action!r} has none; give it one too"
            )
    return left, lost


def _parse_keys(key: object) -> list[str]:
    """Return Textual's names of keys; empty if one of them is invalid."""
    if not isinstance(key, str):
        return []
    names = [textual_name_of(name) if len(name) == 1 else name for name in map(str.strip, key.split(","))]
    return names if all(map(_is_key, names)) else []


def _is_key(name: str) -> bool:
    *modifiers, base = name.split("+")
    if not _MODIFIERS.issuperset(modifiers) or (modifiers and base.isupper()):
        return False
    return name in _NAMED or base in _NAMED or (len(base) == 1 and base.isprintable()) or bool(key_to_character(base))
