"""Differences of two teams as lines: by subject, what came and went first, and of very many things only how many."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import groupby, takewhile

from dashboard.views.drawing.lines import cut
from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.spec_fields import written
from dashboard.views.words.amounts import amount, clock, duration
from dashboard.views.words.field_names import called
from engine.core.queries.differences import Difference

MANY = 12
"""Things of one subject that are shown one by one."""
LONGEST = 60
"""Characters of a value."""
_HASH = 12
"""Characters of a hash: as many as tell two apart."""
_SIGNS = {"added": ("+", "busy"), "removed": ("-", "warn"), "changed": ("~", "accent")}


def difference_lines(found: Iterable[Difference], *, most: int = MANY) -> list[Cell]:
    """Return differences, one thing a line, under a line for each subject.

    Args:
        found: As `differences` returns them.
        most: Things of a subject that are shown of those that came, went and changed; of the rest how many.
    """
    lines: list[Cell] = []
    for subject, of_subject in groupby(found, key=lambda one: one.subject):
        things = [list(group) for _, group in groupby(of_subject, key=lambda one: (one.id, one.change))]
        lines.append(Cell(_title(subject, things), "strong"))
        for change in _SIGNS:
            of_change = [thing for thing in things if thing[0].change == change]
            lines += map(_line, of_change[:most])
            if rest := of_change[most:]:
                lines.append(Cell(f"and {len(rest):,} more{_in_common(rest)}", "muted", f"  {_SIGNS[change][0]} "))
    return lines or [Cell("no difference", "muted")]


def _title(subject: str, things: Sequence[Sequence[Difference]]) -> str:
    if subject == "team":
        return subject
    counts: Counter[str] = Counter(thing[0].change for thing in things)
    told = ", ".join(f"{counts[change]:,} {change}" for change in _SIGNS if counts[change])
    return f"{subject if subject in ('settings', 'code') else subject + 's'}: {told}"


def _line(thing: Sequence[Difference]) -> Cell:
    first = thing[0]
    sign, tone = _SIGNS[first.change]
    called = f"{first.name} " if first.name != first.id else ""
    named = "" if first.subject == "team" else f"{called}({first.id})  " if first.id and called else f"{first.id}  "
    fields = ", ".join(map(_field, thing)) if first.change == "changed" else ""
    return Cell(f"{named}{fields}".rstrip(), tone, f"  {sign} ")


def _field(one: Difference) -> str:
    field = one.field or ""
    label = called(field)
    if isinstance(one.a, list | tuple) and isinstance(one.b, list | tuple):
        came, went = [each for each in one.b if each not in one.a], [each for each in one.a if each not in one.b]
        if came or went:
            return _cut(f"{label} {' '.join([*(f'+{written(x)}' for x in came), *(f'-{written(x)}' for x in went)])}")
    if isinstance(one.a, dict) and isinstance(one.b, dict):
        keys = [key for key in {**one.a, **one.b} if one.a.get(key) != one.b.get(key)]
        is_ours = field.endswith("limits")  # the keys of others are names that people and programs gave
        said = (
            f"{label} {called(key) if is_ours else key} {_value(key, one.a.get(key))} → {_value(key, one.b.get(key))}"
            for key in keys
        )
        return ", ".join(said)
    was, now = _value(field, one.a), _value(field, one.b)
    if was == now:  # cut before they differ
        was, now = _apart(_whole(one.a), _whole(one.b))
    return f"{label} {was} → {now}"


def _apart(was: str, now: str) -> tuple[str, str]:
    """Return two long texts from a little before where they differ."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    start = max(0, same - LONGEST // 4)
    return _cut("…" + was[start:]), _cut("…" + now[start:])


def _whole(value: object) -> str:
    return " ".join(written(value).split())


def _value(field: str, value: object) -> str:
    """Return a value with the unit of its field."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field == "cost_usd":
        return amount(Decimal(str(value)), field)
    if isinstance(value, int | float) and field.endswith("_s"):
        return f"{value:.15g} s"
    if isinstance(value, int) and field.endswith("_ms"):
        return clock(value) if field == "deadline_ms" else duration(value)
    if field.endswith("sha256"):
        return str(value)[:_HASH]
    if field in ("status", "circuit"):
        return str(value).replace("_", " ")
    text = f"{value:,}" if isinstance(value, int) else written(value) or "–"
    return _cut(text)


def _cut(text: str) -> str:
    return cut(" ".join(text.split()), LONGEST)


def _in_common(things: Iterable[Sequence[Difference]]) -> str:
    """Return what became of things that are not shown one by one."""
    states = Counter(
        (_value("status", one.a), _value("status", one.b)) for thing in things for one in thing if one.field == "status"
    )
    told = [f"{was} → {now} {number:,}" for (was, now), number in states.most_common(4)]
    return f": {', '.join(told)}" if told else ""
