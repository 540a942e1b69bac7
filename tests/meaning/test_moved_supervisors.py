"""A supervisor that a program holds stays the same one wherever it is moved in its tree."""

from pathlib import Path
from typing import Any

import pytest

from engine import CommandRefusedError, DynamicSupervisor
from tests.meaning.diary import Diary

pytestmark = pytest.mark.anyio


async def tree(diary: Diary, store: Path | None = None) -> dict[str, DynamicSupervisor]:
    """A root `a` with `b` and `c` under it, `d` under `c`; one agent in each."""
    team = {name: diary.supervisor(name, diary.agent(f"in_{name}")) for name in "bcd"}
    team["a"] = diary.supervisor("a", diary.agent("in_a"), store=store)
    await team["c"].add_sub_supervisor("d", team["d"])
    await team["a"].add_sub_supervisor("b", team["b"])
    await team["a"].add_sub_supervisor("c", team["c"])
    return team


@pytest.mark.parametrize("on_file", [False, True])
async def test_a_supervisor_that_was_moved_goes_on_taking_requests_with_all_below_it(
    tmp_path: Path, *, on_file: bool
) -> None:
    diary = Diary()
    team = await tree(diary, tmp_path / "team.db" if on_file else None)

    await team["a"].move("c", "b")

    assert str(await team["c"].arun("x")) == "in_d(in_c(x))"
    assert str(await team["d"].arun("x")) == "in_d(x)"
    assert str(await team["b"].arun("x")) == "in_d(in_c(in_b(x)))"
    assert team["c"].list_active_agents() == ["in_c"]
    await team["c"].add_agent(diary.agent("more"))
    assert team["c"].list_active_agents() == ["in_c", "more"]


async def test_one_that_joins_later_does_not_make_others_forget_where_they_are() -> None:
    diary = Diary()
    team = await tree(diary)
    await team["a"].move("c", "b")

    await team["a"].add_sub_supervisor("e", diary.supervisor("e", diary.agent("in_e")))

    assert str(await team["c"].arun("x")) == "in_d(in_c(x))"


async def test_a_supervisor_that_was_removed_is_said_to_be_gone() -> None:
    diary = Diary()
    team: dict[str, Any] = await tree(diary)
    await team["a"].move("d", "b")
    await team["d"].remove_agent("in_d")
    await team["a"].remove_agent("in_a")

    await team["a"]._engine.order(lambda: _removal("d"))

    with pytest.raises(CommandRefusedError, match="no supervisor 'd'"):
        await team["d"].arun("x")


def _removal(name: str) -> Any:
    from engine.core.commands import RemoveMember

    return RemoveMember(target=name)
