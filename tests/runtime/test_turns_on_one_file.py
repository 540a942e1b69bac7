"""Supervisors of one program take turns on one file, whether they are made anew for a turn or used again."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.events import AgentBroke, AttemptFailed
from engine.core.state import AgentStatus
from engine.reading.folding import events_of, fold_file, pages
from quarterdeck import AgentSpec, DynamicSupervisor, Unusable
from store import Reader
from tests.depth import examples

Run = Callable[[str], Awaitable[str]]


def functions() -> tuple[Run, ...]:
    """Return functions that can only be had from the program that defines them: their modules do not name them."""

    async def north(text: str) -> str:
        return f"north {text}"

    async def south(text: str) -> str:
        return f"south {text}"

    async def west(text: str) -> str:
        return f"west {text}"

    return north, south, west


north, south, west = functions()
WORK: dict[str, tuple[str, Run]] = {
    "desk of the north": ("desk", north),
    "yard of the south": ("yard", south),
    "desk of the west": ("desk", west),
}
"""Supervisors by what they are: their name on the file, and the code of their agent."""


def made(what: str, path: Path) -> DynamicSupervisor:
    name, run = WORK[what]
    return DynamicSupervisor(name, agent_specs=[AgentSpec(name="w", run=run)], store=path, durability="normal")


TURNS = st.lists(st.tuples(st.sampled_from([*WORK]), st.booleans()), min_size=2, max_size=6)


@settings(max_examples=examples(8))
@given(TURNS)
def test_a_supervisor_that_is_used_again_works_as_one_that_is_made_anew(turns: list[tuple[str, bool]]) -> None:
    async def take_turns(path: Path) -> None:
        used: dict[str, DynamicSupervisor] = {}
        for number, (what, is_new) in enumerate(turns):
            team = made(what, path) if is_new else used.setdefault(what, made(what, path))
            result = await team.arun(f"turn {number}")
            assert result.output == f"{what.split()[-1]} turn {number}"

    with TemporaryDirectory() as folder:
        path = Path(folder) / "team.db"
        anyio.run(take_turns, path)
        with Reader(path) as reader:
            events = [event for page in pages(reader, 0) for event in events_of(page)]
        assert [event for event in events if isinstance(event, AttemptFailed | AgentBroke)] == []
        assert len(fold_file(path).agents) == len({WORK[what][0] for what, _ in turns})


@pytest.mark.anyio
@pytest.mark.parametrize("is_new", [True, False])
async def test_what_a_supervisor_changed_stays_while_others_have_their_turns(is_new: bool, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    desk, yard = made("desk of the north", path), made("yard of the south", path)
    await desk.swap_agent("w", AgentSpec(name="w", run=west))
    await desk.set_options(max_parallel=3)
    for _ in range(2):
        await (made("yard of the south", path) if is_new else yard).arun("x")
        assert (await desk.arun("x")).output == "west x"
    assert fold_file(path).roots[0].max_parallel == 3


@pytest.mark.anyio
async def test_an_agent_whose_code_is_not_of_the_program_is_away_and_the_rest_of_the_team_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def team(**options: object) -> DynamicSupervisor:
        specs = [AgentSpec(name="a", run=north), AgentSpec(name="b", run=north)]
        return DynamicSupervisor(
            "t", agent_specs=specs, participants=["b"], store=tmp_path / "team.db", **options  # type: ignore[arg-type]
        )  # fmt: skip

    async with team() as first:
        await first.swap_agent("a", AgentSpec(name="a", run=west))
    current = team(on_conflict="current")
    for _ in range(2):  # the second time it is used again
        async with current:
            assert [view.status for view in current.active_agents.values()] == [AgentStatus.PAUSED, AgentStatus.IDLE]
            assert (await current.arun("x")).output == "north x"
    async with current:
        await current.reconfigure_coordination({"mode": "parallel"})
        await current.swap_agent("a", AgentSpec(name="a", run=south))
        assert [view.status for view in current.active_agents.values()] == [AgentStatus.IDLE] * 2
    assert "left so" in caplog.text


@pytest.mark.anyio
async def test_a_request_for_who_is_away_is_refused_with_what_helps(tmp_path: Path) -> None:
    async with made("desk of the north", tmp_path / "team.db") as desk:
        await desk.swap_agent("w", AgentSpec(name="w", run=west))
    name, run = WORK["desk of the north"]
    specs = [AgentSpec(name="w", run=run)]
    again = DynamicSupervisor(name, agent_specs=specs, store=tmp_path / "team.db", on_conflict="current")

    with pytest.raises(Unusable, match=r"its code is not of this program, .* or swap the agent"):
        await again.arun("x")
    await again.swap_agent("w", AgentSpec(name="w", run=south))
    assert (await again.arun("x")).output == "south x"
