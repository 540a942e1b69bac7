"""A team with nobody in it refuses every request at once, whoever asks and in whichever strategy."""

from pathlib import Path

import pytest

from engine import CommandRefusedError, DynamicSupervisor, RunFailed
from engine.core.strategies import STRATEGIES
from engine.teamfile import parse_team
from tests.meaning.diary import Diary

pytestmark = pytest.mark.anyio
NO_AGENTS = "has no agents to work on it; add one first"
NEED_MEMBERS = ("graph",)
"""Strategies that cannot be set without naming members."""


@pytest.mark.parametrize("mode", [name for name in STRATEGIES if name not in NEED_MEMBERS])
async def test_a_request_to_nobody_is_refused(mode: str) -> None:
    with pytest.raises(CommandRefusedError, match=NO_AGENTS):
        await DynamicSupervisor("chief", coordination_mode=mode).arun("go")


async def test_it_is_refused_where_agents_are_discovered_and_where_it_is_only_submitted() -> None:
    async with DynamicSupervisor("chief", auto_discover=True) as chief:
        with pytest.raises(CommandRefusedError, match=NO_AGENTS):
            await chief.submit("go")


async def test_a_team_below_with_nobody_in_it_fails_its_part_at_once() -> None:
    diary = Diary()
    chief = diary.supervisor("chief", diary.agent("ada"))
    await chief.add_sub_supervisor("low", DynamicSupervisor("low"))

    with pytest.raises(RunFailed, match=f"supervisor 'low' {NO_AGENTS}"):
        await chief.arun("go")


def test_a_team_file_with_nobody_in_it_says_so() -> None:
    (warning,) = parse_team("version: 1\nsupervisor: {name: chief}\n", Path("team.yaml")).warnings

    assert warning == "this team has no agents; every request is refused until an agent is added"
