"""A program describes its team in any order; who is named and is not there is told when the team is whole."""

from pathlib import Path
from typing import Any

import pytest

from engine import CommandRefusedError
from tests.meaning.diary import Diary, told

pytestmark = pytest.mark.anyio

NAMING: dict[str, dict[str, Any]] = {
    "conditional": {
        "coordination_mode": "conditional",
        "coordination_settings": {"first": "ada", "branches": [{"when": "else", "to": "bugs"}]},
    },
    "graph": {
        "coordination_mode": "graph",
        "coordination_settings": {
            "nodes": [{"name": "one", "agent": "ada"}, {"name": "two", "team": "bugs", "after": ["one"]}]
        },
    },
    "review": {
        "coordination_mode": "hierarchical_review",
        "coordination_settings": {"levels": [["ada"], ["bugs"]]},
    },
    "lead": {"coordination_mode": "delegate", "lead": "bugs"},
    "lead in the settings": {"coordination_mode": "delegate", "coordination_settings": {"lead": "bugs"}},
    "aggregator": {"coordination_mode": "parallel_then_synthesis", "aggregator": "bugs"},
    "participants": {"participants": ["ada", "bugs"]},
}
naming = pytest.mark.parametrize("options", NAMING.values(), ids=NAMING)


@naming
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "for one call"])
async def test_a_team_may_be_named_before_it_joins(options: dict[str, Any], kept: bool) -> None:
    diary = Diary()
    chief = diary.supervisor("chief", diary.agent("ada"), **options)
    await chief.add_sub_supervisor("bugs", diary.supervisor("any", diary.agent("fixer")))

    if kept:
        async with chief:
            result = await told(chief)
    else:
        result = await told(chief)

    assert result.status == "done"
    assert diary.counts()["fixer"] == 1


@naming
async def test_who_never_joins_is_told_at_the_first_request_and_where_the_engine_is_kept(
    options: dict[str, Any],
) -> None:
    diary = Diary()

    with pytest.raises(CommandRefusedError, match="'bugs'") as raised:
        await told(diary.supervisor("chief", diary.agent("ada"), **options))
    with pytest.raises(CommandRefusedError, match="'bugs'"):
        async with diary.supervisor("chief", diary.agent("ada"), **options):
            raise AssertionError("it is not to begin")

    assert "\n" not in str(raised.value)
    assert not diary.entries


@naming
async def test_a_team_on_a_file_may_be_named_before_it_joins_too(options: dict[str, Any], tmp_path: Path) -> None:
    diary = Diary()
    chief = diary.supervisor("chief", diary.agent("ada"), store=tmp_path / "team.db", **options)
    await chief.add_sub_supervisor("bugs", diary.supervisor("any", diary.agent("fixer")))

    async with chief:
        assert (await told(chief)).status == "done"


async def test_the_same_holds_deeper_in_the_tree() -> None:
    diary = Diary()
    middle = diary.supervisor("any", diary.agent("bob"), coordination_mode="delegate", lead="deep")
    chief = diary.supervisor("chief", diary.agent("ada"))
    await chief.add_sub_supervisor("middle", middle)

    with pytest.raises(CommandRefusedError, match="'deep'"):
        await told(chief)
    await middle.add_agent(diary.agent("deep"))

    assert (await told(chief)).status == "done"


async def test_a_team_that_is_whole_is_not_switched_to_members_that_are_not_there() -> None:
    diary = Diary()

    async with diary.supervisor("chief", diary.agent("ada")) as chief:
        for change in ({"mode": "delegate", "lead": "bugs"}, {"mode": "map", "settings": {"over": "bugs"}}):
            with pytest.raises(CommandRefusedError, match="'bugs'"):
                await chief.reconfigure_coordination(change)
        with pytest.raises(CommandRefusedError, match="'bugs'"):
            await chief.add_sub_supervisor("below", diary.supervisor("any", diary.agent("bob"), lead="bugs"))
