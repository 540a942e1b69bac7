"""Differences of two teams as lines, by subject: added and removed objects first; a long list ends in a count."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import groupby, takewhile

from dashboard.views.drawing.lines import cut
from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.spec_fields import format_value
from dashboard.views.words.amounts import amount, clock, duration
from dashboard.views.words.field_names import field_label
from engine.core.queries.differences import Difference

MAX_SHOWN = 12
"""Objects of one subject and change that are listed."""
MAX_CHARACTERS = 60
"""Characters of a value."""
_HASH = 12
"""Characters of a hash that are shown."""
_SIGNS = {"added": ("+", "busy"), "removed": ("-", "warn"), "changed": ("~", "accent")}


def difference_lines(differences: Iterable[Difference], *, limit: int = MAX_SHOWN) -> list[Cell]:
    """Return differences, one object a line, under a heading for each subject.

    Args:
        differences: Ordered by subject and object.
        limit: Objects of a subject and change that are listed; the others are counted.
    """
    lines: list[Cell] = []
    for subject, of_subject in groupby(differences, key=lambda difference: difference.subject):
        things = [
            list(group) for _, group in groupby(of_subject, key=lambda difference: (difference.id, difference.change))
        ]
        lines.append(Cell(_title(subject, things), "strong"))
        for change in _SIGNS:
            of_change = [thing for thing in things if thing[0].change == change]
            lines += map(_line, of_change[:limit])
            if rest := of_change[limit:]:
                lines.append(
                    Cell(f"and {len(rest):,} more{_transition_counts(rest)}", "muted", f"  {_SIGNS[change][0]} ")
                )
    return lines or [Cell("no difference", "muted")]


def _title(subject: str, things: Sequence[Sequence[Difference]]) -> str:
    if subject == "team":
        return subject
    counts: Counter[str] = Counter(thing[0].change for thing in things)
    totals = ", ".join(f"{counts[change]:,} {change}" for change in _SIGNS if counts[change])
    return f"{subject if subject in ('settings', 'code') else subject + 's'}: {totals}"


def _line(thing: Sequence[Difference]) -> Cell:
    first = thing[0]
    sign, tone = _SIGNS[first.change]
    called = f"{first.name} " if first.name != first.id else ""
    named = "" if first.subject == "team" else f"{called}({first.id})  " if first.id and called else f"{first.id}  "
    fields = ", ".join(map(_field, thing)) if first.change == "changed" else ""
    return Cell(f"{named}{fields}".rstrip(), tone, f"  {sign} ")


def _field(difference: Difference) -> str:
    field = difference.field or ""
    label = field_label(field)
    if isinstance(difference.a, list | tuple) and isinstance(difference.b, list | tuple):
        added = [f"+{format_value(item)}" for item in difference.b if item not in difference.a]
        removed = [f"-{format_value(item)}" for item in difference.a if item not in difference.b]
        if added or removed:
            return _cut(f"{label} {' '.join([*added, *removed])}")
    if isinstance(difference.a, dict) and isinstance(difference.b, dict):
        keys = [key for key in {**difference.a, **difference.b} if difference.a.get(key) != difference.b.get(key)]
        is_ours = field.endswith("limits")  # keys of other fields are names that users gave
        values = {key: (_value(key, difference.a.get(key)), _value(key, difference.b.get(key))) for key in keys}
        clauses = (
            f"{label} {field_label(key) if is_ours else key} {old} → {new}" for key, (old, new) in values.items()
        )
        return ", ".join(clauses)
    was, now = _value(field, difference.a), _value(field, difference.b)
    if was == now:  # cut before they differ
        was, now = _from_first_difference(_one_line(difference.a), _one_line(difference.b))
    return f"{label} {was} → {now}"


def _from_first_difference(was: str, now: str) -> tuple[str, str]:
    """Return two long texts from shortly before their first difference."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    start = max(0, same - MAX_CHARACTERS // 4)
    return _cut("…" + was[start:]), _cut("…" + now[start:])


def _one_line(value: object) -> str:
    return " ".join(format_value(value).split())


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
    text = f"{value:,}" if isinstance(value, int) else format_value(value) or "–"
    return _cut(text)


def _cut(text: str) -> str:
    return cut(" ".join(text.split()), MAX_CHARACTERS)


def _transition_counts(things: Iterable[Sequence[Difference]]) -> str:
    """Count the changes of status of the objects that are not listed."""
    states = Counter(
        (_value("status", difference.a), _value("status", difference.b))
        for thing in things
        for difference in thing
        if difference.field == "status"
    )
    transitions = [f"{was} → {now} {number:,}" for (was, now), number in states.most_common(4)]
    return f": {', '.join(transitions)}" if transitions else ""
