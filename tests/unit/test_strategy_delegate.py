"""One leads and asks the others; without a lead the best match does it alone."""

from collections import Counter
from typing import Any

from engine.core.commands import Submit, SwitchStrategy
from engine.core.events import GroupChange
from engine.core.legality import faults_of
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from tests.story import Key, attempt, done, ended, only, refused, seen_by, submitted, works
from tests.world import World, agent, team_world


def led(lead: str | None = "ada") -> World:
    members = [agent("ada"), agent("bob", "cooking"), agent("cyd", "sewing")]
    return team_world(*members, mode="delegate", options=SupervisorOptions(lead=lead))


def test_the_lead_gets_the_request_and_what_it_says_is_the_output() -> None:
    world = led()
    submitted(world)
    assert works(world) == ["ada"]
    world.ask(attempt(world, "ada"), "cooking", ["soup"])
    assert works(world) == ["ada", "bob"]
    done(world, "bob", "soup is ready")
    done(world, "ada", "dinner")

    assert ended(world).output == "dinner"


def test_without_a_lead_the_one_that_matches_best_gets_it() -> None:
    world = led(None)
    submitted(world, "some sewing has to be done")

    assert works(world) == ["cyd"]


def test_without_a_lead_and_a_match_a_request_is_refused() -> None:
    assert "no agent can" in refused(led(None), Submit(request="prove the theorem"))


def test_switching_to_it_without_a_lead_is_refused() -> None:
    world = team_world(agent("ada"), agent("bob"))

    assert "no lead" in refused(world, SwitchStrategy(mode="delegate"))
    assert "did you mean ada" in refused(world, SwitchStrategy(mode="delegate", lead="adda"))


def test_switched_to_what_has_not_started_is_dropped_and_the_lead_gets_all_outputs() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), agent("dan"))
    submitted(world)
    done(world, "ada")

    event = only(world.order(SwitchStrategy(mode="delegate", lead="dan")), "strategy_switched")

    assert [world.state.tasks[one].title for one in event.groups[0].removed] == ["cyd"]
    done(world, "bob")
    assert seen_by(world, "dan") == ["from ada", "from bob"]
    done(world, "dan", "all of it")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "all of it")


def test_the_output_of_a_lead_that_is_done_is_that_of_the_graph() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    submitted(world)
    done(world, "ada")
    change = switched(world, "delegate", lead="ada")
    done(world, "bob")

    assert [world.state.tasks.get(one) for one in change.removed] == [None]
    assert [start.agent for start in world.starts] == ["ada", "bob"]
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from ada")


def switched(world: World, mode: str, **fields: Any) -> GroupChange:
    """Switch the strategy, and return what becomes of the one graph."""
    (change,) = only(world.order(SwitchStrategy(mode=mode, **fields)), "strategy_switched").groups
    assert isinstance(change, GroupChange)
    return change


def asking() -> tuple[World, dict[str, Key]]:
    """Return a world whose lead has asked for four things: one is done, two are at work, one waits."""
    crew = [agent(name) for name in ("ada", "bob", "cyd", "dan")]
    world = team_world(*crew, mode="delegate", max_parallel=2, options=SupervisorOptions(lead="ada"))
    submitted(world)
    lead = attempt(world, "ada")
    for place, name in enumerate(("bob", "cyd", "dan", "bob")):
        world.ask(lead, name, [f"item {place}"], call=f"k{place}")
    keys = {"ada": lead, **{name: attempt(world, name) for name in ("bob", "cyd")}}
    done(world, "bob", "x")
    return world, keys | {"dan": attempt(world, "dan")}


def test_switched_from_the_lead_goes_on_and_what_it_has_asked_for_becomes_nodes() -> None:
    world, keys = asking()
    (waiting,) = [task.id for task in world.state.tasks.values() if task.title == "item 3"]

    change = switched(world, "sequential")

    assert (change.cancelled, change.removed, change.added) == ([], [], [])
    assert change.adopted == [keys[name][0] for name in ("bob", "cyd", "dan")]
    assert set(change.kept) == {*change.adopted, keys["ada"][0], waiting}
    world.settle()
    assert Counter(start.agent for start in world.starts) == {"ada": 1, "bob": 2, "cyd": 1, "dan": 1}
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "done")


def test_switched_to_parallel_everything_that_was_done_is_joined() -> None:
    world, _ = asking()
    switched(world, "parallel")
    for name in ("cyd", "dan", "bob", "ada"):
        done(world, name)

    ((_, join),) = world.joins.items()

    assert [(one.agent, one.output) for one in join.inputs] == [
        ("ada", "from ada"), ("bob", "x"), ("cyd", "from cyd"), ("dan", "from dan"),
    ]  # fmt: skip


def test_a_lead_that_goes_on_gets_its_answers_in_the_new_graph_too_also_after_a_crash() -> None:
    world, _ = asking()
    switched(world, "parallel")
    world.crash()
    lead = attempt(world, "ada")
    for place, name in enumerate(("bob", "cyd", "dan", "bob")):
        world.ask(lead, name, [f"item {place}"], call=f"k{place}")
    for name in ("cyd", "dan", "bob"):
        done(world, name)

    assert not world.waits(lead)
    assert [event.type for event in world.journal].count("delegated") == 4
    assert not list(faults_of(world.state))


def test_switched_from_a_lead_that_is_not_kept_stops_with_what_it_asked_for_and_what_is_done_stays() -> None:
    world, keys = asking()

    change = switched(world, "sequential", preserve_agent_states=False)

    assert change.cancelled == [keys[name][0] for name in ("ada", "cyd", "dan")]
    assert change.kept == [keys["bob"][0]]
    assert [world.state.tasks[one].title for one in change.removed] == ["item 3"]
    assert [node.title for node in change.added] == ["cyd", "dan"]
    for name in ("ada", "cyd", "dan"):
        world.stop(keys[name], f"half of {name}")
    assert works(world) == ["cyd"]
    assert seen_by(world, "cyd") == ["half of ada", "x", "half of cyd", "half of dan"]
    done(world, "cyd")
    done(world, "dan", "a plan")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "a plan")


def test_a_switch_that_would_leave_nothing_of_a_run_is_refused_with_the_reason() -> None:
    world = team_world(agent("ada"), mode="delegate", options=SupervisorOptions(lead="ada"))
    submitted(world)

    reason = refused(world, SwitchStrategy(mode="sequential", preserve_agent_states=False))

    assert reason.startswith("all that is left of r1 is ada, which would be stopped; let what is at work go on")
    assert switched(world, "sequential").cancelled == []
    done(world, "ada")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from ada")


def test_switched_to_conditional_the_output_of_the_lead_is_looked_at_and_nobody_is_cancelled() -> None:
    world, _ = asking()
    change = switched(world, "conditional")
    for name in ("cyd", "dan", "bob"):
        done(world, name)
    done(world, "ada", "a plan")
    found_nothing(world)

    assert change.cancelled == []
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "a plan")


def found_nothing(world: World) -> None:
    """Let every guard that is looked at not hold."""
    for key in list(world.checks):
        world.find(key, holds=[], said="")


def test_a_delegation_that_fails_after_the_switch_is_the_matter_of_who_asked_for_it() -> None:
    world, keys = asking()
    switched(world, "parallel")
    world.fail(keys["cyd"])
    for name in ("dan", "bob", "ada"):
        done(world, name)
    world.settle()

    assert ended(world).status is RunStatus.DONE


def test_what_was_asked_for_fills_no_part_of_another_strategy_and_is_context() -> None:
    world, _ = asking()
    nodes = [{"name": "one", "agent": "bob"}, {"name": "two", "agent": "cyd", "after": ["one"]}]
    switched(world, "graph", settings={"nodes": nodes})
    for name in ("cyd", "dan", "bob"):
        done(world, name)
    done(world, "ada", "a plan")

    assert works(world) == ["bob"]
    assert seen_by(world, "bob") == ["a plan", "x", "from cyd", "from dan"]
    world.settle()
    assert ended(world).status is RunStatus.DONE
