"""Formats amounts: counts, durations, money, shares. An unknown amount is `–`, never 0."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from engine.core.records.values import Usage, describe_ms, dollars
from engine.core.records.values import pluralize as pluralize  # shared with the engine

UNKNOWN = "–"


def count(number: int | None, none: str = UNKNOWN) -> str:
    """A whole number with separators, such as `18,204`; the text `none` for None."""
    return none if number is None else f"{number:,}"


def describe_usage(usage: Usage | None) -> str:
    """Usage in words, such as `1,200 tokens in (400 cached), 80 out, $0.0042`; empty if it is unknown."""
    if usage is None:
        return ""
    cached = f" ({usage.tokens_cached:,} cached)" if usage.tokens_cached is not None else ""
    parts = [
        f"{usage.tokens_in:,} tokens in{cached}" if usage.tokens_in is not None else "",
        f"{usage.tokens_out:,} out" if usage.tokens_out is not None else "",
        f"{'at least ' if usage.unpriced else ''}{dollars(usage.cost_usd)}" if usage.cost_usd is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def tokens(usage: Usage | None) -> str:
    """Input and output tokens together, for a column."""
    if usage is None or (usage.tokens_in is None and usage.tokens_out is None):
        return UNKNOWN
    return count((usage.tokens_in or 0) + (usage.tokens_out or 0))


def money(usage: Usage | None) -> str:
    """Cost for a column, such as `0.0042`; `≥0.0042` if a part of it has no known price."""
    if usage is None or usage.cost_usd is None:
        return UNKNOWN
    return f"{'≥' if usage.unpriced else ''}{column_money(usage.cost_usd)}"


def column_money(cost: Decimal) -> str:
    """Money with four decimals, such as `0.0042` or `140.2000`, so that the points of a right-aligned column meet.

    From $1,000 the text is no longer than 8 cells up to a million, because a cut amount would be wrong.
    """
    if 0 < cost < Decimal("0.0001"):
        return "<0.0001"
    return f"{cost:.4f}" if cost < 1_000 else f"{cost:,.2f}" if cost < 10_000 else f"{cost:,.0f}"


def cost_text(usage: Usage | None) -> str:
    """Cost for a sentence, such as `$1.20`; `≥$1.20` if a part of it has no known price."""
    if usage is None or usage.cost_usd is None:
        return UNKNOWN
    return f"{'≥' if usage.unpriced else ''}{short_money(usage.cost_usd)}"


def short_money(cost: Decimal) -> str:
    """Money for a sentence: `$140`, `$1.20`, and `$0.0042` below a cent."""
    if 0 < cost < Decimal("0.0001"):
        return "<$0.0001"
    if 0 < cost < Decimal("0.01"):
        return f"${cost:.4f}"
    return f"${cost:,.0f}" if cost >= 100 or not cost else f"${cost:.2f}"


def price_text(price: Decimal | float | str) -> str:
    """A price in USD with at least two decimals, such as `$2.50` or `$0.075`."""
    exact = Decimal(str(price))
    return f"${exact:,.2f}" if exact == round(exact, 2) else f"${exact:f}"


_UNITS = {"attempts": "attempts", "time_s": "s of work", "tokens": "tokens"}


def amount(number: Decimal, kind: str) -> str:
    """An exact amount of what a budget limits, such as `1,200 tokens` or `$0.31`."""
    return dollars(number) if kind == "cost_usd" else f"{number.normalize():,f} {_UNITS[kind]}"


def spent_text(spent: Decimal, limit: Decimal, kind: str) -> str:
    """The spent part of a budget, such as `800 of 1,200 tokens` or `$0.31 of $2.00`."""
    if kind == "cost_usd":
        return f"{short_money(spent)} of {short_money(limit)}"
    return f"{spent.normalize():,f} of {amount(limit, kind)}"


def unit(kind: str) -> str:
    """The name of what a budget limits."""
    return "money" if kind == "cost_usd" else _UNITS[kind]


def is_known(usage: Usage | None) -> bool:
    """Return whether tokens or money are known, so that they are worth showing."""
    return usage is not None and (usage.tokens_in, usage.tokens_out, usage.cost_usd) != (None, None, None)


def duration(ms: float | None, *, max_width: int = 1_000) -> str:
    """A length of time in two units at most: `41 ms`, `1.9 s`, `3 min 24 s`, `2 h 05 min`, `3 d 4 h`.

    Args:
        ms: In milliseconds; None is unknown.
        max_width: In cells, at least 6; a longer text is written as `3m24s`, because a truncated duration would be
            wrong. Durations of 100 days and more may exceed it.
    """
    text = UNKNOWN if ms is None else describe_ms(max(0, round(ms)))
    return text if len(text) <= max_width else "".join(part[:1] if part.isalpha() else part for part in text.split())


def remaining(ms: float, *, max_width: int = 1_000) -> str:
    """A countdown in whole seconds, such as `3 s`: it changes once a second; `max_width` as in `duration`."""
    seconds = max(0, -(-round(ms) // 1000))
    return f"{seconds} s" if seconds < 60 else duration(seconds * 1000, max_width=max_width)


def countdown(ms: float, *, max_width: int = 1_000) -> str:
    """A countdown in one unit, such as `40 s`, `10 min`, `2 h`, for a narrow column; `99m` to fit `max_width` cells."""
    seconds = max(0, -(-round(ms) // 1000))
    for size, unit in ((86_400 * 2, "d"), (3_600 * 2, "h"), (60 * 2, "min")):
        if seconds >= size:
            text = f"{seconds // (size // 2)} {unit}"
            return text if len(text) <= max_width else text.replace(f" {unit}", unit[0])
    return f"{seconds} s"


def elapsed(ms: float, *, max_width: int = 1_000) -> str:
    """Elapsed time in whole seconds, so that it changes once a second; empty below one second."""
    return remaining(ms // 1000 * 1000, max_width=max_width) if ms >= 1000 else ""


def ago(ms: float) -> str:
    """The age of something in one unit: `now`, `5 s ago`, `12 min ago`, `3 h ago`, `2 d ago`."""
    seconds = max(0, int(ms) // 1000)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "now"


def stopwatch(ms: int) -> str:
    """A running time of constant width, `00:12:47`, after the number of days."""
    seconds = max(0, ms) // 1000
    days, seconds = divmod(seconds, 86_400)
    text = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{days} d {text}" if days else text


def clock(at_ms: int) -> str:
    """The local time of day, `12:03:11`."""
    return _local(at_ms).strftime("%H:%M:%S")


def moment(at_ms: int, now_ms: int) -> str:
    """The local time of day, or date and time if it is not today."""
    local = _local(at_ms)
    same = local.date() == _local(now_ms).date()
    return local.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M")


def file_stamp(at_ms: int) -> str:
    """A moment as part of a file's name, such as 2026-01-31-120405."""
    return _local(at_ms).strftime("%Y-%m-%d-%H%M%S")


def percent(share: float | None) -> str:
    """A share from 0 to 1 as whole percent; 100% only if it is complete, 0% only of nothing."""
    if share is None:
        return UNKNOWN
    if 0 < share < 0.005:
        return "<1%"
    return f"{min(share, 0.99) if share < 1 else share:.0%}"


def size(amount_bytes: int) -> str:
    """A size on disk, such as `14 kB`."""
    if amount_bytes < 1_000:
        return f"{amount_bytes} B"
    if amount_bytes < 1_000_000:
        return f"{amount_bytes / 1_000:.0f} kB"
    return f"{amount_bytes / 1_000_000:.1f} MB"


def p95(values: Sequence[int]) -> int | None:
    """The smallest value that 95 % of the values do not exceed; None without values."""
    return sorted(values)[(95 * len(values) + 99) // 100 - 1] if values else None


def _local(at_ms: int) -> datetime:
    at = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    try:
        return at.astimezone()
    except ValueError:  # TZ names an offset of a day or more
        return at
