"""Values at the edge to the user's code: the JSON that it returns, and what the exceptions that it raises say."""

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
from engine.models.redaction import MIN_WORD_CHARACTERS, credentials_in, hide, is_secret_name, sent_variables
from engine.runtimes.functions.child import error_text, traits_of

MAX_DEPTH = 100
"""How deep lists and objects may be nested."""
MAX_CHARACTERS = 64 * 1024 * 1024
"""How long all texts of one value may be together."""
MAX_VALUES = 200_000
"""How many values one value may hold: items, and keys with theirs."""
MAX_DIGITS = 4000
"""Python reads no longer numbers back from JSON."""
ERROR_CHARACTERS = 500
SHOWN_CHARACTERS = 1_000_000
"""Characters of what a person decides on, as JSON; it stands in the journal and in the state while it is open."""
MAX_TYPES = 32
"""How many classes of one exception are looked at."""

_SECRET_CHARACTERS = 8
_LAST: dict[str, Any] = {"environment": None, "sent": frozenset(), "secrets": []}
"""The environment when it was looked at last, and its secrets."""


def json_value(value: object, *, most_values: int = MAX_VALUES) -> JsonValue:
    """Return `value` as plain JSON: tuples as lists, subclasses as what they are made of, half characters replaced.

    Args:
        most_values: How many values it may hold. Each takes 0.3 to 1 us, mostly in the engine's loop.

    Raises:
        TooManyValues: If it holds more.
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
    """Return a JSON value for code of the user: it may change lists and objects of it, and changes no other value."""
    return msgspec.to_builtins(value) if isinstance(value, list | dict) else value


class _Copy:
    """One value on its way; counts what it holds.

    A fault gets its place on the way out: to have it at hand for each value would take half of the time.
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
    """A value is not one that JSON can hold; `path` is where, from the value that is looked at."""

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
"""More tokens, or dollars, than anything can spend."""


class Amounts(TypedDict, total=False):
    """What was spent; None, or left out, where it is not known."""

    tokens_in: int | None
    """Tokens that a model was given."""
    tokens_out: int | None
    """Tokens that it answered with."""
    tokens_cached: int | None
    """Of `tokens_in`, those that the provider read from its cache."""
    cost_usd: Decimal | float | str | None
    """Money, in US dollars."""


def usage_of(amounts: Amounts) -> Usage:
    """Return what was spent.

    Raises:
        ValueError: If an amount is unknown, below 0, or not one that can be.
    """
    unknown = [name for name in amounts if name not in Amounts.__annotations__]
    if unknown:
        raise ValueError(f"there is no amount {unknown[0]!r}; there are {', '.join(Amounts.__annotations__)}")
    tokens_in, tokens_out, tokens_cached = (
        amounts.get("tokens_in"),
        amounts.get("tokens_out"),
        amounts.get("tokens_cached"),
    )
    for name, tokens in (("tokens_in", tokens_in), ("tokens_out", tokens_out), ("tokens_cached", tokens_cached)):
        if tokens is not None and not (isinstance(tokens, int) and 0 <= tokens < AMOUNT_LIMIT):
            raise ValueError(f"{name} must be a whole number, 0 or more, not {tokens!r}")
    if (tokens_cached or 0) > (tokens_in or 0):
        raise ValueError(f"tokens_cached is a part of tokens_in, and {tokens_cached} is more than {tokens_in}")
    cost, cost_usd = None, amounts.get("cost_usd")
    if cost_usd is not None:
        try:
            cost = Decimal(str(cost_usd))
        except InvalidOperation:
            raise ValueError(f"cost_usd must be an amount of dollars, not {cost_usd!r}") from None
        if not (cost.is_finite() and 0 <= cost < AMOUNT_LIMIT and abs(cost.adjusted()) < 30):
            raise ValueError(f"cost_usd must be an amount of dollars, 0 or more, not {cost_usd!r}")
    return Usage(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, cost_usd=cost)


def clean(text: str) -> str:
    """Return `text` with every half of a character (a lone surrogate) replaced, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(error: BaseException) -> str:
    """Return what `error` says in one line, without the values of secrets that the environment holds."""
    # Secrets first: one that is cut, or goes on in the next line, would not be recognized any more.
    lines = without_secrets(error_text(error)).splitlines()
    line = next((line.strip() for line in lines if line.strip()), "")[:ERROR_CHARACTERS]
    return "".join(character if character.isprintable() else " " for character in clean(line))


def with_class(error: BaseException) -> str:
    """Return what `error` says in one line that begins with its class."""
    name, line = type(error).__name__, one_line(error)
    return line if line.startswith(name) else f"{name}: {line}"


def without_secrets(text: str, *, is_end: bool = False) -> str:
    """Return `text` with the name in place of each secret of the environment.

    Args:
        text: Output of a program, a tool or a provider.
        is_end: Only the end of that output, which may begin in the middle of a secret.
    """
    secrets = _secrets()
    for name, value in secrets if is_end and text else ():
        if text in value:
            return f"[{name}]"
        lengths = range(min(len(text), len(value)), _SECRET_CHARACTERS - 1, -1)
        text = next((f"[{name}]{text[length:]}" for length in lengths if value.endswith(text[:length])), text)
    return _hide(secrets, text)


def shown_input(value: JsonValue) -> JsonValue:
    """Return what is kept of the input of a step, for a person to read (`excerpts.excerpt_of`)."""
    return excerpt_of(value, partial(_hide, _secrets()))


def shown_whole(value: JsonValue) -> tuple[JsonValue, bool]:
    """Return a value for a person to decide on, with the name in place of each secret, and whether it has one.

    Raises:
        ValueError: If it is too long to be shown whole, or two of its keys are the same without their secrets.
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
    """Return names and values of the secrets that the environment holds now, longer ones first."""
    # Reading a variable decodes it, 0.4 µs each; so what is under `os.environ` is compared with the last time as it is.
    environment, sent = getattr(os.environ, "_data", None), sent_variables()
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
    """Return whether the value of a variable is hidden: a short word or number only if it is sent as a key."""
    if len(value) >= _SECRET_CHARACTERS or value.isalpha() or value.isdigit():
        return is_sent or (len(value) >= _SECRET_CHARACTERS and is_secret_name(name))
    return len(value) >= MIN_WORD_CHARACTERS and (is_sent or is_secret_name(name))


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
    raw_traits = error.traits if isinstance(error, CallFailed) else traits_of(error)
    types = [clean(str(name))[:100] for name in raw_traits.get("types") or ()][:MAX_TYPES]
    retryable, retry_after_s = raw_traits.get("retryable"), raw_traits.get("retry_after_s")
    # A runtime that is unusable by the time that it executes was usable when it was checked.
    crashed = isinstance(error, ProcessDied | AgentCrashed | Unusable) or AgentCrashed.__name__ in types
    return Traits(
        types=types,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_s=retry_after_s if isinstance(retry_after_s, float) else None,
        crashed=crashed,
    )
