"""Coordination strategies with settings as chance has them; a strategy that is not in the table keeps its defaults."""

from collections.abc import Callable, Sequence
from random import Random

from engine.core.fact import JsonValue
from engine.core.spec import AGGREGATIONS
from engine.core.strategies import STRATEGIES

PLAIN = ("sequential", "parallel", "parallel", "delegate", "map")
"""Drawn more often than the others: most contention comes from what runs at once."""
PLAIN_SHARE = 0.4
GUARDS: tuple[JsonValue, ...] = (
    {"contains": "done"},
    {"contains": "nothing of the kind"},
    {"matches": "is [dl]"},  # without a choice: a pattern with one is matched in a process, in real time
    {"status": "failed"},
    {"status": "done"},
    {"json": "found.0", "equals": 1},
)


def drawn_mode(draw: Random) -> str:
    """Return the name of a strategy."""
    return draw.choice(PLAIN) if draw.random() < PLAIN_SHARE else draw.choice(list(STRATEGIES))


def drawn_settings(draw: Random, mode: str, members: Sequence[str]) -> dict[str, JsonValue]:
    """Return settings that a strategy accepts for these members; at times none, where it needs none."""
    rule = _SETTINGS.get(mode)
    if rule is None or not members or (mode != "graph" and draw.random() < 0.3):
        return {}
    return rule(draw, list(members))


def _parallel(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"need": draw.randint(1, len(members))}


def _synthesis(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"aggregator": draw.choice(members)}


def _delegate(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"lead": draw.choice(members)}


def _map(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    settings: dict[str, JsonValue] = {"join": draw.choice(["list", *AGGREGATIONS[:4]]), "optional": draw.random() < 0.4}
    if draw.random() < 0.5:
        settings["over"] = draw.choice(members)
    if draw.random() < 0.4:
        settings["to"] = draw.choice(members)
    return settings


def _validation(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {
        "validator": draw.choice(members),
        "returns": draw.randint(0, 2),
        "otherwise": draw.choice(["fail", "accept"]),
        "rejects": ["late", "rows"],
    }


def _refinement(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"author": draw.choice(members), "until": draw.choice([0.5, 0.9]), "rounds": draw.randint(1, 3)}


def _review(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    shuffled = draw.sample(members, len(members))
    cut = draw.randint(1, len(shuffled))
    levels: list[JsonValue] = [[*part] for part in (shuffled[:cut], shuffled[cut:]) if part]
    return {"levels": levels, "returns": draw.randint(0, 2), "rejects": ["late"]}


def _conditional(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    first, *others = draw.sample(members, len(members))
    if not others:
        return {}
    branches: list[JsonValue] = [{"when": draw.choice(GUARDS), "to": [one]} for one in others]
    if draw.random() < 0.5:
        branches[-1] = {"when": "else", "to": [others[-1]]}
    return {"first": draw.choice([first, "request"]), "take": draw.choice(["first", "all"]), "branches": branches}


def _graph(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    nodes: list[JsonValue] = []
    names = [f"n{number}" for number in range(draw.randint(1, 5))]
    for number, name in enumerate(names):
        before = draw.sample(names[:number], draw.randint(0, min(number, 2)))
        node: dict[str, JsonValue] = {"name": name, "agent": draw.choice(members), "after": [*before]}
        node["takes"] = draw.choice(["request", "context"])
        if before and draw.random() < 0.3:
            node["when"] = draw.choice(GUARDS)
        if draw.random() < 0.3:
            node["optional"] = True
        nodes.append(node)
    return {"nodes": nodes, "output": names[-1]}


_SETTINGS: dict[str, Callable[[Random, list[str]], dict[str, JsonValue]]] = {
    "parallel": _parallel,
    "parallel_then_synthesis": _synthesis,
    "delegate": _delegate,
    "map": _map,
    "sequential_with_validation": _validation,
    "iterative_refinement": _refinement,
    "hierarchical_review": _review,
    "conditional": _conditional,
    "graph": _graph,
}
