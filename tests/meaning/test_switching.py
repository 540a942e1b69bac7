"""A strategy that is switched in the middle of a run loses nothing that is done, and cancels nobody."""

from typing import Any

import anyio
import pytest

from engine import DynamicSupervisor, RunResult
from tests.meaning.diary import Diary, during, told
from tests.meaning.stages import STAGES, staged
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

NAMES = ("bob", "cyd", "dan")


def led(diary: Diary, **fields: Any) -> DynamicSupervisor:
    """Return a team whose lead asks three at once, who take 1, 3 and 5 s."""

    async def lead(task: Any, ctx: Any) -> Any:
        answers: dict[str, Any] = {}

        async def ask(name: str) -> None:
            answers[name] = await ctx.delegate(name, f"question to {name}")

        async with anyio.create_task_group() as group:
            for name in NAMES:
                group.start_soon(ask, name)
        return [answers[name] for name in NAMES]

    specs = [diary.agent("ada", body=lead)]
    specs += [diary.agent(name, takes_s=2 * place + 1) for place, name in enumerate(NAMES)]
    return diary.supervisor("chief", *specs, coordination_mode="delegate", lead="ada", **fields)


async def switched(diary: Diary, chief: DynamicSupervisor, after_s: float, **to: Any) -> RunResult:
    """Return what a run comes to whose strategy is switched after so many seconds."""
    async with chief:
        results: list[RunResult] = []

        async def run() -> None:
            results.append(await told(chief))

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await diary.clock.sleep_until(diary.clock.now_ms() + round(after_s * 1000))
                await chief.reconfigure_coordination(to)
        return results[0]


ANSWERS = [f"{name}(question to {name})" for name in NAMES]


@pytest.mark.parametrize("mode", ["sequential", "parallel", "conditional", "hierarchical_review"])
async def test_everybody_works_once_when_a_lead_leads_no_more_and_its_answers_are_used(mode: str) -> None:
    diary = Diary()

    result = await switched(diary, led(diary), 2, mode=mode)

    assert (result.status, result.error, diary.now_s()) == ("done", None, 5)
    assert diary.counts() == {"ada": 1, "bob": 1, "cyd": 1, "dan": 1}
    assert all(answer in str(result.output) for answer in ANSWERS)


@pytest.mark.parametrize(("mode", "works"), [("sequential", 2), ("parallel", 2), ("graph", 2)])
async def test_what_waits_stays_with_the_lead_and_its_agent_takes_part_in_the_new_graph(mode: str, works: int) -> None:
    diary = Diary()
    nodes = [{"name": "only", "agent": "dan"}]
    settings = {"nodes": nodes} if mode == "graph" else {}

    result = await switched(diary, led(diary, max_parallel=1), 2, mode=mode, settings=settings)

    assert (result.status, result.error) == ("done", None)
    assert diary.counts() == {"ada": 1, "bob": 1, "cyd": 1, "dan": works}
    assert all(answer in str(result.output) for answer in ANSWERS)


async def test_a_lead_whose_part_of_a_chain_is_done_is_not_asked_again() -> None:
    diary = Diary()
    specs = [diary.agent("ada", takes_s=1), diary.agent("bob", takes_s=3), diary.agent("cyd", takes_s=1)]

    result = await switched(diary, diary.supervisor("chief", *specs), 2, mode="delegate", lead="ada")

    assert (result.status, result.output) == ("done", "ada(go)")
    assert diary.counts() == {"ada": 1, "bob": 1}


async def test_without_keeping_agents_what_is_done_is_kept_all_the_same() -> None:
    diary = Diary()

    result = await switched(diary, led(diary), 2, mode="parallel", preserve_agent_states=False)

    assert result.status == "done"
    assert diary.counts()["bob"] == 1
    assert "bob(question to bob)" in str(result.output)


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("conditional", {"first": "ada", "branches": [{"when": "else", "to": "bob"}]}),
        ("iterative_refinement", {"author": "ada", "critics": ["bob"]}),
        ("hierarchical_review", {"levels": [["ada"], ["bob"]]}),
        ("graph", {"nodes": [{"name": "only", "agent": "ada"}]}),
    ],
)
async def test_a_member_without_a_place_in_the_strategy_before_takes_part_in_the_new_one(
    mode: str, settings: dict[str, Any]
) -> None:
    diary = Diary()
    specs = [diary.agent(name, takes_s=2) for name in ("ada", "bob", "cyd")]
    chief = diary.supervisor("chief", *specs, coordination_mode=mode, coordination_settings=settings)

    result = await switched(diary, chief, 1, mode="parallel")

    assert result.status == "done"
    assert diary.counts() == {"ada": 1, "bob": 1, "cyd": 1}


@pytest.mark.parametrize("stage", [one for one in STAGES if one != "attached"])
async def test_a_synthesis_that_is_switched_to_is_made_by_one_that_takes_part(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, takes_s=place + 1) for place, name in enumerate(NAMES)]

    async with staged(stage, diary, *workers, coordination_mode="parallel", participants=list(NAMES)) as chief:

        async def act(run_id: str) -> None:
            async with diary.at(1.5):
                await chief.reconfigure_coordination({"mode": "parallel_then_synthesis"})

        result = await during(diary, chief, act)
        assert (result.status, diary.now_s()) == ("done", 6)

    assert (diary.order()[-1], diary.counts()) == ("dan", {"bob": 1, "cyd": 1, "dan": 2})
