"""Level upon level: each reviews what the level below made, and the last level's output is the run's.

    request ─┬▶ a ─┬▶ lead ─▶ approved? ─▶ head ─▶ output
             └▶ b ─┘            │
               ▲────────────────┘ no, while `returns` are left

Each member is a level where nobody says. With `returns` a level can send back to the one below, with an object that has
`approved: false` or a text that begins with one of the words of `rejects`.
"""

from collections.abc import Sequence

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.check import Check
from engine.core.strategies.layout import Layout
from engine.core.strategies.sequential_with_validation import MAX_RETURNS, REJECTS
from engine.core.strategies.settings import (
    as_list,
    check_schema,
    check_unique,
    members_of,
    strings,
    whole_number,
    words,
)
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring


class HierarchicalReview:
    """Let each level of members review what the level below made."""

    name = "hierarchical_review"
    about = "level upon level, each reviews the one below"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`levels` (lists of members, the lowest first), `returns` (0 to 10), `rejects` (words)."""
        check_schema(
            self.name, settings, {"levels": _levels, "returns": whole_number(0, MAX_RETURNS), "rejects": words}, members
        )

    def wire(self, nodes: Nodes) -> Wiring:
        """Return one fan per level, each after the level below."""
        levels = [strings(level) for level in as_list(nodes.settings.get("levels"))] or [[name] for name in nodes.cast]
        named: JsonValue = [list(level) for level in levels]
        layout = Layout(nodes, {"returns": 0, "rejects": list(REJECTS), **nodes.settings, "levels": named})
        works: list[str] = []
        gate: list[str] = []
        for number, members in enumerate(levels):
            works, gate = _level(layout, number, 0, members, gate, works)
        if len(works) > 1:
            return layout.finished(layout.join("concat", gate, sees=works))
        return layout.finished(works[0] if works else None)

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Repeat a level and the one below it, or let the next level begin."""
        number, tries = (int(part) for part in verdict.role.split(":")[1:])
        levels = as_list(nodes.settings["levels"])
        named, named_below = strings(levels[number]), strings(levels[number - 1])
        members, below = nodes.left(named), nodes.left(named_below)
        if verdict.said.get("approved"):
            return Growth(why=f"approved by {', '.join(named)}")
        reasons = f": {verdict.said['reasons']}" if verdict.said.get("reasons") else ""
        returns = nodes.settings["returns"]
        if not isinstance(returns, int) or tries >= min(returns, MAX_RETURNS):
            return Growth(why=f"sent back {tries} times already, and goes on as it is{reasons}")
        missing = nodes.gone([*named_below, *named])
        if not members or not below:
            return Growth(why=f"{self.name} goes on with it as it is, because {missing}{reasons}")
        layout = Layout(nodes, nodes.settings, anew=True)
        sees = [*_find_last_nodes(nodes, number - 1), *_find_last_nodes(nodes, number)]
        repeated = [
            layout.work(
                name, [verdict.node], takes="context", sees=sees, role=f"level:{number - 1}:{tries + 1}:{index}"
            )
            for index, name in enumerate(below)
        ]
        works, gate = _level(layout, number, tries + 1, members, repeated, repeated)
        # What waited for the failed check now waits for the repeated level, and gets the repeated outputs.
        for node in nodes.unstarted:
            waits = nodes.after.get(node, ())
            if verdict.node in waits:
                layout.wiring.after[node] = gate
                layout.wiring.sees[node] = works
        without = f", although {missing}" if missing else ""
        is_top = number == len(levels) - 1
        outcome = works[0] if is_top and len(works) == 1 else None
        return Growth(wiring=layout.finished(outcome), why=f"{', '.join(named)} sent it back{without}{reasons}")


def _level(
    layout: Layout, number: int, tries: int, members: list[str], after: list[str], sees: list[str]
) -> tuple[list[str], list[str]]:
    """Place one level; return its work nodes, and the nodes that the next level waits for."""
    works = [
        layout.work(
            name,
            after,
            takes="context" if sees else "request",
            sees=sees or None,
            role=f"level:{number}:{tries}:{index}",
        )
        for index, name in enumerate(members)
    ]
    if not number or not layout.wiring.settings["returns"]:
        return works, works
    check = Check(what="approved", args={"rejects": layout.wiring.settings["rejects"]})
    title = f"approved by {members[0]}?" if len(members) == 1 else f"approved by level {number + 1}?"
    return works, [layout.check(check, works, sees=works, title=title, role=f"check:{number}:{tries}")]


def _find_last_nodes(nodes: Nodes, level: int) -> list[str]:
    """Return the nodes of the last attempt of a level."""
    tries: dict[int, list[str]] = {}
    for node, role in nodes.roles.items():
        kind, *numbers = role.split(":")
        if kind == "level" and int(numbers[0]) == level:
            tries.setdefault(int(numbers[1]), []).append(node)
    return tries[max(tries)] if tries else []


def _levels(where: str, value: JsonValue, members: Sequence[str]) -> None:
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of levels, each a list of members, not {value!r:.60}")
    for level in value:
        members_of(where, level if isinstance(level, list) else [level], members)
    check_unique(where, (name for level in value for name in strings(level)))
