"""Converts values from user code: its JSON values, and its exceptions to messages and traits, without secrets."""

import math
import os
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, TypedDict

import msgspec

from engine.core.queries.work.excerpts import excerpt_of
from engine.core.records.records import JsonValue
from engine.core.records.values import Usage, as_text
from engine.errors import AgentCrashed, CallFailed, NotJson, ProcessDied, TooManyValues, Unusable
from engine.platform.redaction import MIN_WORD_CHARACTERS, credentials_in, hide, is_secret_name, sent_variables
from engine.runtimes.functions.child import error_text, traits_of

MAX_DEPTH = 100
"""Levels of nested lists and objects."""
MAX_CHARACTERS = 64 * 1024 * 1024
"""Total length of all texts of a value."""
MAX_VALUES = 200_000
"""Items of lists and objects in a value."""
MAX_DIGITS = 4000
"""Digits of a whole number: Python does not parse longer ones from JSON."""
ERROR_CHARACTERS = 500
SHOWN_CHARACTERS = 1_000_000
"""Characters of the JSON that a person is shown for a decision; it is in the state while the question is open."""
MAX_TYPES = 32
"""Classes of an exception that are recorded."""

_SECRET_CHARACTERS = 8
_LAST: dict[str, Any] = {"environment": None, "sent": frozenset(), "secrets": []}
"""The environment at the last call of `_secrets`, and its secrets: reading a variable decodes it, 0.4 µs each."""


def json_value(value: object, *, most_values: int = MAX_VALUES) -> JsonValue:
    """Return `value` as plain JSON: tuples as lists, subclasses as their base types, lone surrogates replaced.

    Args:
        most_values: Limit on the values in it. Each takes 0.3 to 1 µs, mostly in the engine's loop.

    Raises:
        TooManyValues: If it contains more values.
        NotJson: If something in it is not JSON (NaN, bytes, sets, keys that are not texts, other objects), or it is
            too deep or too long; the message says where.
    """
    if type(value) is str and value.isascii() and len(value) <= MAX_CHARACTERS:
        return value
    try:
        return _Copy(most_values).copy(value, 0)
    except _Fault as fault:
        raise NotJson(f"{fault.path.removeprefix('.') or 'the value'} {fault}") from None


def copy_json(value: JsonValue) -> JsonValue:
    """Return a copy of a JSON value, whose lists and objects user code may change."""
    return msgspec.to_builtins(value) if isinstance(value, list | dict) else value


class _Copy:
    """Copies one value, and counts its parts.

    The path of a fault is built while the exception propagates; keeping the path of each value takes twice as long.
    """

    def __init__(self, most_values: int) -> None:
        self._characters = 0
        self._most_values = self._values_left = most_values

    def copy(self, value: object, depth: int) -> JsonValue:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return _checked_int(int(value))
        if isinstance(value, float):
            return _checked_float(float(value))
        if isinstance(value, dict | list | tuple):
            self._values_left -= len(value)
            if self._values_left < 0:
                raise TooManyValues(self._most_values)
            if depth >= MAX_DEPTH:
                raise _Fault(f"is nested deeper than {MAX_DEPTH} levels")
            return self._object(value, depth + 1) if isinstance(value, dict) else self._list(value, depth + 1)
        raise _Fault(f"is of type {type(value).__name__}, which JSON cannot hold")

    def _object(self, value: dict[Any, Any], depth: int) -> JsonValue:
        copy: dict[str, JsonValue] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _Fault(f"has the key {key!r:.40}, and keys in JSON are texts")
            try:
                copy[self._text(key)] = self.copy(item, depth)
            except _Fault as fault:
                fault.path = f".{key}{fault.path}"[:_PATH_CHARACTERS]
                raise
        return copy

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int) -> JsonValue:
        copy: list[JsonValue] = []
        try:
            for item in value:
                copy.append(self.copy(item, depth))
        except _Fault as fault:
            fault.path = f"[{len(copy)}]{fault.path}"[:_PATH_CHARACTERS]
            raise
        return copy

    def _text(self, value: str) -> str:
        text = str.__str__(value)
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise _Fault(f"is where the texts are longer than {MAX_CHARACTERS // 1024 // 1024} MiB")
        return text if text.isascii() else clean(text)


_PATH_CHARACTERS = 80


class _Fault(Exception):
    """A value that cannot be represented in JSON; `path` is its path in the copied value."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path = ""


def _checked_int(value: int) -> int:
    if value.bit_length() > MAX_DIGITS * math.log2(10):
        raise _Fault(f"has more than {MAX_DIGITS} digits")
    return value


def _checked_float(value: float) -> float:
    if not math.isfinite(value):
        raise _Fault(f"is {value}, which JSON cannot hold")
    return value


AMOUNT_LIMIT = 10**12
"""Limit on tokens, and on dollars."""


class Amounts(TypedDict, total=False):
    """Reported usage; an amount that is None or missing is unknown."""

    tokens_in: int | None
    """Input tokens of a model."""
    tokens_out: int | None
    """Output tokens."""
    tokens_cached: int | None
    """Those of `tokens_in` that the provider read from its cache."""
    cost_usd: Decimal | float | str | None
    """Cost in US dollars."""


def usage_of(amounts: Amounts) -> Usage:
    """Return reported amounts as usage.

    Raises:
        ValueError: If the name of an amount is unknown, or an amount is negative or out of range.
    """
    unknown = [name for name in amounts if name not in Amounts.__annotations__]
    if unknown:
        raise ValueError(f"there is no amount {unknown[0]!r}; there are {', '.join(Amounts.__annotations__)}")
    tokens_in, tokens_out = amounts.get("tokens_in"), amounts.get("tokens_out")
    tokens_cached = amounts.get("tokens_cached")
    for name, tokens in (("tokens_in", tokens_in), ("tokens_out", tokens_out), ("tokens_cached", tokens_cached)):
        if tokens is not None and not (isinstance(tokens, int) and 0 <= tokens < AMOUNT_LIMIT):
            raise ValueError(f"{name} must be a whole number, 0 or more, not {tokens!r}")
    if (tokens_cached or 0) > (tokens_in or 0):
        raise ValueError(f"tokens_cached is a part of tokens_in, and {tokens_cached} is more than {tokens_in}")
    cost = None
    cost_usd = amounts.get("cost_usd")
    if cost_usd is not None:
        try:
            cost = Decimal(str(cost_usd))
        except InvalidOperation:
            raise ValueError(f"cost_usd must be an amount of dollars, not {cost_usd!r}") from None
        if not (cost.is_finite() and 0 <= cost < AMOUNT_LIMIT and abs(cost.adjusted()) < 30):
            raise ValueError(f"cost_usd must be an amount of dollars, 0 or more, not {cost_usd!r}")
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, cost_usd=cost)


def clean(text: str) -> str:
    """Return `text` with lone surrogates replaced, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(error: BaseException) -> str:
    """Return the message of `error` as one line, without secrets of the environment."""
    # Secrets are removed first: one that is cut or split would no longer be recognized.
    lines = without_secrets(error_text(error)).splitlines()
    line = next((line.strip() for line in lines if line.strip()), "")[:ERROR_CHARACTERS]
    return "".join(character if character.isprintable() else " " for character in clean(line))


def with_class(error: BaseException) -> str:
    """Return the message of `error` as one line that begins with its class."""
    name = type(error).__name__
    line = one_line(error)
    return line if line.startswith(name) else f"{name}: {line}"


def without_secrets(text: str, *, is_end: bool = False) -> str:
    """Return `text` with each secret of the environment replaced by the name of its variable.

    Args:
        text: Output of a program, a tool or a provider.
        is_end: `text` is only the end of the output, and may begin within a secret.
    """
    secrets = _secrets()
    for name, value in secrets if is_end and text else ():
        if text in value:
            return f"[{name}]"
        lengths = range(min(len(text), len(value)), _SECRET_CHARACTERS - 1, -1)
        text = next((f"[{name}]{text[length:]}" for length in lengths if value.endswith(text[:length])), text)
    return _hide(secrets, text)


def shown_input(value: JsonValue) -> JsonValue:
    """Return an excerpt of the input of a step for people, without secrets (`excerpts.excerpt_of`)."""
    return excerpt_of(value, partial(_hide, _secrets()))


def shown_whole(value: JsonValue) -> tuple[JsonValue, bool]:
    """Return a whole value for a person's decision, without secrets, and whether it contained any.

    Raises:
        ValueError: If it is too long, or two of its keys become equal without their secrets.
    """
    characters = len(as_text(value))
    if characters > SHOWN_CHARACTERS:
        raise ValueError(f"its {characters:,} characters are more than the {SHOWN_CHARACTERS:,} that can be shown")
    shown_value = _hide_in_value(_secrets(), value)
    return shown_value, shown_value != value


def _hide_in_value(secrets: list[tuple[str, str]], value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _hide(secrets, value)
    if isinstance(value, list):
        return [_hide_in_value(secrets, item) for item in value]
    if not isinstance(value, dict):
        return value
    items = {_hide(secrets, key): _hide_in_value(secrets, item) for key, item in value.items()}
    if len(items) < len(value):
        raise ValueError("two of its keys are the same without the secrets in them")
    return items


def _hide(secrets: list[tuple[str, str]], text: str) -> str:
    return hide(text, ((f"[{name}]", value) for name, value in secrets))


def _secrets() -> list[tuple[str, str]]:
    """Return names and values of the secrets in the present environment, longer ones first."""
    # The undecoded data of `os.environ` is compared with that of the last call.
    environment = getattr(os.environ, "_data", None)
    sent = sent_variables()
    if environment is None or environment != _LAST["environment"] or sent != _LAST["sent"]:
        named_secrets = [
            (name, value) for name, value in os.environ.items() if _is_secret(name, value, is_sent=name in sent)
        ]
        credentials = ((name, part) for name, value in os.environ.items() for part in credentials_in(value))
        named_secrets += [(name, part) for name, part in credentials if len(part) >= _SECRET_CHARACTERS]
        named_secrets.sort(key=lambda secret: -len(secret[1]))
        _LAST.update(environment=dict(environment or {}), sent=sent, secrets=named_secrets)
    secrets: list[tuple[str, str]] = _LAST["secrets"]
    return secrets


def _is_secret(name: str, value: str, *, is_sent: bool) -> bool:
    """Return whether the value of a variable is hidden; a short word or number only if it was sent as a key."""
    if len(value) >= _SECRET_CHARACTERS or value.isalpha() or value.isdigit():
        return is_sent or (len(value) >= _SECRET_CHARACTERS and is_secret_name(name))
    return len(value) >= MIN_WORD_CHARACTERS and (is_sent or is_secret_name(name))


def type_name(error: BaseException) -> str:
    """Return the name of the class of `error`, also if it was raised in another process."""
    return error.error_type if isinstance(error, CallFailed) else type(error).__name__


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of an exception for failure policies."""

    types: list[str]
    """Names of its class and its base classes."""
    retryable: bool | None
    """Whether a retry may succeed; None if unknown."""
    retry_after_s: float | None
    """Minimum delay of a retry, in seconds; None if unknown."""
    crashed: bool
    """The agent failed, not only the task."""


def traits(error: BaseException) -> Traits:
    """Return the traits of `error`, also if it was raised in another process."""
    raw_traits = error.traits if isinstance(error, CallFailed) else traits_of(error)
    types = [clean(str(name))[:100] for name in raw_traits.get("types") or ()][:MAX_TYPES]
    retryable, retry_after_s = raw_traits.get("retryable"), raw_traits.get("retry_after_s")
    # Unusable counts as a crash, because the runtime was usable when it was checked.
    crashed = isinstance(error, ProcessDied | AgentCrashed | Unusable) or AgentCrashed.__name__ in types
    return Traits(
        types=types,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_s=retry_after_s if isinstance(retry_after_s, float) else None,
        crashed=crashed,
    )
