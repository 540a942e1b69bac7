"""Who keeps failing gets nothing to do for a while, and then one attempt to show that it works again."""

from engine.core.commands import Cancel, Resume, Submit, SwapAgent
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Circuit, Failover
from tests.story import applied, attempt, attempts, kinds, member, only, submitted, works
from tests.world import World, agent, team_world

TWICE = Circuit(failures=2, cool_s=10.0)


def failing(times: int, **fields: object) -> World:
    """Return a world whose ada failed so many times in a row, with three more tasks for her."""
    world = team_world(agent("ada", circuit=TWICE, max_concurrency=2, **fields))
    for _ in range(times):
        submitted(world)
        world.fail(attempt(world, "ada"))
    return world


def test_a_circuit_opens_after_so_many_failures_in_a_row() -> None:
    world = failing(1)
    submitted(world)
    world.succeed(attempt(world, "ada"))
    submitted(world)
    world.fail(attempt(world, "ada"))
    assert member(world, "ada").circuit == "closed"

    submitted(world)
    opened = only(world.fail(attempt(world, "ada")), "circuit_opened")

    assert (opened.failures, opened.cool_s, opened.due_ms) == (2, 10.0, world.now_ms + 10_000)


def test_nothing_starts_on_an_agent_whose_circuit_is_open_and_one_attempt_once_it_has_cooled_down() -> None:
    world = failing(2)
    for _ in range(3):
        submitted(world)
    assert works(world) == []

    world.due(f"circuit:{member(world, 'ada').id}")

    assert works(world) == ["ada"]
    closed = world.succeed(attempt(world, "ada"))
    assert "circuit_closed" in kinds(closed)
    assert works(world) == ["ada", "ada"]


def test_a_failure_of_the_one_attempt_opens_it_for_twice_as_long_up_to_ten_times() -> None:
    world = failing(2)
    cools = []
    for _ in range(6):
        submitted(world)
        world.due(f"circuit:{member(world, 'ada').id}")
        cools.append(only(world.fail(attempts(world, "ada")[0]), "circuit_opened").cool_s)

    assert cools == [20, 40, 80, 100, 100, 100]


def test_an_attempt_that_is_stopped_says_nothing_and_lets_another_through() -> None:
    world = failing(2)
    first = submitted(world)
    submitted(world)
    world.due(f"circuit:{member(world, 'ada').id}")
    applied(world, Cancel(target=first))
    world.stop(next(iter(world.stopping)))

    assert (member(world, "ada").circuit, works(world)) == ("half_open", ["ada"])


def test_the_one_attempt_may_delegate_to_its_own_agent() -> None:
    world = failing(2)
    submitted(world)
    world.due(f"circuit:{member(world, 'ada').id}")
    asker = attempt(world, "ada")

    world.ask(asker, "ada", ["x", "y"])
    (child,) = [one for one in attempts(world, "ada") if one != asker]
    assert "circuit_closed" in kinds(world.succeed(child))

    world.settle()
    assert not world.state.runs


def test_the_one_attempt_counts_again_once_the_work_that_it_delegated_is_done() -> None:
    world = team_world(agent("ada", circuit=TWICE, max_concurrency=2), agent("bob"), participants=["ada"])
    for _ in range(2):
        submitted(world)
        world.fail(attempt(world, "ada"))
    submitted(world)
    world.due(f"circuit:{member(world, 'ada').id}")
    asker = attempt(world, "ada")

    world.ask(asker, "bob", ["x"])
    assert member(world, "ada").probe is None
    world.succeed(attempt(world, "bob"))
    submitted(world)

    assert works(world) == ["ada"]
    assert "circuit_opened" in kinds(world.fail(asker))


def test_a_failover_goes_around_an_open_circuit() -> None:
    crew = [agent(name, "parse", on_failure=[Failover()], circuit=Circuit(1, 10.0)) for name in ("ada", "bob", "cyd")]
    world = team_world(*crew, participants=["ada"])
    submitted(world)
    world.fail(attempt(world, "ada"))
    world.fail(attempt(world, "bob"))
    world.fail(attempt(world, "cyd"))
    world.due(f"circuit:{member(world, 'ada').id}")
    world.due(f"circuit:{member(world, 'cyd').id}")

    submitted(world)
    world.fail(attempt(world, "ada"))

    assert works(world) == ["cyd"]


def test_an_operator_or_a_swap_closes_it_at_once() -> None:
    world = failing(2)
    submitted(world)
    assert works(world) == []

    applied(world, Resume(target="ada"))
    assert works(world) == ["ada"]
    assert not world.state.timers

    world = failing(2)
    submitted(world)
    applied(
        world,
        SwapAgent(
            agent="ada",
            spec=agent("ada", timeout_s=5),
        ),
    )
    assert works(world) == ["ada"]


def test_what_is_set_for_a_supervisor_holds_for_agents_without_a_circuit_of_their_own() -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(circuit=Circuit(1, 5.0)))
    submitted(world)

    assert only(world.fail(attempt(world, "ada")), "circuit_opened").cool_s == 5.0


def test_a_circuit_outlives_the_engine() -> None:
    world = failing(2)
    world.order(Submit(request="go"))

    world.crash()

    assert works(world) == []
    world.due(f"circuit:{member(world, 'ada').id}")
    assert works(world) == ["ada"]
    world.crash()
    assert works(world) == ["ada"]


def test_without_a_circuit_no_number_of_failures_stops_an_agent() -> None:
    world = team_world(agent("ada"))
    for _ in range(20):
        submitted(world)
        events = world.fail(attempt(world, "ada"))

    assert "circuit_opened" not in kinds(events)
