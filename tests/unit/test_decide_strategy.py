"""A strategy switched in the middle of a run: done stays done, what is at work goes on, the rest is rewired."""

from pydantic import JsonValue

from engine.core.commands import Cancel, Pause, Reassign, Resume, SetDeadline, Submit, SupervisorSpec, SwitchStrategy
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry, Skip
from engine.core.state import RunStatus, TaskStatus
from tests.legal import assert_legal
from tests.story import (
    applied,
    attempt,
    ended,
    found,
    only,
    refused,
    start_of,
    submitted,
    works,
)
from tests.world import World, agent, team_world

FOUR = (agent("ada"), agent("bob"), agent("cyd"), agent("dan"))


def sequential() -> World:
    """Ada is done, bob is at work, cyd and dan have not started."""
    world = team_world(*FOUR)
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")
    return world


def parallel() -> World:
    """Ada is done, bob and cyd are at work, dan waits for a slot."""
    world = team_world(*FOUR, mode="parallel", max_parallel=2)
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")
    return world


def starts_of(world: World) -> list[str]:
    return [start.agent for start in world.starts]


def test_to_parallel_what_has_not_started_gets_the_request_and_what_is_done_at_once() -> None:
    world = sequential()

    applied(world, SwitchStrategy(mode="parallel"))

    assert works(world) == ["bob", "cyd", "dan"]
    for name in ("cyd", "dan"):
        start = start_of(world, name)
        assert (start.takes, start.input, [one.output for one in start.inputs]) == ("context", "go", ["from ada"])


def test_to_parallel_everything_is_joined_what_was_done_before_as_well() -> None:
    world = sequential()
    world.order(SwitchStrategy(mode="parallel", aggregation="vote"))
    for name in ("bob", "cyd", "dan"):
        world.succeed(attempt(world, name), f"from {name}")

    ((key, join),) = world.joins.items()

    assert (join.join, [one.agent for one in join.inputs]) == ("vote", ["ada", "bob", "cyd", "dan"])
    world.join(key)
    assert ended(world).status is RunStatus.DONE


def test_to_sequential_what_has_not_started_is_chained_after_everything_that_is_at_work() -> None:
    world = parallel()
    assert works(world) == ["bob", "cyd"]

    applied(world, SwitchStrategy(mode="sequential"))

    world.succeed(attempt(world, "bob"), "from bob")
    assert works(world) == ["cyd"]
    world.succeed(attempt(world, "cyd"), "from cyd")
    start = start_of(world, "dan")
    assert (start.takes, [one.output for one in start.inputs]) == (
        "context",
        ["from ada", "from bob", "from cyd"],
    )
    world.succeed(attempt(world, "dan"), "from dan")
    assert ended(world).output == "from dan"


def test_to_sequential_the_join_has_no_place_any_more() -> None:
    world = parallel()

    event = only(world.order(SwitchStrategy(mode="sequential")), "strategy_switched")

    (change,) = event.groups
    assert [world.state.tasks[task_id].kind for task_id in change.removed] == ["join"]
    assert world.state.tasks[change.removed[0]].status is TaskStatus.SKIPPED


def test_done_and_running_nodes_never_run_again_however_often_the_strategy_is_switched() -> None:
    world = sequential()
    for mode in ("parallel", "sequential", "parallel", "sequential"):
        world.order(SwitchStrategy(mode=mode))

    world.settle()

    assert sorted(starts_of(world)) == ["ada", "bob", "cyd", "dan"]
    assert ended(world).status is RunStatus.DONE


def test_a_run_that_was_switched_alone_is_switched_from_its_own_strategy() -> None:
    world = sequential()
    (run_id,) = world.state.runs
    world.order(SwitchStrategy(mode="parallel", scope="run", run=run_id))

    there = world.order(SwitchStrategy(mode="delegate", lead="ada", scope="run", run=run_id))
    back = world.order(SwitchStrategy(mode="sequential", scope="run", run=run_id))

    assert only(there, "strategy_switched").previous == "parallel"
    assert only(back, "strategy_switched").previous == "delegate"
    summary = only(back, "command_applied").summary
    assert summary == f"switched chief from delegate to sequential in {run_id}"


def test_one_event_says_what_is_kept_cancelled_added_and_removed() -> None:
    world = sequential()
    ada = next(iter(world.state.tasks.values())).children[0]
    bob = attempt(world, "bob")[0]

    event = only(world.order(SwitchStrategy(mode="parallel")), "strategy_switched")

    (change,) = event.groups
    assert (event.previous, event.mode, event.scope) == ("sequential", "parallel", "open")
    assert (change.kept, change.cancelled, change.removed) == ([ada, bob], [], [])
    assert [node.kind for node in change.added] == ["join"]
    assert len(change.after) == 2


def test_without_preserving_states_what_is_at_work_is_stopped_and_its_partial_result_is_context() -> None:
    world = sequential()
    bob = attempt(world, "bob")

    event = only(world.order(SwitchStrategy(mode="sequential", preserve_agent_states=False)), "strategy_switched")

    assert event.groups[0].cancelled == [bob[0]]
    assert world.stopping == {bob}
    world.stop(bob, "half of it")
    start = start_of(world, "cyd")
    assert [one.output for one in start.inputs] == ["from ada", "half of it"]
    world.settle()
    assert sorted(starts_of(world)) == ["ada", "bob", "cyd", "dan"]
    assert ended(world).status is RunStatus.DONE


def test_a_partial_result_is_context_after_every_later_switch() -> None:
    world = sequential()
    bob = attempt(world, "bob")
    world.order(SwitchStrategy(mode="sequential", preserve_agent_states=False))
    world.stop(bob, "half of it")

    world.order(SwitchStrategy(mode="parallel"))

    assert [one.output for one in start_of(world, "dan").inputs] == ["from ada", "half of it"]


def test_without_preserving_states_to_parallel_the_others_start_at_once() -> None:
    world = sequential()

    world.order(SwitchStrategy(mode="parallel", preserve_agent_states=False))

    assert works(world) == ["bob", "cyd", "dan"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_task_that_backs_off_keeps_its_place() -> None:
    world = team_world(agent("ada", on_failure=[Retry()]), agent("bob"))
    submitted(world)
    world.fail(attempt(world, "ada"))

    world.order(SwitchStrategy(mode="parallel"))

    assert works(world) == ["bob"]
    world.settle()
    assert starts_of(world) == ["ada", "bob", "ada"]
    assert ended(world).status is RunStatus.DONE


def test_what_failed_but_may_is_no_context_and_what_was_skipped_stays_skipped() -> None:
    world = team_world(agent("ada", on_failure=[Skip()]), agent("bob"), agent("cyd"))
    submitted(world)
    world.fail(attempt(world, "ada"))

    world.order(SwitchStrategy(mode="parallel"))

    assert works(world) == ["bob", "cyd"]
    assert (start_of(world, "cyd").takes, start_of(world, "cyd").inputs) == ("request", [])


def test_with_scope_new_open_runs_go_on_as_they_were_planned() -> None:
    world = sequential()

    result = applied(world, SwitchStrategy(mode="parallel", scope="new"))

    assert works(world) == ["bob"]
    assert (result["kept"], result["replanned"]) == (0, 0)
    submitted(world, "another")
    assert works(world) == ["bob", "ada", "cyd", "dan"]


def test_the_strategy_of_a_sub_supervisor_is_switched_alone() -> None:
    below = SupervisorSpec(name="below", members=[agent("bob"), agent("cyd")])
    world = team_world(agent("ada"), below, agent("dan"))
    submitted(world)
    world.succeed(attempt(world, "ada"))
    assert works(world) == ["bob"]

    world.order(SwitchStrategy(supervisor="below", mode="parallel"))

    assert works(world) == ["bob", "cyd"]
    assert [one.mode for one in world.state.supervisors.values()] == ["sequential", "parallel"]


def test_a_synthesis_that_is_switched_to_gets_a_node_for_its_aggregator() -> None:
    world = team_world(*FOUR, participants=["ada", "bob", "cyd"])
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")

    applied(world, SwitchStrategy(mode="parallel", aggregation="synthesis", aggregator="dan"))

    for name in ("bob", "cyd"):
        world.succeed(attempt(world, name), f"from {name}")
    assert [one.agent for one in start_of(world, "dan").inputs] == ["ada", "bob", "cyd"]


def test_an_aggregator_that_has_not_started_takes_its_own_place() -> None:
    world = sequential()

    world.order(SwitchStrategy(mode="parallel", aggregation="synthesis", aggregator="cyd"))

    assert works(world) == ["bob", "dan"]
    world.settle()
    assert starts_of(world) == ["ada", "bob", "dan", "cyd"]


def test_the_aggregation_alone_can_be_changed() -> None:
    world = team_world(*FOUR, mode="parallel")
    submitted(world)

    event = only(world.order(SwitchStrategy(aggregation="vote")), "strategy_switched")

    assert (event.mode, event.aggregation) == ("parallel", "vote")
    for name in works(world):
        world.succeed(attempt(world, name))
    assert [join.join for join in world.joins.values()] == ["vote"]


def test_results_that_are_being_joined_are_joined_as_before() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world)
    world.succeed(attempt(world, "ada"))
    world.succeed(attempt(world, "bob"))

    world.order(SwitchStrategy(mode="sequential"))

    world.settle()
    assert ended(world).output == "joined"


def test_a_run_that_is_cancelled_is_not_rewired() -> None:
    world = sequential()
    world.order(Cancel(target="r1"))

    event = only(world.order(SwitchStrategy(mode="parallel")), "strategy_switched")

    assert event.groups == []


def test_a_graph_below_what_is_cancelled_is_not_rewired() -> None:
    inner = SupervisorSpec(name="inner", members=[agent("ada"), agent("bob")])
    world = team_world(SupervisorSpec(name="outer", members=[inner]), agent("cyd"))
    submitted(world)
    outer = next(task.id for task in world.state.tasks.values() if task.title == "outer")
    world.order(Cancel(target=outer))

    switched = only(world.order(SwitchStrategy(supervisor="inner", mode="parallel")), "strategy_switched")

    assert switched.groups == []


def test_a_run_that_has_ended_stays_as_it_ended() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")

    event = only(world.order(SwitchStrategy(mode="parallel")), "strategy_switched")

    assert event.groups == []
    assert ended(world).output == "from ada"


def test_what_cannot_be_right_is_refused_and_nothing_changes() -> None:
    world = sequential()

    assert "there are conditional, delegate" in refused(world, SwitchStrategy(mode="zigzag"))
    assert "aggregation must be concat, vote" in refused(world, SwitchStrategy(aggregation="sum"))  # type: ignore[arg-type]
    assert "no supervisor" in refused(world, SwitchStrategy(supervisor="chef", mode="parallel"))
    assert "no agent 'eve'" in refused(
        world, SwitchStrategy(mode="parallel", aggregation="synthesis", aggregator="eve")
    )
    assert world.state.supervisors["s1"].mode == "sequential"


def test_what_is_chained_after_a_fan_gets_every_output_of_it() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel", max_parallel=2)
    world.order(Submit(request="work"))
    first, second = world.started
    world.order(Pause(target="cyd"))
    world.succeed(first, "from ada")
    world.succeed(second, "from bob")

    world.order(SwitchStrategy(supervisor="chief", mode="sequential"))
    world.order(Resume(target="cyd"))

    (start,) = world.started.values()
    assert [one.output for one in start.inputs] == ["from ada", "from bob"]
    assert start.takes == "context"


def test_switching_to_what_it_is_already_changes_nothing_for_those_that_wait() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    world.order(Submit(request="work"))
    world.succeed(next(iter(world.started)), "from ada")
    world.order(SwitchStrategy(supervisor="chief", mode="sequential"))
    world.succeed(next(iter(world.started)), "from bob")

    (start,) = world.started.values()
    assert start.takes == "previous"
    assert [one.output for one in start.inputs] == ["from ada", "from bob"]


def reviewed() -> World:
    """Ada has drafted, the others have reviewed it, and a built-in node looks at the scores."""
    world = team_world(*FOUR, mode="iterative_refinement")
    submitted(world)
    world.succeed(attempt(world, "ada"), "a draft")
    for name in ("bob", "cyd", "dan"):
        world.succeed(attempt(world, name), "poor")
    return world


def test_a_queued_turn_of_another_round_is_withdrawn_and_the_draft_at_work_is_the_output() -> None:
    world = reviewed()
    found(world, score=0.1, enough=False)
    queued = [
        task.id for task in world.state.tasks.values() if task.kind == "agent" and task.role.startswith("critic:2")
    ]

    (change,) = only(world.order(SwitchStrategy(mode="sequential")), "strategy_switched").groups

    assert [task_id for task_id in change.removed if task_id in queued] == queued
    assert len(queued) == 3
    assert {world.state.tasks[task_id].error for task_id in queued} == {"strategy switched"}
    world.succeed(attempt(world, "ada"), "a better draft")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "a better draft")


def test_the_draft_of_the_round_before_is_the_output_where_the_whole_next_round_is_withdrawn() -> None:
    world = reviewed()
    world.order(Pause(target="r1"))
    found(world, score=0.1, enough=False)

    world.order(SwitchStrategy(mode="sequential"))

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "a draft")


def test_to_sequential_where_all_have_begun_every_output_is_joined_as_before() -> None:
    world = team_world(*FOUR, mode="parallel")
    submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")

    world.order(SwitchStrategy(mode="sequential"))
    for name in ("bob", "cyd", "dan"):
        world.succeed(attempt(world, name), f"from {name}")

    (join,) = world.joins.values()
    assert [one.output for one in join.inputs] == ["from ada", "from bob", "from cyd", "from dan"]
    assert_legal(world.state)
    world.settle()
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "joined")


def test_a_node_that_another_member_took_over_is_no_further_turn_of_that_member() -> None:
    world = sequential()
    waiting = [task.id for task in world.state.tasks.values() if task.title in ("cyd", "dan")]
    applied(world, Reassign(task=waiting[1], agent="cyd"))

    (change,) = only(world.order(SwitchStrategy(mode="parallel")), "strategy_switched").groups

    assert set(waiting) <= change.after.keys()


def test_a_drawing_with_other_settings_places_its_unstarted_nodes_again() -> None:
    nodes: list[JsonValue] = [
        {"name": "one", "agent": "ada"},
        {"name": "two", "agent": "bob", "after": ["one"]},
        {"name": "three", "agent": "ada", "after": ["two"]},
    ]
    world = team_world(*FOUR, mode="graph", options=SupervisorOptions(settings={"nodes": nodes}))
    submitted(world)
    settings: dict[str, JsonValue] = {"nodes": [*nodes, {"name": "four", "agent": "cyd", "after": ["three"]}]}

    (change,) = only(world.order(SwitchStrategy(mode="graph", settings=settings)), "strategy_switched").groups

    assert change.removed == []


def test_what_ended_before_its_turn_makes_no_circle_with_what_is_wired_after_it() -> None:
    nodes: list[JsonValue] = [
        {"name": "one", "agent": "ada"},
        {"name": "two", "agent": "bob", "after": ["one"], "optional": True},
        {"name": "three", "agent": "cyd", "after": ["two"]},
        {"name": "four", "agent": "dan", "after": ["one", "three"]},
    ]
    world = team_world(*FOUR, mode="graph", options=SupervisorOptions(settings={"nodes": nodes}))
    world.order(Pause(target="ada"))
    submitted(world)
    between = next(task.id for task in world.state.tasks.values() if task.title == "bob")
    world.order(SetDeadline(target=between, deadline_s=1))
    world.due(f"deadline:{between}")
    world.succeed(attempt(world, "cyd"))

    world.order(SwitchStrategy(mode="sequential"))

    assert_legal(world.state)


def test_a_failure_that_the_strategy_before_put_up_with_fails_nothing_after_a_switch() -> None:
    world = team_world(*FOUR, mode="parallel", options=SupervisorOptions(settings={"need": 2}))
    submitted(world)
    world.fail(attempt(world, "ada"))

    applied(world, SwitchStrategy(mode="sequential", settings={}, scope="open"))
    world.settle()

    assert ended(world).status is RunStatus.DONE


def test_a_switch_of_one_run_names_it_by_its_id_in_each_form() -> None:
    world = team_world(agent("ada", max_concurrency=2), agent("bob"))
    for _ in range(2):
        world.order(Submit(request="go"))

    for form, mode in (("r2", "parallel"), ("@r2", "sequential")):
        (event,) = [
            one
            for one in world.order(SwitchStrategy(mode=mode, scope="run", run=form))
            if one.type == "strategy_switched"
        ]
        assert getattr(event, "run_id", None) == "r2"
