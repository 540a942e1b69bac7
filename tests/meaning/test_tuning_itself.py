"""What `enable_auto_coordination_optimization` lets a supervisor change by itself, when, and when it goes back."""

from typing import Any

import pytest

from engine import DynamicSupervisor, SupervisorOptions, UnknownOption
from engine.core.encoding.codec import decode_events
from engine.core.events import CoordinationTuned
from tests.meaning.diary import Diary, told
from tests.meaning.stages import staged

pytestmark = pytest.mark.anyio
FASTER = {"switch_to_parallel_when_slow": True}
SURER = {"optimize_agent_selection": True}


def pair(diary: Diary, takes_s: dict[str, float]) -> list[Any]:
    """Agents that take as long as is written at that moment."""

    async def body(task: Any, ctx: Any) -> str:
        await ctx.sleep(takes_s[ctx.agent])
        return "done"

    return [diary.agent(name, "dig", body=body) for name in takes_s]


async def modes_of(chief: DynamicSupervisor, runs: int) -> str:
    """Return the first letter of the strategy of each run."""
    modes = ""
    for _ in range(runs):
        modes += chief.coordination_mode[0]
        await told(chief)
    return modes


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "attached"])
async def test_slow_runs_are_made_parallel_after_twenty_and_not_before(stage: str) -> None:
    diary = Diary()
    workers = pair(diary, {"ada": 2, "bob": 2})

    async with staged(stage, diary, *workers, participants=["ada", "bob"]) as chief:
        await chief.enable_auto_coordination_optimization(FASTER)
        assert await modes_of(chief, 22) == "s" * 20 + "pp"

    assert diary.now_s() == 20 * 4 + 2 * 2


@pytest.mark.parametrize(
    ("takes_s", "mode"), [({"ada": 9, "bob": 1}, "sequential"), ({"ada": 8, "bob": 2}, "parallel")]
)
async def test_the_threshold_is_the_share_of_the_speed_that_is_possible(takes_s: dict[str, float], mode: str) -> None:
    diary = Diary()

    async with diary.supervisor("chief", *pair(diary, takes_s)) as chief:
        await chief.enable_auto_coordination_optimization(FASTER | {"performance_threshold": 0.85})
        await modes_of(chief, 21)
        assert chief.coordination_mode == mode


@pytest.mark.parametrize(("grown_s", "modes"), [(4.3, "s" * 20 + "p" * 41), (4.5, "s" * 20 + "p" * 20 + "s" * 21)])
async def test_what_made_runs_slower_by_a_tenth_is_taken_back_once_and_says_why(grown_s: float, modes: str) -> None:
    diary, takes_s = Diary(), {"ada": 2.0, "bob": 2.0}

    async with diary.supervisor("chief", *pair(diary, takes_s)) as chief:
        await chief.enable_auto_coordination_optimization(FASTER)
        found = ""
        for _ in range(61):
            found += await modes_of(chief, 1)
            takes_s["ada"] = grown_s if chief.coordination_mode == "parallel" else 2.0

    rows = [(seq, row.kind, row.body) for seq, row in enumerate(chief._engine._offline._rows, 1)]
    tuned = [event for event in decode_events(rows) if isinstance(event, CoordinationTuned)]
    assert found == modes
    assert [event.kind for event in tuned] == (["parallel", "back"] if "ps" in modes else ["parallel"])
    assert "one took 4.0 s, and its longest attempt 2.0 s" in tuned[0].why
    assert tuned[-1] is tuned[0] or "4.5 s instead of 4.0 s over 20 runs" in tuned[-1].why


async def test_where_runs_fail_those_who_did_well_are_asked_first() -> None:
    diary = Diary()
    bad = diary.agent("bad", "dig", says=lambda task: RuntimeError("no"), takes_s=1)
    workers = [bad, diary.agent("good", "dig", takes_s=1)]

    async with diary.supervisor(
        "chief", *workers, coordination_mode="map", coordination_settings={"to": "dig"}
    ) as chief:
        await chief.enable_auto_coordination_optimization(SURER | FASTER)
        statuses = [(await told(chief, [number])).status.value for number in range(30)]

    assert statuses == ["failed", "done"] * 10 + ["done"] * 10


async def test_a_permission_that_is_taken_back_changes_nothing_any_more() -> None:
    diary = Diary()

    async with diary.supervisor("chief", *pair(diary, {"ada": 2, "bob": 2})) as chief:
        await chief.enable_auto_coordination_optimization(FASTER)
        await modes_of(chief, 19)
        await chief.enable_auto_coordination_optimization(None)
        assert await modes_of(chief, 3) == "sss"
        await chief.enable_auto_coordination_optimization(FASTER)
        assert await modes_of(chief, 2) == "sp"  # the runs before count


@pytest.mark.parametrize("settings", [{"performance_threshold": 2}, {"performance_threshold": 0}, {"faster": True}])
async def test_what_cannot_be_permitted_is_refused_and_changes_nothing(settings: dict[str, Any]) -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada"), options=SupervisorOptions()) as chief:
        with pytest.raises((UnknownOption, ValueError)):
            await chief.enable_auto_coordination_optimization(settings)
        assert chief._supervisor.options.optimize is None
