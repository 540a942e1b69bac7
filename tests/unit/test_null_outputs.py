"""What becomes of a member whose output is null: in joins, and for who comes after it."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.supervisor.dynamic import DynamicSupervisor
from quarterdeck import Context, Task, VirtualClock
from tests.depth import examples
from tests.story import attempt, submitted
from tests.world import World, agent, team_world

THREE = [agent(name) for name in ("ada", "bob", "cyd")]


def at_work(mode: str, *, aggregation: str = "concat", **settings: Any) -> World:
    options = SupervisorOptions(settings=settings)
    world = team_world(*THREE, mode=mode, aggregation=aggregation, options=options)
    submitted(world)
    return world


@pytest.mark.parametrize(("aggregation", "joined"), [("concat", ["bob"]), ("vote", ["bob"]), ("best", ["bob"])])
def test_a_null_is_not_joined(aggregation: str, joined: list[str]) -> None:
    world = at_work("parallel", aggregation=aggregation)
    for name, output in (("ada", None), ("bob", "B"), ("cyd", None)):
        world.succeed(attempt(world, name), output)

    ((_, join),) = world.joins.items()
    assert [one.agent for one in join.inputs] == joined


def test_a_null_counts_for_need() -> None:
    world = at_work("parallel", need=2)
    world.succeed(attempt(world, "ada"), None)
    world.succeed(attempt(world, "bob"), "B")

    assert world.stopping == {attempt(world, "cyd")}


def outcome(outputs: Sequence[Any], mode: str, **options: Any) -> tuple[Any, list[str]]:
    """Return the output of a run whose members give these outputs, and the texts that they got, in their order."""
    texts: list[str] = []

    def member(number: int, output: Any) -> AgentSpec:
        async def run(task: Task, ctx: Context) -> Any:
            texts.append(task.text)
            await ctx.sleep(number)
            return output

        return AgentSpec(name=f"m{number}", run=run)

    specs = [member(number, output) for number, output in enumerate(outputs, 1)]
    team = DynamicSupervisor("desk", agent_specs=specs, coordination_mode=mode, clock=VirtualClock())

    async def work() -> Any:
        if options:
            await team.reconfigure_coordination(options)
        return (await team.arun("go")).output

    return anyio.run(work), texts


@pytest.mark.parametrize("outputs", [(None, "B"), ("A", None), (None, None)])
def test_first_is_what_arrives_first_also_where_that_is_null(outputs: tuple[Any, Any]) -> None:
    assert outcome(outputs, "parallel", aggregation="first")[0] == outputs[0]


@given(st.lists(st.sampled_from([None, "A", "B"]), min_size=1, max_size=4))
@settings(max_examples=examples(8))
def test_who_comes_after_a_null_in_a_sequence_gets_what_that_one_got(outputs: list[str | None]) -> None:
    output, texts = outcome(outputs, "sequential")

    assert output == outputs[-1]
    expected = ["go"]
    for before in outputs[:-1]:
        expected.append(expected[-1] if before is None else before)
    assert texts == expected


@pytest.mark.parametrize("mode", ["sequential_with_validation", "hierarchical_review", "parallel_then_synthesis"])
def test_who_has_nothing_but_null_before_it_gets_the_request(mode: str) -> None:
    assert outcome([None, "fine"], mode)[1] == ["go", "go"]
