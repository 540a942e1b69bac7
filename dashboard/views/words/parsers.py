"""Parsers of typed input: numbers, durations, times, `key=value` settings, limits. Each error is one line."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from dashboard.views.drawing.rows import Cell
from engine.core.commands import Command
from engine.core.errors import BadValue
from engine.core.records.records import JsonValue
from engine.core.specs.limits import Limits
from engine.core.state import State
from engine.core.validation.bounds import LOWEST_PRIORITY


class LineQuestion(NamedTuple):
    """A question about one object that one typed line answers."""

    title: str
    """The title of the dialog; `{}` stands for the object."""
    placeholder: str
    """What may be typed."""
    about: Callable[[State, str, int], Sequence[Cell]]
    """From state, id and time in ms: the current value, and the effect of a change."""
    parse: Callable[[str, str, int], Command | None]
    """From id, text and time in ms: the command, or None for a line that says nothing; raises `Mistyped`."""
    does: str = "Set it"
    """The label of the button."""
    keeps: bool = False
    """Whether the typed text is kept as a draft until the command is applied."""

    def command(self, target_id: str, text: str, now_ms: int) -> Command | None:
        """Return the command of a typed line, None for an empty one; raises `Mistyped`."""
        return self.parse(target_id, text.strip(), now_ms) if text.strip() else None


_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*([smhd]?)")
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_NONE = ("none", "never", "-", "–")


class Mistyped(ValueError):
    """Input that cannot be parsed; the message says what would be valid."""


def parse_duration_s(text: str) -> float | None:
    """Parse a duration such as `90s`, `5m`, `2h`, `1d` into seconds; None for `none`.

    Raises:
        Mistyped: If it is neither.
    """
    if text.strip().lower() in _NONE:
        return None
    duration = _LENGTH.fullmatch(text.strip())
    if duration is None:
        raise Mistyped(f"{text.strip()!r} is not a duration; write 90s, 5m, 2h, or none")
    return float(duration[1]) * _UNITS_S[duration[2]]


_AMOUNT = re.compile(r"\$?\s*(\d[\d,]{0,15}(?:\.\d{1,6})?)\s*([kMsmhd]?)")
_FACTORS = {**_UNITS_S, "k": 1_000, "M": 1_000_000}


def parse_amount(text: str) -> Decimal:
    """Parse an amount of a budget in its unit: `2`, `$0.50`, `50k` tokens, `10m` of work.

    Raises:
        Mistyped: If it is none, or 0.
    """
    amount = _AMOUNT.fullmatch(text.strip())
    number = Decimal(0) if amount is None else Decimal(amount[1].replace(",", "")) * _FACTORS[amount[2]]
    if not number:
        raise Mistyped(f"{text.strip()!r} is not an amount; write 2, $0.50, 50k, or 10m of work")
    return number


_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_DAY_MS = 86_400_000


def parse_deadline_s(text: str, now_ms: int) -> float | None:
    """Parse a duration or a time of day into the seconds until then; None for `none`.

    Args:
        text: Such as `10m`, `14:30` (today, else tomorrow), `2026-01-31T12:04`, `none`.
        now_ms: The time of the team, UTC milliseconds.

    Raises:
        Mistyped: If it is none of these, or lies in the past.
    """
    text = text.strip()
    is_clock, is_day = _CLOCK.fullmatch(text) is not None, "-" in text[1:]
    try:
        if not is_clock and not is_day:
            return parse_duration_s(text)
        due_ms = _parse_time_ms(text.zfill(8 if text.count(":") > 1 else 5), now_ms)
    except (Mistyped, ValueError, OverflowError, OSError):
        raise Mistyped(f"{text!r} is not a deadline; write 90s, 5m, 2h, 14:30, 2026-01-31T12:04 or none") from None
    if is_clock and due_ms <= now_ms:
        due_ms += _DAY_MS
    if due_ms <= now_ms:
        raise Mistyped(f"{text} has passed already; write a later time")
    return round((due_ms - now_ms) / 1000, 3)


def parse_number(text: str, noun: str, hint: str) -> int:
    """Parse a whole number that is not negative; its range is checked with the command.

    Args:
        noun: What it is, such as `a priority`.
        hint: The valid numbers, such as `1 to 9`.

    Raises:
        Mistyped: If it is none.
    """
    if not (text.isascii() and text.isdigit()):
        raise Mistyped(f"{text!r} is not {noun}; write {hint}")
    return int(text)


def parse_priority(text: str) -> int:
    """Parse a priority, as `parse_number` does."""
    return parse_number(text, "a priority", f"0, the most urgent, to {LOWEST_PRIORITY}")


class Seq(int):
    """A seq, as distinct from a time in milliseconds."""


def parse_moment(text: str, now_ms: int) -> "Seq | int":
    """Parse a moment: a `Seq`, or a time in UTC milliseconds.

    Args:
        text: Such as `812` (an event), `10m` (ago), `12:04`, `2026-01-31T12:04`.
        now_ms: The time of the team, UTC milliseconds; a time of day is the last such time before it.

    Raises:
        Mistyped: If it is none.
    """
    text = text.strip()
    digits = text.replace(",", "").replace("_", "")
    if digits.isascii() and digits.isdigit():
        return Seq(digits[:18])
    duration = _LENGTH.fullmatch(text)
    try:
        if duration is not None:
            return now_ms - round(float(duration[1]) * _UNITS_S[duration[2]] * 1_000)
        at_ms = _parse_time_ms(text, now_ms)
        return at_ms if at_ms <= now_ms or "-" in text else _parse_time_ms(text, now_ms, days_ago=1)
    except (ValueError, OverflowError, OSError):
        raise Mistyped(f"{text!r} is neither a time nor a seq; write 13:59:10, 10m, 2026-01-31T12:04 or 812") from None


def _parse_time_ms(text: str, now_ms: int, *, days_ago: int = 0) -> int:
    """Parse a local time of day, of today or `days_ago`, or a time with its date."""
    day = datetime.fromtimestamp(now_ms / 1000).astimezone().date() - timedelta(days_ago)
    local_time = datetime.fromisoformat(text if "-" in text else f"{day}T{text}")
    return int((local_time if local_time.tzinfo is not None else local_time.astimezone()).timestamp() * 1000)


def split_words(text: str) -> list[str]:
    """Split a line into words as a shell does.

    Raises:
        Mistyped: If the quotes do not close.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Mistyped("the quotes do not close") from error


def parse_settings(words: Iterable[str]) -> dict[str, JsonValue]:
    """Parse `key=value` words; a value that is not JSON is a text.

    Raises:
        Mistyped: If one has no `=`.
    """
    settings: dict[str, JsonValue] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise Mistyped(f"{word!r} is not a setting; write key=value")
        try:
            settings[key] = json.loads(value)
        except (ValueError, RecursionError):
            settings[key] = value
    return settings


def parse_labels(words: Iterable[str]) -> dict[str, str]:
    """Parse `key=text` words; their bounds are checked with the command.

    Raises:
        Mistyped: If one has no `=`, or a key stands twice.
    """
    labels: dict[str, str] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise Mistyped(f"{word!r} is not a label; write key=text, such as team=web")
        if key in labels:
            raise Mistyped(f"the label {key!r} is given twice")
        labels[key] = text
    return labels


def settings_line(settings: dict[str, JsonValue]) -> str:
    """Return settings as they would be typed."""
    return " ".join(
        f"{key}={shlex.quote(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))}"
        for key, value in settings.items()
    )


def parse_limits(text: str) -> Limits | None:
    """Parse limits such as `tokens=20000 cost_usd=0.5 then=ask`; None for an empty line.

    Raises:
        Mistyped: If a name or a value is invalid.
    """
    settings = parse_settings(split_words(text))
    if not settings:
        return None
    names = ("attempts", "time_s", "tokens", "cost_usd", "warn_at", "then")
    unknown = next((key for key in settings if key not in names), None)
    if unknown is not None:
        raise Mistyped(f"no limit {unknown!r}; there are {', '.join(names)}")
    try:
        return Limits(**settings)  # type: ignore[arg-type]  # which says what is wrong
    except BadValue as bad:
        raise Mistyped(bad.reason) from bad
