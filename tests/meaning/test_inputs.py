"""What `task.inputs` holds, for members of a sequence and of a team inside one (docs/reference/function-agents.md)."""

from typing import Any

import pytest

from tests.meaning.diary import Diary, told

pytestmark = pytest.mark.anyio


async def test_the_predecessor_is_the_last_input_also_for_a_member_of_a_team_inside_the_sequence() -> None:
    seen: dict[str, list[str]] = {}

    def watched(task: Any) -> str:
        seen[task.title] = [one.agent for one in task.inputs]
        return "done"

    diary = Diary()
    inner = [diary.agent(name, says=watched) for name in ("cyd", "dan")]
    chief = diary.supervisor("chief", diary.agent("ada", says=watched), diary.agent("bob", says=watched))
    await chief.add_sub_supervisor("below", diary.supervisor("below", *inner))

    async with chief:
        assert (await told(chief)).status == "done"

    assert seen == {"ada": [], "bob": ["ada"], "cyd": ["ada", "bob"], "dan": ["ada", "bob", "cyd"]}


async def test_a_delegated_task_has_no_inputs_and_gets_what_it_was_asked() -> None:
    seen: list[Any] = []

    def watched(task: Any) -> str:
        seen.append((task.inputs, task.text, task.value))
        return "done"

    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.delegate("bob", ["a", 1])

    diary = Diary()

    async with diary.supervisor(
        "chief", diary.agent("ada", says="x"), diary.agent("lead", body=lead), diary.agent("bob", says=watched),
        participants=["ada", "lead"],
    ) as chief:  # fmt: skip
        await told(chief)

    assert seen == [([], '["a", 1]', ["a", 1])]
