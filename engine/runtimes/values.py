"""Values at the edge to the user's code: the JSON that it returns, and what the exceptions that it raises say."""

import math
import os
import re
from dataclasses import dataclass

from engine.core.fact import JsonValue
from engine.errors import AgentCrashed, CallFailed, NotJson, ProcessDied, Unusable
from engine.runtimes.child import traits_of, words_of

MAX_DEPTH = 100
"""How deep lists and objects may be nested."""
MAX_CHARACTERS = 64 * 1024 * 1024
"""How long all texts of one value may be together."""
MAX_DIGITS = 4000
"""Python reads no longer numbers back from JSON."""
ERROR_CHARACTERS = 500
MOST_TYPES = 32
"""How many classes of one exception are looked at."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_SECRET_CHARACTERS = 8


def json_value(value: object) -> JsonValue:
    """Return `value` as plain JSON: tuples as lists, subclasses as what they are made of, half characters replaced.

    Raises:
        NotJson: If something in it is not JSON (NaN, bytes, sets, keys that are not texts, other objects), or it is
            too deep or too long; the message says where.
    """
    if type(value) is str and value.isascii() and len(value) <= MAX_CHARACTERS:
        return value
    return _Copy().of(value, "", 0)


class _Copy:
    """One value on its way; counts what it holds."""

    def __init__(self) -> None:
        self._characters = 0

    def of(self, value: object, path: str, depth: int) -> JsonValue:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, int):
            return _whole(int(value), path)
        if isinstance(value, float):
            return _number(float(value), path)
        if depth >= MAX_DEPTH:
            raise NotJson(f"{path[:80] or 'the value'} is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            return {
                self._key(key, path): self.of(item, f"{path}.{key}" if path else str(key), depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.of(item, f"{path}[{place}]", depth + 1) for place, item in enumerate(value)]
        raise NotJson(f"{path[:80] or 'the value'} is of type {type(value).__name__}, which JSON cannot hold")

    def _text(self, value: str, path: str) -> str:
        text = str.__str__(value)
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise NotJson(
                f"the texts are longer than {MAX_CHARACTERS // 1024 // 1024} MiB at {path[:80] or 'the value'}"
            )
        return text if text.isascii() else clean(text)

    def _key(self, key: object, path: str) -> str:
        if not isinstance(key, str):
            raise NotJson(f"{path[:80] or 'the value'} has the key {key!r:.40}, and keys in JSON are texts")
        return self._text(key, path)


def _whole(value: int, path: str) -> int:
    if value.bit_length() > MAX_DIGITS * math.log2(10):
        raise NotJson(f"{path[:80] or 'the value'} has more than {MAX_DIGITS} digits")
    return value


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise NotJson(f"{path[:80] or 'the value'} is {value}, which JSON cannot hold")
    return value


def clean(text: str) -> str:
    """Return `text` with every half of a character (a lone surrogate) replaced, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(error: BaseException) -> str:
    """Return what `error` says in one line, without the values of secrets that the environment holds."""
    line = next((line.strip() for line in words_of(error).splitlines() if line.strip()), "")
    line = "".join(character if character.isprintable() else " " for character in clean(line[: ERROR_CHARACTERS * 4]))
    return without_secrets(line)[:ERROR_CHARACTERS]


def with_class(error: BaseException) -> str:
    """Return what `error` says in one line that begins with its class."""
    name, line = type(error).__name__, one_line(error)
    return line if line.startswith(name) else f"{name}: {line}"


def without_secrets(text: str) -> str:
    """Return `text` with the name in place of each secret of the environment."""
    for name, value in os.environ.items():
        if len(value) >= _SECRET_CHARACTERS and _SECRET_NAME.search(name):
            text = text.replace(value, f"[{name}]")
    return text


def type_name(error: BaseException) -> str:
    """Return the name of the class of `error`, also of one from another process."""
    return error.error_type if isinstance(error, CallFailed) else type(error).__name__


@dataclass(frozen=True, slots=True)
class Traits:
    """What an exception says of itself, for failure policies to go by."""

    types: list[str]
    """Names of its class and the bases of that."""
    retryable: bool | None
    """Whether trying again is worth it, where it says so."""
    retry_after_s: float | None
    """How long it asks to be left alone, in seconds."""
    crashed: bool
    """The agent broke down, not the task alone."""


def traits(error: BaseException) -> Traits:
    """Return what `error` says of itself, also one that was raised in another process."""
    said = error.traits if isinstance(error, CallFailed) else traits_of(error)
    types = [clean(str(name))[:100] for name in said.get("types") or ()][:MOST_TYPES]
    retryable, retry_after_s = said.get("retryable"), said.get("retry_after_s")
    # A runtime that is unusable by the time that it executes was usable when it was checked.
    crashed = isinstance(error, ProcessDied | AgentCrashed | Unusable) or AgentCrashed.__name__ in types
    return Traits(
        types=types,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_s=retry_after_s if isinstance(retry_after_s, float) else None,
        crashed=crashed,
    )
