"""What docs/reference/team-file.md promises of its keys, by counts, order and times on the virtual clock."""

from typing import Any

import anyio
import pytest

from engine import AgentSpec, Circuit, Escalate, Failover, Limits, Pool, Retry, Skip, SupervisorOptions
from tests.meaning.diary import Diary, told
from tests.meaning.stages import STAGES, staged

pytestmark = pytest.mark.anyio
on_every_stage = pytest.mark.parametrize("stage", STAGES)
TO_DIG: dict[str, Any] = {"coordination_mode": "map", "coordination_settings": {"to": "dig"}}


def diggers(diary: Diary, *names: str, takes_s: float = 1, **spec: Any) -> list[AgentSpec]:
    return [diary.agent(name, "dig", takes_s=takes_s, **spec) for name in names]


@on_every_stage
async def test_max_total_bounds_what_is_at_work_under_a_supervisor(stage: str) -> None:
    diary = Diary()
    options = SupervisorOptions(max_total=2)

    async with staged(stage, diary, *diggers(diary, "ada", "bob", "cyd"), options=options, **TO_DIG) as chief:
        await told(chief, list(range(6)))

    assert len(diary.entries) == 6
    assert diary.now_s() == 3


@pytest.mark.parametrize("stage", ["alone", "twins", "above", "paused"])
async def test_max_parallel_bounds_what_its_own_agents_have_at_work(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *diggers(diary, "ada", "bob", "cyd"), max_parallel=2, **TO_DIG) as chief:
        await told(chief, list(range(6)))

    assert diary.now_s() == 3


@on_every_stage
async def test_max_concurrency_bounds_what_one_agent_has_at_work(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *diggers(diary, "ada", max_concurrency=2), **TO_DIG) as chief:
        await told(chief, list(range(6)))

    assert diary.now_s() == 3


@on_every_stage
async def test_a_pool_grows_to_what_its_queue_asks_for(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *diggers(diary, "ada", pool=Pool(max=3, grow_at=1)), **TO_DIG) as chief:
        await told(chief, list(range(9)))

    assert diary.counts() == {"ada": 9}
    assert max(one.ended_s or 0 for one in diary.entries) <= 4


@on_every_stage
async def test_an_attempt_that_takes_longer_than_its_limit_fails_then(stage: str) -> None:
    diary = Diary()
    slow = diary.agent("ada", takes_s=5, timeout_s=2)

    async with staged(stage, diary, slow, participants=["ada"]) as chief:
        result = await told(chief)

    assert result.status == "failed"
    assert "time limit of 2 s" in str(result.error)
    assert diary.now_s() == 2


@on_every_stage
async def test_a_retry_is_the_same_agent_again_after_a_back_off(stage: str) -> None:
    diary = Diary()
    flaky = diary.fails(2, "ada", takes_s=1, on_failure=[Retry(2, base_s=10, cap_s=10)])

    async with staged(stage, diary, flaky, participants=["ada"]) as chief:
        result = await told(chief)

    assert (result.status, diary.counts()) == ("done", {"ada": 3})
    assert 3 <= diary.now_s() <= 3 + 20


@on_every_stage
async def test_failover_gives_the_task_to_another_with_one_of_its_specialties(stage: str) -> None:
    diary = Diary()
    broken = diary.fails(9, "ada", "dig", on_failure=[Failover()])
    workers = [broken, diary.agent("bob", "dig"), diary.agent("cyd", "sing")]

    async with staged(stage, diary, *workers, participants=["ada"]) as chief:
        result = await told(chief)

    assert result.status == "done"
    assert diary.counts() == {"ada": 1, "bob": 1}


@on_every_stage
async def test_a_skipped_member_does_not_hold_up_the_others(stage: str) -> None:
    diary = Diary()
    workers = [diary.fails(9, "ada", on_failure=[Skip()]), diary.agent("bob"), diary.agent("cyd")]

    async with staged(
        stage, diary, *workers, coordination_mode="parallel", participants=["ada", "bob", "cyd"]
    ) as chief:
        result = await told(chief)

    assert result.status == "done"
    assert "bob(go)" in str(result.output)


@on_every_stage
async def test_an_escalation_that_nobody_answers_takes_its_default_then(stage: str) -> None:
    diary = Diary()
    workers = [diary.fails(1, "ada", takes_s=1, on_failure=[Escalate(after_s=30, default="retry")])]

    async with staged(stage, diary, *workers, participants=["ada"]) as chief:
        result = await told(chief)

    assert (result.status, diary.counts()) == ("done", {"ada": 2})
    assert diary.now_s() == 32


@on_every_stage
async def test_priorities_go_first_and_within_one_it_is_first_come_first_served(stage: str) -> None:
    diary = Diary()

    async with (
        staged(stage, diary, *diggers(diary, "ada"), **TO_DIG) as chief,
        anyio.create_task_group() as group,
        diary.at(0),
    ):
        for text, priority in (("first", 5), ("usual", 5), ("late", 9), ("also usual", 5), ("early", 1)):
            run_id = await chief.submit([text], priority=priority)
            group.start_soon(chief.wait, run_id)

    assert [one.text for one in diary.entries] == ["first", "early", "usual", "also usual", "late"]
    assert diary.now_s() == 5


@on_every_stage
async def test_a_run_past_its_deadline_has_failed_and_keeps_what_there_is(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent("ada", takes_s=1), diary.agent("bob", takes_s=50)]

    async with staged(stage, diary, *workers, participants=["ada", "bob"]) as chief:
        result = await told(chief, deadline_s=3)

    assert result.status == "failed"
    assert "deadline of 3 s passed" in str(result.error)
    assert result.output == "ada(go)"
    assert [one.ended_s for one in diary.entries] == [1, None]


@on_every_stage
async def test_a_budget_of_attempts_counts_every_level_and_retry(stage: str) -> None:
    diary = Diary()
    flaky = diary.fails(9, "ada", on_failure=[Retry(9)])

    async with staged(stage, diary, flaky, participants=["ada"], limits=Limits(attempts=3)) as chief:
        result = await told(chief)

    assert (result.status, diary.counts()) == ("failed", {"ada": 3})
    assert "budget of 3 attempts" in str(result.error)


@on_every_stage
async def test_a_budget_of_time_counts_time_at_work_once(stage: str) -> None:
    diary = Diary()

    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.map("dig", list(range(6)))

    async with staged(
        stage, diary, *diggers(diary, "ada", "bob", "cyd"), lead=diary.agent("lead", body=lead),
        coordination_mode="delegate", coordination_settings={"lead": "lead"}, limits=Limits(time_s=6.5),
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert result.status == "done", result.error
    assert diary.now_s() == 2


@pytest.mark.parametrize(("depth", "order"), [(2, ["one", "two", "three"]), (3, ["one", "two", "three", "four"])])
@on_every_stage
async def test_delegations_nest_as_deep_as_allowed(stage: str, depth: int, order: list[str]) -> None:
    diary = Diary()

    def asks(whom: str) -> Any:
        async def body(task: Any, ctx: Any) -> Any:
            return await ctx.delegate(whom, "go")

        return body

    workers = [diary.agent("two", body=asks("three")), diary.agent("three", body=asks("four")), diary.agent("four")]
    async with staged(
        stage, diary, *workers, lead=diary.agent("one", body=asks("two")), coordination_mode="delegate",
        coordination_settings={"lead": "one"}, limits=Limits(depth=depth),
    ) as chief:  # fmt: skip
        result = await told(chief)

    assert diary.order() == order
    assert (result.output, result.status) == (("four(go)", "done") if depth == 3 else (None, "failed"))


@pytest.mark.parametrize("stage", ["alone", "teams", "paused", "attached"])  # elsewhere others are able, and asked
async def test_an_open_circuit_gives_an_agent_nothing_for_so_long(stage: str) -> None:
    diary = Diary()
    workers = [diary.fails(2, "ada", "dig", circuit=Circuit(failures=2, cool_s=60))]

    async with staged(stage, diary, *workers, **TO_DIG) as chief:
        results = [await told(chief, [number]) for number in range(3)]

    assert [result.status for result in results] == ["failed", "failed", "done"]
    assert [one.began_s for one in diary.of("ada")] == [0, 0, 60]


@pytest.mark.parametrize("stage", ["alone", "twins", "above", "paused"])
async def test_weights_share_out_the_work(stage: str) -> None:
    diary = Diary()
    workers = [*diggers(diary, "ada", weight=3), *diggers(diary, "bob", weight=1)]
    options = SupervisorOptions(balance="weight")

    async with staged(stage, diary, *workers, max_parallel=1, options=options, **TO_DIG) as chief:
        await told(chief, list(range(40)))

    assert diary.counts() == {"ada": 30, "bob": 10}


@pytest.mark.parametrize("stage", ["alone", "twins", "above", "paused"])
async def test_the_faster_of_two_gets_more_under_performance_after_both_were_tried(stage: str) -> None:
    diary = Diary()
    workers = [*diggers(diary, "slow", takes_s=10), *diggers(diary, "fast", takes_s=1)]
    options = SupervisorOptions(balance="performance")

    async with staged(stage, diary, *workers, max_parallel=1, options=options, **TO_DIG) as chief:
        await told(chief, list(range(30)))

    counts = diary.counts()
    assert counts["fast"] > 20
    assert counts["slow"] >= 1
