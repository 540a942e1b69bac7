"""Decide: the engine's own end, and requests where there is no team."""

from engine.core.commands import HandOver, Order, StopEngine, Submit
from engine.core.events import CommandRefused, EngineStopped
from engine.core.signals import EngineBegan
from tests.world import World, agent, team_world


def test_a_stop_that_waited_for_an_engine_that_is_gone_ends_no_later_one() -> None:
    world = team_world(agent("ada"))
    world.say(EngineBegan(pid=2, token=2, version="test"))

    (late,) = world.order(StopEngine(token=1))
    meant = world.order(StopEngine(token=2))

    assert isinstance(late, CommandRefused)
    assert isinstance(meant[0], EngineStopped)
    assert meant[0].final, "those that stand by end too"


def test_a_hand_over_ends_the_engine_that_is_meant_and_lets_another_go_on() -> None:
    world = team_world(agent("ada"))
    world.say(EngineBegan(pid=2, token=2, version="test"))

    (late,) = world.order(HandOver(token=1))
    stopped, applied = world.order(HandOver(token=2))

    assert isinstance(late, CommandRefused)
    assert isinstance(stopped, EngineStopped)
    assert not stopped.final
    assert applied.type == "command_applied"


def test_a_request_without_a_team_says_how_to_get_one() -> None:
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))

    (refused,) = world.say(Order(id="c", command=Submit(request="work")))

    assert isinstance(refused, CommandRefused)
    assert refused.code == "no_team"
    assert "quarterdeck up" in refused.reason
