"""A law of supervisors that have failed: they take nothing until somebody resumes them, and then they work again."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import Command, Pause, Resume, Submit
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Restart
from tests.story import applied, kinds
from tests.world import World, agent, team_world


def failed_world(mode: Any) -> World:
    """Return a world whose supervisor has failed, because it may start nobody anew."""
    options = SupervisorOptions(restart=Restart("one_for_one", 0, 60.0))
    world = team_world(agent("ada"), agent("bob"), mode=mode, options=options)
    world.order(Submit(request="go"))
    world.fail(next(iter(world.started)), "segmentation fault", crashed=True)
    for key in sorted(world.stopping):
        world.stop(key)
    return world


@given(st.data())
def test_a_supervisor_that_has_failed_takes_requests_once_it_is_resumed_and_not_before(data: st.DataObject) -> None:
    world = failed_world(data.draw(st.sampled_from(["parallel", "sequential"])))
    commands: list[Command] = data.draw(st.lists(st.sampled_from([Pause(target="chief"), Submit(request="go")])))
    for command in commands:
        if isinstance(command, Submit):
            assert kinds(world.order(command)) == ["command_refused"]
        else:
            world.order(command)

    applied(world, Resume(target="chief"))
    (supervisor,) = world.state.roots
    assert supervisor.error is None
    assert not supervisor.paused
    applied(world, Submit(request="go"))
