"""What docs/operating.md promises of changing a team at work: who goes on, who begins again, what is kept, and when."""

from typing import Any

import anyio
import pytest

from engine import DynamicSupervisor, RunResult, SupervisorOptions
from tests.meaning.diary import Diary, told
from tests.meaning.stages import IN_TEAMS, STAGES, staged
from tests.patience import PATIENCE_S

IN_TIME = [stage for stage in STAGES if stage not in (*IN_TEAMS, "attached")]
"""Not where an agent's name is that of its team, nor where a command takes real time to arrive."""
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("stage", IN_TIME)]
TO_DIG: dict[str, Any] = {"coordination_mode": "map", "coordination_settings": {"to": "dig"}}


async def begun(chief: DynamicSupervisor, group: Any, request: Any = "go", **duties: Any) -> str:
    """Submit a request, let its end be waited for, and return its run."""
    run_id = await chief.submit(request, **duties)
    group.start_soon(told_of, chief, run_id)
    return run_id


async def told_of(chief: DynamicSupervisor, run_id: str) -> None:
    with anyio.fail_after(PATIENCE_S):
        await chief.wait(run_id)


async def test_a_paused_agent_ends_what_it_has_begun_and_begins_nothing(stage: str) -> None:
    diary = Diary()
    ada = diary.agent("ada", "dig", takes_s=2)

    async with staged(stage, diary, ada, **TO_DIG) as chief, anyio.create_task_group() as group:
        await begun(chief, group, [1, 2])
        async with diary.at(1):
            await chief.pause("ada")
        async with diary.at(10):
            await chief.resume("ada")

    assert [(one.began_s, one.ended_s) for one in diary.of("ada")] == [(0, 2), (10, 12)]


async def test_a_paused_supervisor_begins_nothing_below_it(stage: str) -> None:
    diary = Diary()
    ada = diary.agent("ada", "dig", takes_s=2)

    async with staged(stage, diary, ada, **TO_DIG) as chief, anyio.create_task_group() as group:
        await begun(chief, group, [1, 2])
        async with diary.at(1):
            await chief.pause()
        async with diary.at(10):
            await chief.resume()

    assert [one.began_s for one in diary.of("ada")] == [0, 10]


async def test_cancel_stops_at_the_next_step_and_keeps_the_steps(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, diary.in_steps("ada", steps=9), participants=["ada"]) as chief:
        run_id = await chief.submit("go")
        async with diary.at(2.5):
            await chief.cancel(run_id)
        with pytest.raises(Exception, match="cancelled"):
            await chief.wait(run_id)
        assert diary.now_s() == 3

    assert len(diary.steps) == 3


@pytest.mark.parametrize(
    ("mode", "output", "ended_s"),
    [
        ("drain", "ada0 ada1 ada2", 3),
        ("migrate", "ada0 adanew1 adanew2", 4),
        ("abort", "adanew0 adanew1 adanew2", 4),
    ],
)
async def test_a_swap_ends_on_the_old_spec_goes_on_or_begins_again(
    stage: str, mode: Any, output: str, ended_s: float
) -> None:
    diary = Diary()
    results: list[RunResult] = []

    async with staged(stage, diary, diary.in_steps("ada"), participants=["ada"]) as chief:
        async with anyio.create_task_group() as group:
            run_id = await chief.submit("go")

            async def wait() -> None:
                results.append(await chief.wait(run_id))

            group.start_soon(wait)
            async with diary.at(1.5 if mode == "migrate" else 1):
                await chief.swap_agent("ada", diary.in_steps("ada", team="new"), mode=mode)
        assert await told(chief) is not None

    assert str(results[0].output).count(" ") == 2
    assert str(results[0].output).startswith(output.split()[0])


async def test_a_reassigned_task_keeps_its_finished_steps(stage: str) -> None:
    diary = Diary()
    workers = [diary.in_steps("ada"), diary.in_steps("bob")]
    results: list[RunResult] = []

    async with staged(stage, diary, *workers, participants=["ada"]) as chief, anyio.create_task_group() as group:
        run_id = await chief.submit("go")

        async def wait() -> None:
            results.append(await chief.wait(run_id))

        group.start_soon(wait)
        async with diary.at(1.5):
            await chief.reassign(str(chief.active_agents["ada"].current_task), "bob")

    assert results[0].output == "ada0 ada1 bob2"
    assert diary.now_s() == 3


async def test_a_removed_agent_gives_its_queue_to_others(stage: str) -> None:
    diary = Diary()
    workers = [diary.agent(name, "dig", takes_s=2) for name in ("ada", "bob")]

    async with staged(stage, diary, *workers, **TO_DIG) as chief, anyio.create_task_group() as group:
        await begun(chief, group, [1, 2, 3, 4])
        async with diary.at(1):
            await chief.remove_agent("ada", mode="drain")

    assert diary.counts() == {"ada": 1, "bob": 3}
    assert diary.now_s() == 6


async def test_an_added_agent_takes_part_in_what_waits(stage: str) -> None:
    diary = Diary()

    async with (
        staged(stage, diary, diary.agent("ada", "dig", takes_s=2), **TO_DIG) as chief,
        anyio.create_task_group() as group,
    ):
        await begun(chief, group, [1, 2, 3, 4, 5])
        async with diary.at(1):
            await chief.add_agent(diary.agent("bob", "dig", takes_s=2))

    assert diary.counts() == {"ada": 3, "bob": 2}
    assert diary.now_s() == 6


async def test_a_run_after_another_begins_when_that_is_done(stage: str) -> None:
    diary = Diary()

    async with (
        staged(stage, diary, diary.agent("ada", takes_s=2, max_concurrency=5), participants=["ada"]) as chief,
        anyio.create_task_group() as group,
    ):
        first = await begun(chief, group, "first")
        await begun(chief, group, "second", after=[first])

    assert [(one.text, one.began_s) for one in diary.entries] == [("first", 0), ("second", 2)]


async def test_an_urgent_request_takes_the_slot_at_the_next_step_and_nothing_is_lost(stage: str) -> None:
    diary = Diary()
    options = SupervisorOptions()

    async with (
        staged(stage, diary, diary.in_steps("ada"), participants=["ada"], options=options) as chief,
        anyio.create_task_group() as group,
    ):
        await begun(chief, group, "usual")
        async with diary.at(0.5):
            await begun(chief, group, "urgent", priority=0)

    assert [(one.text, one.began_s) for one in diary.entries] == [("usual", 0), ("urgent", 1), ("usual", 4)]
    assert diary.now_s() == 6
    assert len(diary.steps) == 6


async def test_a_deadline_set_later_counts_from_then(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, diary.agent("ada", takes_s=50), participants=["ada"]) as chief:
        run_id = await chief.submit("go")
        async with diary.at(5):
            await chief.set_deadline(run_id, 3)
        with pytest.raises(Exception, match="deadline"):
            await chief.wait(run_id)
        assert diary.now_s() == 8


async def test_priority_changed_later_counts_for_what_waits(stage: str) -> None:
    diary = Diary()
    ada = diary.agent("ada", takes_s=2)

    async with staged(stage, diary, ada, participants=["ada"]) as chief, anyio.create_task_group() as group:
        for name in ("first", "second", "third"):
            last = await begun(chief, group, name)
        async with diary.at(1):
            await chief.set_priority(last, 1)

    assert [one.text for one in diary.entries] == ["first", "third", "second"]
