"""An engine that crashes again and again: every run ends, every task is done once, no step is recorded twice."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.core.specs.spec import AgentSpec, Retry
from engine.platform.clock import VirtualClock
from store import Record
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, running

pytestmark = pytest.mark.anyio

RUNS = 4


def scripted(name: str, *rules: dict[str, Any], **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, agent_type="scripted", options={"script": list(rules)}, **fields)


CREW = (
    scripted(
        "lead",
        {
            "steps": [{"name": "plan", "delay_s": 1, "output": "a plan " * 50}, {"name": "think", "output": "hm"}],
            "delegate": {"to": "writer", "text": "write about {text}"},
            "map": {"to": "reader", "items": [f"page {number}" for number in range(5)]},
            "output": "{answer}",
        },
    ),
    scripted("writer", {"delay_s": [1, 5], "fail": "no ink", "fail_rate": 0.3}, on_failure=[Retry(retries=50)]),
    *(scripted(f"reader{number}", {"delay_s": [0, 3]}, specialties=["reader"]) for number in range(2)),
)


async def crashed(engine: Engine, after: int) -> None:
    """Return after so many events, or when nothing is left to do."""
    with engine.host.subscribe() as events:
        for _ in range(after):
            if not engine.state.runs:
                return
            await anext(events)


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_moment_it_crashes_at(seed: int, tmp_path: Path) -> None:
    path, draw = tmp_path / "team.db", random.Random(seed)
    async with running(*CREW, path=path, clock=VirtualClock(), participants=["lead"]) as engine:
        for number in range(RUNS):
            await engine.submit(f"number {number}")
        await crashed(engine, draw.randint(1, 30))
    open_runs = True
    while open_runs:
        async with running(path=path, clock=VirtualClock()) as engine:
            with anyio.fail_after(PATIENCE_S):
                await crashed(engine, draw.randint(1, 60))
            open_runs = bool(engine.state.runs)
            journal = await engine.journal()
            summaries = list(engine.state.finished)

    assert [str(summary.status) for summary in summaries] == ["done"] * RUNS
    assert repeated(journal, "attempt_done", "task_id") == []
    assert repeated(journal, "step_recorded", "task_id", "key") == []
    asked = bodies(journal, "delegated")
    assert len({child["task_id"] for body in asked for child in body["children"]}) == RUNS * 6


def bodies(journal: list[Record], kind: str) -> list[dict[str, Any]]:
    return [json.loads(record.body) for record in journal if record.kind == kind]


def repeated(journal: list[Record], kind: str, *names: str) -> list[tuple[str, ...]]:
    """Return what stands more than once in events of a kind."""
    counts = Counter(tuple(str(body[name]) for name in names) for body in bodies(journal, kind))
    return [key for key, count in counts.items() if count > 1]
