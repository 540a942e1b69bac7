"""A program that starts again on its file: what it declares wins or what was changed since, and either is said."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine import AgentSpec, DynamicSupervisor
from engine.core.commands import Winner
from tests.meaning.diary import Diary

pytestmark = pytest.mark.anyio


@pytest.fixture
def said() -> Iterator[list[str]]:
    """Yield what was said of members that were changed since they were declared; grows while the test goes on."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    log, handler = logging.getLogger("engine.supervisor.adoption"), Handler()
    log.addHandler(handler)
    yield lines
    log.removeHandler(handler)


def started(path: Path, *specs: AgentSpec, on_conflict: Winner = "declared", **options: Any) -> DynamicSupervisor:
    return DynamicSupervisor("chief", agent_specs=specs, store=path, on_conflict=on_conflict, **options)


@pytest.mark.parametrize(("on_conflict", "then", "told"), [("declared", 10, "set back"), ("current", 3, "left so")])
async def test_a_setting_that_was_changed_since(
    tmp_path: Path, said: list[str], on_conflict: Winner, then: int, told: str
) -> None:
    path, ada = tmp_path / "team.db", Diary().agent("ada")
    async with started(path, ada) as team:
        await team.set_options(max_parallel=3)

    async with started(path, ada, on_conflict=on_conflict) as again:
        assert again._supervisor.max_parallel == then
    assert said == [f"changed chief: max_parallel 3 → 10 (changed since it was declared; {told})"]


async def test_what_was_left_so_stays_until_the_program_wins(tmp_path: Path, said: list[str]) -> None:
    path, ada = tmp_path / "team.db", Diary().agent("ada")
    async with started(path, ada) as team:
        await team.set_options(max_parallel=3)
    for declared in (10, 5):
        async with started(path, ada, on_conflict="current", max_parallel=declared) as again:
            assert again._supervisor.max_parallel == 3
    async with started(path, ada, max_parallel=5) as again:
        assert again._supervisor.max_parallel == 5
    assert len(said) == 3

    async with started(path, ada, max_parallel=7) as again:
        assert again._supervisor.max_parallel == 7
    assert len(said) == 3


async def test_what_was_changed_and_changed_back_is_no_conflict(tmp_path: Path, said: list[str]) -> None:
    path, ada = tmp_path / "team.db", Diary().agent("ada")
    async with started(path, ada) as team:
        await team.set_options(max_parallel=3)
        await team.set_options(max_parallel=10)

    async with started(path, ada, on_conflict="current", max_parallel=5) as again:
        assert again._supervisor.max_parallel == 5
    assert said == []


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
async def test_a_strategy_that_was_switched_since_keeps_the_settings_that_are_its_own(
    tmp_path: Path, on_conflict: Winner
) -> None:
    """Settings alone would stand as they were declared last, while the strategy that needs others is the program's."""
    path, ada, bob = tmp_path / "team.db", Diary().agent("ada"), Diary().agent("bob")
    drawn = {"nodes": [{"name": "one", "agent": "ada"}, {"name": "two", "agent": "bob", "after": ["one"]}]}
    async with started(path, ada, bob) as team:
        team.coordination_mode = "parallel"

    graph: dict[str, Any] = {"coordination_mode": "graph", "coordination_settings": drawn}
    async with started(path, ada, bob, on_conflict=on_conflict, **graph) as again:
        assert again._supervisor.mode == ("graph" if on_conflict == "declared" else "parallel")
        assert again._supervisor.options.settings == (drawn if on_conflict == "declared" else {})
    async with started(path, ada, bob, on_conflict="current", coordination_mode="sequential") as again:
        assert again._supervisor.mode == ("sequential" if on_conflict == "declared" else "parallel")
        assert again._supervisor.options.settings == {}


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
async def test_an_agent_that_was_swapped_since(tmp_path: Path, said: list[str], on_conflict: Winner) -> None:
    path, diary = tmp_path / "team.db", Diary()
    ada = AgentSpec(name="ada", run=shout)
    async with started(path, ada) as team:
        await team.swap_agent("ada", AgentSpec(name="ada", run=whisper, timeout_s=5))

    again = started(path, ada, on_conflict=on_conflict)
    assert str(await again.arun("Xy")) == ("XY" if on_conflict == "declared" else "xy")
    assert [line.partition(":")[0] for line in said] == ["swapped chief/ada"]
    assert diary.entries == []


async def shout(text: str) -> str:
    return text.upper()


async def whisper(text: str) -> str:
    return text.lower()


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
async def test_a_member_that_was_moved_since_is_not_doubled(
    tmp_path: Path, said: list[str], on_conflict: Winner
) -> None:
    async def program(diary: Diary) -> DynamicSupervisor:
        chief = started(tmp_path / "team.db", diary.agent("ada"), on_conflict=on_conflict)
        low = diary.supervisor("low", diary.agent("bob"))
        await chief.add_sub_supervisor("low", low)
        return chief

    chief = await program(Diary())
    await chief.move("ada", "low")

    diary = Diary()
    chief = await program(diary)
    assert str(await chief.arun("x")) == ("bob(ada(x))" if on_conflict == "declared" else "ada(bob(x))")
    assert diary.counts() == {"ada": 1, "bob": 1}
    told = "set back" if on_conflict == "declared" else "left so"
    assert said == [f"moved chief/low/ada → chief/ada (changed since it was declared; {told})"]


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
async def test_a_supervisor_that_was_moved_since_is_still_the_one_of_the_program(
    tmp_path: Path, said: list[str], on_conflict: Winner
) -> None:
    async def program(diary: Diary) -> dict[str, DynamicSupervisor]:
        team = {name: diary.supervisor(name, diary.agent(f"in_{name}")) for name in ("low", "deep")}
        team["chief"] = started(tmp_path / "team.db", diary.agent("ada"), on_conflict=on_conflict)
        for name in ("low", "deep"):
            await team["chief"].add_sub_supervisor(name, team[name])
        return team

    team = await program(Diary())
    await team["chief"].move("deep", "low")

    diary = Diary()
    team = await program(diary)
    assert str(await team["deep"].arun("x")) == "in_deep(x)"
    assert str(await team["chief"].arun("x")) == "in_deep(in_low(ada(x)))"
    assert diary.counts() == {"ada": 1, "in_low": 1, "in_deep": 2}


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
async def test_an_agent_that_was_removed_since(tmp_path: Path, said: list[str], on_conflict: Winner) -> None:
    path, diary = tmp_path / "team.db", Diary()
    async with started(path, diary.agent("ada"), diary.agent("bob")) as team:
        await team.remove_agent("bob")

    again = started(path, diary.agent("ada"), diary.agent("bob"), on_conflict=on_conflict)
    expected = {"declared": "bob(ada(x))", "current": "ada(x)"}
    assert str(await again.arun("x")) == expected[on_conflict]
    assert [line.partition(" (")[0] for line in said] == ["added chief/bob"]


async def test_an_agent_that_a_program_removes_and_adds_again_is_no_conflict(tmp_path: Path, said: list[str]) -> None:
    diary = Diary()
    async with started(tmp_path / "team.db", diary.agent("ada"), diary.agent("bob"), on_conflict="current") as team:
        await team.remove_agent("bob")
        await team.add_agent(diary.agent("bob"))
        assert str(await team.arun("x")) == "bob(ada(x))"
    assert said == []


async def test_agents_work_in_the_order_in_which_they_are_declared_now(tmp_path: Path) -> None:
    diary = Diary()
    await started(tmp_path / "team.db", diary.agent("ada"), diary.agent("bob")).arun("x")

    again = started(tmp_path / "team.db", diary.agent("bob"), diary.agent("new"), diary.agent("ada"))
    assert str(await again.arun("x")) == "ada(new(bob(x)))"


async def test_a_word_that_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="on_conflict must be declared or current, not 'file'"):
        started(tmp_path / "team.db", on_conflict="file")  # type: ignore[arg-type]


async def test_work_that_was_cut_off_goes_on_with_its_steps_before_what_waits_behind_it(tmp_path: Path) -> None:
    first, second = Diary(), Diary()

    def team(diary: Diary) -> DynamicSupervisor:
        async def body(task: Any, ctx: Any) -> str:
            for number in range(3):

                async def step(number: int = number) -> None:
                    await diary.works(1)
                    diary.steps.append((str(task.text), "", number))

                await ctx.step(f"step {number}", step)
            return f"did {task.text}"

        return diary.supervisor("chief", diary.agent("ada", body=body), store=tmp_path / "team.db")

    async with team(first) as chief:
        first.clock.hold()
        for text in ("one", "two", "three"):
            await chief.submit(text)
        await chief.submit("urgent", priority=1)
        first.clock.release()
        await first.clock.sleep_until(first.clock.now_ms() + 1500)

    async with team(second) as chief:
        outputs = [(await chief.wait(run_id)).output for run_id in ("r1", "r2", "r3", "r4")]

    assert outputs == ["did one", "did two", "did three", "did urgent"]
    assert [one.text for one in second.entries] == ["urgent", "one", "two", "three"]
    assert len(first.steps) + len(second.steps) <= 3 * 4 + 1  # the step in which it was cut off
    assert [number for text, _, number in second.steps if text == "one"] == [1, 2]


async def test_delegations_that_were_done_are_not_asked_again(tmp_path: Path) -> None:
    first, second = Diary(), Diary()

    def team(diary: Diary) -> DynamicSupervisor:
        async def lead(task: Any, ctx: Any) -> Any:
            return [await ctx.delegate("bob", "b"), *await ctx.map("dig", [1, 2, 3])]

        workers = [diary.agent("bob", takes_s=1), diary.agent("ada", "dig", takes_s=1)]
        return diary.supervisor(
            "chief", diary.agent("lead", body=lead), *workers, coordination_mode="delegate", lead="lead",
            store=tmp_path / "team.db",
        )  # fmt: skip

    async with team(first) as chief:
        first.clock.hold()
        await chief.submit("go")
        first.clock.release()
        await first.clock.sleep_until(first.clock.now_ms() + 2500)

    async with team(second) as chief:
        result = await chief.wait("r1")

    assert result.output == ["bob(b)", "ada(1)", "ada(2)", "ada(3)"]
    assert (first.order(), second.counts()) == (["lead", "bob", "ada", "ada"], {"lead": 1, "ada": 2})
