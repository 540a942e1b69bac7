"""Excerpts of values for people to read later: bounded in size, and without secrets.

The engine never reads an excerpt back: it compares a step's input by its hash, and the effect of a command is in its
events.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from engine.core.records.records import JsonValue, fields

MAX_CHARACTERS = 2_000
"""Approximate limit on all texts, names and numbers of one value together."""
MAX_TEXT_CHARACTERS = 400
"""Limit on one text."""
MAX_ITEMS = 20
"""Limit on one list or object."""
MAX_DEPTH = 8
HIDDEN = "[hidden]"
_SECRET = re.compile(r"(key|token|secret|password|passwd|credential|authorization)s?$", re.IGNORECASE)
"""Names of fields whose texts are hidden."""
_CUT = re.compile(r"… \([\d,]+ characters\)\Z|\A… [\d,]+ more\Z|\A…\Z")
"""Matches the marks of a shortened text, list or object, and of a value nested too deeply."""
_NO_SECRETS = frozenset({"call_key", "idempotency_key"})


def excerpt_of(value: Any, clean: Callable[[str], str] = str) -> JsonValue:
    """Return the excerpt of JSON or a record: long parts are cut, after `clean` has removed secrets from texts."""
    return _ExcerptMaker(clean).make(value, 0)


def args_of(command: Any) -> dict[str, JsonValue]:
    """Return the excerpt of a command: its fields that are not at their default."""
    return _ExcerptMaker(str).record(command, 0)


def is_truncated(excerpt: JsonValue) -> bool:
    """Return whether an excerpt is incomplete."""
    if isinstance(excerpt, str):
        return excerpt == HIDDEN or _CUT.search(excerpt) is not None
    if isinstance(excerpt, list):
        return any(map(is_truncated, excerpt))
    return isinstance(excerpt, dict) and ("…" in excerpt or any(map(is_truncated, excerpt.values())))


class _ExcerptMaker:
    """Makes the excerpt of one value, within a limit on all characters together."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._chars_left = MAX_CHARACTERS
        self._clean = clean

    def make(self, value: Any, depth: int) -> JsonValue:
        if isinstance(value, str):
            return self._text(self._clean(value))
        if value is None or isinstance(value, bool | float):
            self._chars_left -= 8
            return value
        if isinstance(value, int):
            self._chars_left -= 8
            return value if -(2**63) < value < 2**63 else self._text(f"{value:.3e}" if abs(value) < 10**300 else "…")
        if depth >= MAX_DEPTH:
            return "…"
        if isinstance(value, Struct):
            return self.record(value, depth)
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            items: list[JsonValue] = []
            for item in value:
                if len(items) == MAX_ITEMS or self._chars_left <= 0:
                    items.append(f"… {len(value) - len(items):,} more")
                    break
                items.append(self.make(item, depth + 1))
            return items
        return self._text(str(value))

    def record(self, record: Any, depth: int) -> dict[str, JsonValue]:
        values = {field.name: getattr(record, field.name) for field in fields(type(record))}
        tag = type(record).__struct_config__.tag if depth else None
        tag_field = {} if tag is None else {"type": tag}
        defaults = {field.name: _default(field) for field in fields(type(record))}
        changed_values = {name: value for name, value in values.items() if value != defaults[name]}
        return self._object({**tag_field, **changed_values}, depth)

    def _object(self, value: dict[str, Any], depth: int) -> dict[str, JsonValue]:
        excerpt: dict[str, JsonValue] = {}
        for key, item in value.items():
            if len(excerpt) == MAX_ITEMS or self._chars_left <= 0:
                excerpt["…"] = f"{len(value) - len(excerpt):,} more"
                break
            name = self._clean(str(key))[:MAX_TEXT_CHARACTERS]
            self._chars_left -= len(name)
            is_secret = isinstance(item, str) and name not in _NO_SECRETS and _SECRET.search(name)
            excerpt[name] = HIDDEN if is_secret else self.make(item, depth + 1)
        return excerpt

    def _text(self, text: str) -> str:
        limit = max(0, min(MAX_TEXT_CHARACTERS, self._chars_left))
        self._chars_left -= min(len(text), limit)
        return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def _default(field: Any) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default
