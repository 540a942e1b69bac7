"""Agents that are chosen by the words of a request (`auto_discover`): who, how many, in what order."""

from typing import Any

import pytest

from engine import AgentSpec, CommandRefusedError, DiscoveryConfig, DynamicSupervisor, Limits, Unusable
from tests.meaning.diary import Diary, told
from tests.meaning.stages import IN_TEAMS, STAGES, staged

pytestmark = pytest.mark.anyio
on_every_stage = pytest.mark.parametrize("stage", STAGES)
WHERE_NOBODY_IS_PAUSED = [stage for stage in STAGES if stage != "paused"]
"""Work may wait for who is paused, so a pause does not keep anybody from being chosen."""
SKILLS = {"ada": "cooking", "bob": "gardening", "cyd": "sewing"}


def skilled(diary: Diary) -> list[AgentSpec]:
    return [diary.agent(name, skill, takes_s=1) for name, skill in SKILLS.items()]


@pytest.mark.parametrize("stage", WHERE_NOBODY_IS_PAUSED)
async def test_only_those_whom_the_request_speaks_of_work_in_the_order_of_its_words(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *skilled(diary), auto_discover=True) as chief:
        result = await told(chief, "do some gardening, then cooking")

    assert result.output == "ada(bob(do some gardening, then cooking))"
    assert diary.now_s() == 2


@on_every_stage
async def test_no_more_are_chosen_than_allowed(stage: str) -> None:
    diary = Diary()

    async with staged(
        stage, diary, *skilled(diary), auto_discover=True, discovery=DiscoveryConfig(max_matches=2),
        participants=list(SKILLS), coordination_mode="parallel",
    ) as chief:  # fmt: skip
        await told(chief, "sewing, gardening, cooking")

    assert (len(diary.entries), diary.now_s()) == (2, 1)


@on_every_stage
async def test_what_nobody_matches_is_for_the_default_agent(stage: str) -> None:
    diary = Diary()

    async with staged(
        stage, diary, *skilled(diary), auto_discover=True, default_agent="cyd", participants=list(SKILLS)
    ) as chief:
        await told(chief, "topic12")

    assert diary.counts() == {"cyd": 1}


@on_every_stage
async def test_what_nobody_matches_is_refused_without_one_and_names_who_is_near(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *skilled(diary), auto_discover=True, participants=list(SKILLS)) as chief:
        with pytest.raises(CommandRefusedError, match=r"no agent can 'gardning'; .*bob"):
            await told(chief, "gardning")

    assert diary.entries == []


@pytest.mark.parametrize("stage", WHERE_NOBODY_IS_PAUSED)
async def test_who_leads_is_chosen_among_those_who_can_work(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *skilled(diary), coordination_mode="delegate") as chief:
        await told(chief, "cooking and gardening")

    assert sum(diary.counts().values()) == 1


async def test_who_has_spent_its_budget_is_chosen_for_what_nobody_else_claims() -> None:
    diary = Diary()
    once = diary.agent("cyd", "sewing", limits=Limits(attempts=1))

    async with diary.supervisor("chief", *skilled(diary)[:2], once, auto_discover=True) as chief:
        results = [await told(chief, request) for request in ("sewing", "gardening", "sewing and gardening")]

    assert [one.status for one in results] == ["done", "done", "failed"]
    assert diary.counts() == {"cyd": 1, "bob": 1}


async def test_of_equals_the_one_with_the_better_record_is_chosen() -> None:
    diary = Diary()
    fails = diary.agent("ada", "digging", says=lambda task: RuntimeError("no"))

    async with diary.supervisor("chief", fails, diary.agent("bob", "digging"), auto_discover=True) as chief:
        results = [await told(chief, "digging") for _ in range(3)]

    assert [one.status for one in results] == ["failed", "done", "done"]
    assert diary.order() == ["ada", "bob", "bob"]


@pytest.mark.parametrize("size", [40, 1_000])
async def test_one_of_many_is_chosen_by_a_whole_word(size: int) -> None:
    diary = Diary()
    workers = [diary.agent(f"w{number}", f"topic{number}") for number in range(size)]

    async with diary.supervisor("chief", *workers, auto_discover=True, max_agents=size) as chief:
        await told(chief, "topic12")
        found = [one.name for one in chief.discover_agents("topic1, then topic13")]

    assert (diary.counts(), found) == ({"w12": 1}, ["w1", "w13"])


@pytest.mark.parametrize("stage", [one for one in WHERE_NOBODY_IS_PAUSED if one not in IN_TEAMS])
async def test_who_is_found_is_who_works(stage: str) -> None:
    diary = Diary()

    async with staged(stage, diary, *skilled(diary), auto_discover=True) as chief:
        found = [one.name for one in chief.discover_agents("sewing, gardening")]
        await told(chief, "sewing, gardening")

    assert found == diary.order() == ["cyd", "bob"]


async def test_a_request_for_an_agent_in_error_alone_is_refused_at_once(tmp_path: Any) -> None:
    before, diary = Diary(), Diary()
    async with before.supervisor("chief", *skilled(before), store=tmp_path / "team.db"):
        pass

    again: DynamicSupervisor = diary.supervisor(
        "chief", *skilled(diary)[:2], store=tmp_path / "team.db", auto_discover=True
    )
    async with again:
        with pytest.raises(Unusable, match="'cyd' cannot work"):
            await told(again, "cooking and sewing")
        assert (await told(again, "cooking and gardening")).status == "done"
