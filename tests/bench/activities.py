"""What 1,000 agents at work do: all of them, as header, lists and metrics count it, and the rows in sight."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.core.activities import Activities, parse_live
from engine.core.state import Agent, State
from engine.reading.folding import fold_file
from tests.bench.busy import at_work
from tests.bench.measure import interleaved
from tests.bench.report import Row

AGENTS = 1_000
IN_SIGHT = 60
"""Rows of the largest screen."""


def rows(quick: bool) -> Iterator[Row]:
    """Measure looks at a team in which each agent is in a call of a tool."""
    with tempfile.TemporaryDirectory() as folder:
        state = fold_file(at_work(Path(folder) / "team.db", AGENTS))
    agents, rounds = [*state.agents.values()], 5 if quick else 50
    yield _looking(state, agents, rounds, kinds_only=True, budget_ms=5.0)
    yield _looking(state, agents, rounds, kinds_only=False, budget_ms=5.0)
    yield _looking(state, agents[:IN_SIGHT], rounds, kinds_only=False, budget_ms=1.0)


def _looking(state: State, agents: Sequence[Agent], rounds: int, *, kinds_only: bool, budget_ms: float) -> Row:
    texts = _live_texts(state)

    def look() -> None:
        activities = Activities(state, parse_live(texts), state.at_ms + 1_000)
        ask = activities.kind_of if kinds_only else activities.of_agent
        for agent in agents:
            ask(agent)

    took, floor = interleaved(look, lambda: [[*agent.running] for agent in agents], rounds)
    return Row(
        what=f"{'kinds of' if kinds_only else ''} activities of {len(agents):,} agents".strip(),
        took=took,
        floor=floor,
        floor_is="their tasks",
        budget=budget_ms,
        computes=True,
    )


def _live_texts(state: State) -> dict[str, str]:
    texts: dict[str, str] = {}
    for task in state.tasks.values():
        if task.attempt is not None:
            began_ms = state.at_ms - 500
            step = {"what": "tool", "name": "fetch_page", "since_ms": began_ms}
            call = {"name": "fetch_page", "arguments": {"url": "https://example.org"}, "since_ms": began_ms}
            texts[f"pulse:{task.id}"] = json.dumps({"chunk_ms": began_ms, "steps": [step]})
            texts[f"call:{task.id}"] = json.dumps([call])
            texts[f"output:{task.id}"] = "I look at the page first. " * 20
    return texts
