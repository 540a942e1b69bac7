"""Laws of models: failed calls count at every level; conversations stay the same for open runs, and bounded."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import Submit
from engine.core.events import ModelFailed
from engine.core.events.attempt import Said
from engine.core.records.values import Usage
from engine.core.signals import ModelErred
from engine.core.state import MAX_UTTERANCES
from tests.story import submitted
from tests.world import World, agent, team_world

USAGES = st.builds(
    Usage,
    tokens_in=st.none() | st.integers(0, 9_000),
    tokens_out=st.none() | st.integers(0, 9_000),
    cost_usd=st.none() | st.decimals(0, 9, places=4),
)


def erred(key: tuple[str, int], usage: Usage, *, generation: int | None = None) -> ModelErred:
    return ModelErred(
        task_id=key[0], attempt=key[1], generation=generation, model="fast", error="busy", error_type="server",
        usage=usage,
    )  # fmt: skip


def at_work() -> tuple[World, tuple[str, int]]:
    world = team_world(agent("scout", "scout"))
    world.order(Submit(request="go"))
    (key,) = world.started
    return world, key


@given(st.data())
def test_what_failed_calls_of_models_cost_counts_at_every_level(data: st.DataObject) -> None:
    world, key = at_work()
    usages = data.draw(st.lists(USAGES, min_size=1, max_size=4))
    for usage in usages:
        (event,) = world.say(erred(key, usage))
        assert isinstance(event, ModelFailed)
    total = Usage()
    for usage in usages:
        total = total.plus(usage)

    task = world.state.tasks[key[0]]
    everybody: list[Any] = [
        world.state,
        task,
        world.state.runs[task.run_id],
        world.state.agents["a1"],
        world.state.supervisors["s1"],
    ]
    for one in everybody:
        found = one.usage or Usage()
        assert (found.tokens_in, found.tokens_out) == (total.tokens_in, total.tokens_out)
        assert (found.cost_usd or Decimal(0)) == (total.cost_usd or Decimal(0))


@given(st.data())
def test_only_the_attempt_at_work_is_heard_of_a_failed_model(data: st.DataObject) -> None:
    attempt, generation = data.draw(st.integers(0, 3)), data.draw(st.none() | st.integers(1, 3))
    world, key = at_work()
    is_live = attempt == key[1] and generation in (None, 1)

    events = world.say(erred((key[0], attempt), Usage(tokens_in=1), generation=generation))

    assert bool(events) == is_live
    assert (world.state.usage.tokens_in or 0) == int(is_live)


@given(st.data())
def test_an_open_run_is_told_the_same_at_each_attempt_and_conversations_are_bounded(data: st.DataObject) -> None:
    lengths = st.lists(st.sampled_from([0, 3, 120, 150]), max_size=5)
    before, meanwhile = data.draw(lengths), data.draw(lengths)
    world = team_world(agent("ada", max_concurrency=3))

    def ended_run(messages: int) -> None:
        run_id = submitted(world, "other", conversation="main")
        (key,) = (key for key in world.started if world.state.tasks[key[0]].run_id == run_id)
        world.succeed(key, said=[Said(role="user", text=f"{run_id} says {number}") for number in range(messages)])

    for messages in before:
        ended_run(messages)
    submitted(world, "open", conversation="main")
    told = next(one.conversation for one in world.started.values() if one.request == "open")
    texts = [[one.content for one in exchange.said] for exchange in told]
    for messages in meanwhile:
        ended_run(messages)
    world.restart()
    again = next(one.conversation for one in world.started.values() if one.request == "open")

    assert [[one.content for one in exchange.said] for exchange in again] == texts
    assert all(str(one).startswith(f"{told[at].run_id} says") for at, said in enumerate(texts) for one in said)
    world.settle()
    ended_run(1)
    (supervisor,) = world.state.supervisors.values()
    kept = supervisor.conversations["main"].exchanges.values()
    assert sum(len(exchange.said) for exchange in kept) < MAX_UTTERANCES + 150
