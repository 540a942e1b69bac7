"""Excerpts of values for people to read later: bounded in size, and without secrets.

The engine never reads an excerpt back: it compares a step's input by its hash, and the effect of a command is in its
events.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from engine.core.records.records import JsonValue, fields

CHARACTERS = 2_000
"""Approximate limit on all texts, names and numbers of one value together."""
TEXT_CHARACTERS = 400
"""Limit on one text."""
ITEMS = 20
"""Limit on one list or object."""
DEPTH = 8
HIDDEN = "[hidden]"
_SECRET = re.compile(r"(key|token|secret|password|passwd|credential|authorization)s?$", re.IGNORECASE)
"""Names of fields whose texts are hidden."""
_CUT = re.compile(r"… \([\d,]+ characters\)\Z|\A… [\d,]+ more\Z|\A…\Z")
"""How a text, a list and what is nested too deeply are cut."""
_NO_SECRETS = frozenset({"call_key", "idempotency_key"})


def shown(value: Any, clean: Callable[[str], str] = str) -> JsonValue:
    """Return the excerpt of `value`, JSON or a record: long texts and long lists are cut.

    Args:
        value: A record becomes an object of the fields that are not at their default.
        clean: Removes secrets from a text, before the text is cut.
    """
    return _Short(clean).of(value, 0)


def args_of(command: Any) -> dict[str, JsonValue]:
    """Return the excerpt of a command: its fields that are not at their default."""
    return _Short(str).record(command, 0)


def cut(excerpt: JsonValue) -> bool:
    """Tell whether an excerpt lacks something of its value."""
    if isinstance(excerpt, str):
        return excerpt == HIDDEN or _CUT.search(excerpt) is not None
    if isinstance(excerpt, list):
        return any(map(cut, excerpt))
    return isinstance(excerpt, dict) and ("…" in excerpt or any(map(cut, excerpt.values())))


class _Short:
    """Makes the excerpt of one value; counts the characters that are left."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._left = CHARACTERS
        self._clean = clean

    def of(self, value: Any, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._text(self._clean(value))
        if value is None or isinstance(value, bool | float):
            self._left -= 8
            return value
        if isinstance(value, int):
            self._left -= 8
            return value if -(2**63) < value < 2**63 else self._text(f"{value:.3e}" if abs(value) < 10**300 else "…")
        if depth >= DEPTH:
            return "…"
        if isinstance(value, Struct):
            return self.record(value, depth)
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            found: list[JsonValue] = []
            for item in value:
                if len(found) == ITEMS or self._left <= 0:
                    found.append(f"… {len(value) - len(found):,} more")
                    break
                found.append(self.of(item, depth + 1))
            return found
        return self._text(str(value))

    def record(self, record: Any, depth: int) -> dict[str, JsonValue]:
        said = {one.name: getattr(record, one.name) for one in fields(type(record))}
        tag = type(record).__struct_config__.tag if depth else None
        told = {} if tag is None else {"type": tag}
        defaults = {one.name: _default(one) for one in fields(type(record))}
        return self._object({**told, **{name: each for name, each in said.items() if each != defaults[name]}}, depth)

    def _object(self, value: dict[str, Any], depth: int) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {}
        for key, item in value.items():
            if len(found) == ITEMS or self._left <= 0:
                found["…"] = f"{len(value) - len(found):,} more"
                break
            name = self._clean(str(key))[:TEXT_CHARACTERS]
            self._left -= len(name)
            is_secret = isinstance(item, str) and name not in _NO_SECRETS and _SECRET.search(name)
            found[name] = HIDDEN if is_secret else self.of(item, depth + 1)
        return found

    def _text(self, text: str) -> str:
        room = max(0, min(TEXT_CHARACTERS, self._left))
        self._left -= min(len(text), room)
        return text if len(text) <= room else f"{text[:room]}… ({len(text):,} characters)"


def _default(field: Any) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default
