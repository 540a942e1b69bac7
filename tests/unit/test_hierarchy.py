"""Supervisors under supervisors: what flows down and up through them, and what each level costs."""

from typing import Any

import pytest

from dashboard.views.measures.digest import make_digest
from dashboard.views.network import Folding, Measures, network
from engine.core.commands import AddSupervisor, Cancel, Move, Pause, Resume, SupervisorSpec
from engine.core.queries.team.tree import Level, depth_of, height_of, levels_of, warning_of
from engine.core.records.values import Usage
from engine.core.signals import AttemptSucceeded
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, Supervisor
from engine.supervisor.metrics import metrics_of
from tests.story import applied, attempt, ended, refused, submitted, works
from tests.world import World, agent, team_world


def supervisor(world: World, name: str) -> Supervisor:
    return next(one for one in world.state.supervisors.values() if one.name == name)


def chain(*names: str, **bottom: Any) -> SupervisorSpec:
    """Supervisors one under the other, with one agent under the last."""
    first, *rest = names
    if not rest:
        return SupervisorSpec(name=first, members=[agent("ada", **bottom)])
    return SupervisorSpec(name=first, members=[chain(*rest, **bottom)])


def deep(levels_below: int, **fields: Any) -> World:
    """A chief over so many levels of supervisors, an agent at the bottom."""
    return team_world(chain(*(f"level-{number + 2}" for number in range(levels_below))), **fields)


def test_a_request_flows_down_to_the_deepest_and_its_output_flows_up() -> None:
    world = deep(5)
    submitted(world)

    world.succeed(attempt(world, "ada"), "the answer")

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "the answer")


def test_a_failure_at_the_bottom_is_the_failure_of_the_run() -> None:
    world = deep(3)
    submitted(world)

    world.fail(attempt(world, "ada"), "no such order")

    assert ended(world).status is RunStatus.FAILED
    assert "no such order" in (ended(world).error or "")


@pytest.mark.parametrize("name", ["chief", "level-2", "level-3"])
def test_a_pause_holds_everything_below_and_it_goes_on_with_the_resume(name: str) -> None:
    world = deep(2)
    world.order(Pause(target=name))
    submitted(world)
    assert works(world) == []

    world.order(Resume(target=name))

    assert works(world) == ["ada"]


def test_what_is_paused_itself_stays_so_when_the_one_above_goes_on() -> None:
    world = deep(2)
    for name in ("chief", "level-3"):
        world.order(Pause(target=name))
    submitted(world)

    world.order(Resume(target="chief"))
    assert works(world) == []
    world.order(Resume(target="level-3"))

    assert works(world) == ["ada"]


def test_a_pause_above_lets_what_runs_below_end_and_starts_no_retry() -> None:
    world = team_world(
        SupervisorSpec(name="below", members=[agent("ada", on_failure=[Retry(2, 0.001, 0.001)])]),
    )
    submitted(world)
    world.order(Pause(target="chief"))
    world.fail(attempt(world, "ada"))
    for timer in list(world.timers):
        world.due(timer)
    assert works(world) == []

    world.order(Resume(target="chief"))

    assert works(world) == ["ada"]


def test_a_cancel_of_a_run_reaches_the_deepest() -> None:
    world = deep(4)
    run = submitted(world)
    bottom = attempt(world, "ada")

    world.order(Cancel(target=run))

    assert world.stopping == {bottom}
    world.stop(bottom, "half")
    assert ended(world).status is RunStatus.CANCELLED


def test_what_is_spent_below_is_in_every_sum_above() -> None:
    world = deep(3)
    submitted(world)
    key = attempt(world, "ada")
    spent = Usage(tokens_in=7, tokens_out=2, time_ms=30)
    world.started.pop(key)
    world.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output="x", duration_ms=30, usage=spent))

    assert (ended(world).usage, world.state.usage) == (spent, spent)
    for name in ("chief", "level-2", "level-4"):
        assert metrics_of(world.state, supervisor(world, name)).usage.tokens_in == 7


def test_levels_count_supervisors_and_agents_and_what_hand_overs_cost() -> None:
    world = team_world(
        agent("lead"),
        SupervisorSpec(name="left", members=[agent("ada"), agent("bob")]),
        SupervisorSpec(name="right", members=[SupervisorSpec(name="deep", members=[agent("cyd")])]),
        participants=["left"],
    )
    submitted(world)
    world.now_ms += 20
    world.succeed(attempt(world, "ada"))
    world.now_ms += 30
    world.succeed(attempt(world, "bob"))

    assert levels_of(world.state) == [
        Level(depth=1, mean_ms=0.0),
        Level(depth=2, mean_ms=0.0),
        Level(depth=3, mean_ms=None),
    ]
    assert depth_of(world.state, supervisor(world, "deep")) == 3
    assert height_of(world.state, supervisor(world, "chief")) == 3


def test_a_hand_over_takes_what_passes_before_the_first_attempt_below_and_after_the_last() -> None:
    world = team_world(
        SupervisorSpec(name="left", mode="parallel", members=[agent("ada"), agent("bob")], max_parallel=1),
    )
    world.order(Pause(target="left"))
    submitted(world)
    world.now_ms += 40
    world.order(Resume(target="left"))
    world.now_ms += 1_000
    world.succeed(attempt(world, "ada"))
    world.now_ms += 1_000
    world.succeed(attempt(world, "bob"))
    world.now_ms += 5
    world.join(next(iter(world.joins)))

    left, chief = supervisor(world, "left"), supervisor(world, "chief")
    assert (left.hand_overs, left.hand_over_ms) == (1, 45)
    assert (chief.hand_overs, chief.hand_over_ms) == (1, 40)


def test_what_a_request_waits_for_other_runs_is_no_part_of_its_hand_over() -> None:
    world = team_world(agent("ada"))
    first = submitted(world)
    submitted(world, after=[first])
    world.now_ms += 60_000
    world.succeed(attempt(world, "ada"))
    world.now_ms += 5
    world.succeed(attempt(world, "ada"))

    chief = supervisor(world, "chief")
    assert (chief.hand_overs, chief.hand_over_ms) == (2, 0)


def test_a_group_below_which_nobody_worked_is_no_hand_over() -> None:
    world = deep(1)
    world.order(Pause(target="ada"))
    run = submitted(world)
    world.order(Cancel(target=run))

    assert supervisor(world, "level-2").hand_overs == 0


def test_from_the_fourth_level_on_a_team_that_grows_deeper_is_told_what_levels_cost() -> None:
    world = deep(2)
    assert warning_of(world.state, 3) is None
    submitted(world)
    world.settle()

    result = applied(world, AddSupervisor(parent="level-3", team=chain("level-4")))

    assert result["warning"] == "level 4: each level hands over once more, at level 2 0.0 ms, level 3 0.0 ms a request"
    assert "what that costs was not measured yet" in (warning_of(World().state, 4) or "")


def test_a_move_that_makes_a_team_deep_is_carried_out_with_a_warning() -> None:
    world = team_world(chain("level-2", "level-3"), SupervisorSpec(name="other", members=[agent("bob")]))

    assert "level 4" in applied(world, Move(target="other", parent="level-3"))["warning"]


def test_a_limit_on_depth_holds_for_what_is_added() -> None:
    world = deep(1, options=SupervisorOptions(limits=Limits(depth=2)))

    assert "may be 2 levels deep" in refused(world, AddSupervisor(parent="level-2", team=chain("level-3")))


def test_the_network_shows_the_level_and_the_cost_of_each_that_is_deep() -> None:
    world = deep(3)
    submitted(world)
    world.settle()

    sums = make_digest(world.state)
    measures = Measures(middle=True)
    shown = network(world.state, sums, {}, now_ms=world.now_ms, folding=Folding(room=99), measures=measures)
    last = {key: shown.make(key)[-1] for key in world.state.supervisors}

    assert [last[key].text for key in last] == ["", "0 ms", "0 ms", "L4 0 ms"]
    assert last["s4"].tone == "warn"
