"""A supervisor that may change how it coordinates by itself: when it does, and when it takes that back."""

from engine.core.commands import ChangeSupervisor, Submit
from engine.core.events import CoordinationTuned, StrategySwitched
from engine.core.policies.auto_tuning import MIN_RUNS
from engine.core.signals import AttemptErred, AttemptSucceeded
from engine.core.specs.options import Optimize, SupervisorOptions
from tests.world import World, agent, team_world

EVERYTHING = Optimize(switch_to_parallel_when_slow=True, optimize_agent_selection=True)


def tuned_world(optimize: Optimize | None = EVERYTHING, **settings: str) -> World:
    options = SupervisorOptions(optimize=optimize, **settings)  # type: ignore[arg-type]
    return team_world(agent("ada", "parse"), agent("bob", "write"), agent("cyd", "sum"), options=options)


def work(world: World, runs: int, *, takes_ms: int = 100, fails: bool = False) -> None:
    """Let runs be worked on, each attempt as long as told."""
    for _ in range(runs):
        world.order(Submit(request="count"))
        while world.started or world.joins:
            for key in list(world.joins):
                world.join(key)
            keys = list(world.started)
            world.now_ms += takes_ms
            for task_id, attempt in keys:
                del world.started[task_id, attempt]
                if fails:
                    world.say(AttemptErred(task_id=task_id, attempt=attempt, error="broken", error_type="OSError"))
                else:
                    world.say(AttemptSucceeded(task_id=task_id, attempt=attempt, output="done", duration_ms=takes_ms))


def tunings(world: World) -> list[CoordinationTuned]:
    return [event for event in world.journal if isinstance(event, CoordinationTuned)]


def test_slow_runs_one_after_the_other_are_switched_to_parallel_with_the_evidence() -> None:
    world = tuned_world()

    work(world, MIN_RUNS)

    (said,) = tunings(world)
    assert (said.kind, said.metric, said.runs) == ("parallel", "median_ms", MIN_RUNS)
    assert (said.before, said.expected) == (300, 100)
    assert next(iter(world.state.supervisors.values())).mode == "parallel"


def test_nothing_is_changed_on_too_few_runs_or_without_permission() -> None:
    few, forbidden = tuned_world(), tuned_world(Optimize())

    work(few, MIN_RUNS - 1)
    work(forbidden, MIN_RUNS)

    assert tunings(few) == tunings(forbidden) == []


def test_a_change_after_which_runs_go_slower_is_taken_back_and_not_tried_again() -> None:
    world = tuned_world()
    work(world, MIN_RUNS)

    work(world, MIN_RUNS, takes_ms=900)
    work(world, 2 * MIN_RUNS)

    assert [said.kind for said in tunings(world)] == ["parallel", "back"]
    assert next(iter(world.state.supervisors.values())).mode == "sequential"
    switches = [event.mode for event in world.journal if isinstance(event, StrategySwitched)]
    assert switches == ["parallel", "sequential"]


def test_runs_that_fail_let_agents_that_did_well_be_asked_first() -> None:
    world = tuned_world(Optimize(optimize_agent_selection=True))

    work(world, MIN_RUNS, fails=True)

    (said,) = tunings(world)
    assert (said.kind, said.before) == ("selection", 0.0)
    assert next(iter(world.state.supervisors.values())).options.balance == "performance"


def test_runs_that_fail_change_nothing_without_permission_or_where_that_was_chosen_already() -> None:
    forbidden = tuned_world(Optimize())
    chosen = tuned_world(Optimize(optimize_agent_selection=True), balance="performance")

    for world in (forbidden, chosen):
        work(world, MIN_RUNS, fails=True)

    assert tunings(forbidden) == tunings(chosen) == []


def test_permission_is_given_while_the_team_works_and_counts_what_was_before() -> None:
    world = tuned_world(None)
    work(world, MIN_RUNS - 1)
    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(optimize=EVERYTHING)))

    work(world, 1)

    assert [said.kind for said in tunings(world)] == ["parallel"]
