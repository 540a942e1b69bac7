"""A switch between any two strategies, at several moments of a run."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import Pause, Resume, SwitchStrategy
from engine.core.decide.work.strategy import switch_event
from engine.core.encoding.codec import encode_state
from engine.core.errors import Refused
from engine.core.events import AttemptDone, GroupChange, StrategySwitched
from engine.core.fold import fold
from engine.core.records.records import copy_with
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus, State, Task, TaskStatus
from engine.core.strategies import BUILT_IN
from engine.simulation.teams import draw_settings
from tests.chance import randoms
from tests.depth import examples
from tests.legal import assert_legal
from tests.story import ended, found, only, submitted
from tests.world import World, agent, team_world

NAMES = ("ada", "bob", "cyd", "dan")
SETTINGS: dict[str, dict[str, Any]] = {
    "graph": {
        "nodes": [
            {"name": "one", "agent": "ada"},
            {"name": "two", "agent": "bob", "after": ["one"]},
            {"name": "three", "agent": "cyd", "after": ["one"], "when": {"contains": "x"}},
            {"name": "four", "agent": "dan", "after": ["two", "three"]},
        ]
    },
    "hierarchical_review": {"levels": [["ada", "bob"], ["cyd"], ["dan"]], "returns": 1},
    "iterative_refinement": {"rounds": 3},
    "parallel": {"need": 3},
}
SENT_BACK = {"score": 0.1, "enough": False, "approved": False, "holds": [0], "items": 2, "list": ["x", "y"]}
"""A verdict after which strategies with rounds or returns ask members again."""
PAIRS = [(old, new) for old in sorted(BUILT_IN) for new in sorted(BUILT_IN) if old != new]


def begun(mode: str, settings: dict[str, Any] | None = None) -> World:
    settings = SETTINGS.get(mode, {}) if settings is None else settings
    world = team_world(
        *[agent(name, "work") for name in NAMES],
        mode=mode,
        max_parallel=2,
        options=SupervisorOptions(settings=settings, lead="ada" if mode == "delegate" else None),
    )
    submitted(world)
    return world


def to(mode: str, **fields: Any) -> SwitchStrategy:
    lead = "dan" if mode == "delegate" else None
    return SwitchStrategy(mode=mode, settings=SETTINGS.get(mode, {}), lead=lead, **fields)


def at_once(world: World) -> None:
    """Nothing is done yet."""


def one_done(world: World) -> None:
    """The first that is at work, or looks, has ended."""
    if world.checks:
        found(world)
    else:
        world.succeed(next(iter(world.started)), "first")


def two_done(world: World) -> None:
    """Two have ended."""
    one_done(world)
    if world.checks or world.started:
        one_done(world)


def in_the_middle_of_a_look(world: World) -> None:
    """A built-in node looks at outputs, where the strategy has one."""
    for _ in range(6):
        if world.checks or not world.started:
            return
        world.succeed(next(iter(world.started)), "work")


def with_delegations(world: World) -> None:
    """Whoever is at work has asked others, of whom one is at work."""
    if world.started:
        world.ask(next(iter(world.started)), "work", ["x", "y", "z"])


def with_delegations_to_members(world: World) -> None:
    """Whoever is at work has asked three by name: one is done, one is at work, one waits where there are slots."""
    if world.started:
        asker = next(iter(world.started))
        for name in NAMES:
            if name != world.started[asker].agent:
                world.ask(asker, name, [f"for {name}"], call=name)
        one_asked_done(world, asker)


def with_delegations_in_every_state(world: World) -> None:
    """Whoever is at work has asked for five things: some are done, some at work, some wait."""
    if world.started:
        asker = next(iter(world.started))
        world.ask(asker, "work", ["v", "w", "x", "y", "z"])
        one_asked_done(world, asker)
        one_asked_done(world, asker)


def one_asked_done(world: World, asker: tuple[str, int]) -> None:
    """What was asked for first and is at work has ended."""
    at_work = [key for key in world.started if world.state.tasks[key[0]].asker_id == asker[0]]
    if at_work:
        world.succeed(at_work[0], "asked")


def after_a_crash(world: World) -> None:
    """One is done, and the engine was lost."""
    one_done(world)
    world.crash()


def after_a_failed_one(world: World) -> None:
    """The first that is at work has failed for good."""
    if world.started:
        world.fail(next(iter(world.started)))


def sent_back(world: World) -> None:
    """Work was sent back: one of the next turn is at work, where the strategy has turns, and its others wait."""
    in_the_middle_of_a_look(world)
    if world.checks:
        found(world, **SENT_BACK)


def sent_back_and_one_done(world: World) -> None:
    """One of the next turn is done: others are at work, and one waits for a slot."""
    sent_back(world)
    if world.started:
        world.succeed(next(iter(world.started)), "again")


def sent_back_while_paused(world: World) -> None:
    """The whole next turn waits."""
    in_the_middle_of_a_look(world)
    if world.checks:
        world.order(Pause(target="r1"))
        found(world, **SENT_BACK)


MOMENTS: list[Callable[[World], None]] = [
    at_once,
    one_done,
    two_done,
    in_the_middle_of_a_look,
    with_delegations,
    with_delegations_to_members,
    with_delegations_in_every_state,
    after_a_crash,
    after_a_failed_one,
    sent_back,
    sent_back_and_one_done,
    sent_back_while_paused,
]
pairs = pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda mode: str(mode))


def assert_ended_well(world: World, *, failing: bool = False) -> None:
    """Every node has one outcome, none ran twice, the run has ended, and the journal alone tells it all."""
    done = Counter(event.task_id for event in world.journal if isinstance(event, AttemptDone))
    assert max(done.values(), default=0) <= 1
    assert not world.state.runs
    assert failing or ended(world).status is RunStatus.DONE, ended(world).error
    again = State()
    fold(again, world.journal)
    assert encode_state(again) == encode_state(world.state)


DELEGATING = [with_delegations, with_delegations_to_members, with_delegations_in_every_state]
WORKING = [one_done, two_done, *DELEGATING]
"""Moments at which members have done work that counts."""
NAMED = {"graph", "hierarchical_review"}
"""Strategies whose settings here name members for parts; an item or a delegation that a member has done is no part."""
OTHER_WORK = {"map", "parallel_then_synthesis"}
"""Strategies that have work of another kind for members that are done: items of a list, and the synthesis."""


@pytest.mark.parametrize("preserve", [True, False], ids=["kept", "stopped"])
@pairs
def test_from_any_to_any_what_is_done_stays_nobody_works_twice_and_the_run_ends(
    old: str, new: str, preserve: bool
) -> None:
    for moment in MOMENTS:
        try:
            assert_switches_well(old, to(new, preserve_agent_states=preserve), moment)
        except Exception as error:
            error.add_note(f"switched when {moment.__name__}: {moment.__doc__}")
            raise


def assert_switches_well(old: str, switch: SwitchStrategy, moment: Callable[[World], None]) -> None:
    """Switch at a moment; what was done stays and is used, and the run ends well."""
    world = begun(old)
    moment(world)
    if not world.state.runs:
        return
    before = dict(world.state.tasks)
    done = [task for task in before.values() if task.kind == "agent" and task.status is TaskStatus.DONE]
    is_whole = {task.id: task.takes != "own" and task.asker_id is None for task in done}
    over = {task.id for task in before.values() if task.ended and task.kind != "group"}
    seen = len(world.starts)

    event = only(world.order(switch), "strategy_switched")

    for change in event.groups:
        assert not over & {*change.after, *change.removed, *change.cancelled}
        below = world.state.tasks[change.task_id].children if change.task_id in world.state.tasks else []
        named = {*change.kept, *change.cancelled, *change.removed, *change.after, *over}
        named |= {node.task_id for node in change.added}
        assert set(below) <= named | {one for one in below if world.state.tasks[one].ended}
        assert_nobody_is_asked_again(world, change)
    assert_legal(world.state)
    if any(run.paused for run in world.state.runs.values()):
        world.order(Resume(target="r1"))
    if moment not in WORKING:
        world.settle()
        assert_ended_well(world, failing=moment is after_a_failed_one)
        return
    (change,) = event.groups
    if old == "delegate":
        asked = {task.id for task in before.values() if task.asker_id is not None}
        assert asked <= {*change.kept, *change.cancelled, *change.removed}
    nodes = set(world.state.tasks[change.task_id].children)
    used = settled(world)
    assert_ended_well(world)
    again = [start for start in world.starts[seen:] if start.task_id not in before]
    recorded = {task.agent_id for task in done if task.id in nodes and (is_whole[task.id] or switch.mode not in NAMED)}
    assert switch.mode in OTHER_WORK or not [start.agent for start in again if start.agent_id in recorded]
    if again and switch.mode != "map":  # an item is given nothing but itself
        assert {task.id for task in done if task.id in nodes} <= used


def settled(world: World) -> set[str]:
    """Let everything come to its end; return whose outputs were looked at, joined or given to somebody by then."""
    used = {one.task_id for start in world.started.values() for one in start.inputs}
    seen, goes_on = len(world.starts), True
    while goes_on:
        used |= {one.task_id for join in world.joins.values() for one in join.inputs}
        used |= {one.task_id for check in world.checks.values() for one in check.looks}
        used |= {one.task_id for start in world.starts[seen:] for one in start.inputs}
        seen, goes_on = len(world.starts), world._settle_one()
    return used


def assert_nobody_is_asked_again(world: World, change: GroupChange) -> None:
    """Each member gets one node at most after a switch, none where its work goes on; no withdrawn node has started."""
    tasks = world.state.tasks
    asked = [
        node for node in (*change.after, *(node.task_id for node in change.added)) if is_for_request(tasks.get(node))
    ]
    if change.mode in OTHER_WORK:
        asked = [node for node in asked if node != change.outcome_id]
    asked_ids = [tasks[node].worker_id for node in asked]
    assert len(set(asked_ids)) == len(asked_ids)
    assert not {tasks[node].worker_id for node in change.kept if is_for_request(tasks.get(node))} & set(asked_ids)
    for withdrawn in (tasks[node] for node in change.removed if node in tasks):
        assert (withdrawn.status, withdrawn.error) == (TaskStatus.SKIPPED, "strategy switched")
        assert withdrawn.kind != "agent" or not withdrawn.attempts


def is_for_request(task: Task | None) -> bool:
    """Return whether this is a member's work on the request, in a run that is still open."""
    return task is not None and task.kind == "agent" and task.takes != "own" and task.asker_id is None


@settings(max_examples=examples(150))
@given(st.data())
def test_however_often_a_run_is_switched_nobody_is_asked_again_for_what_is_done(data: st.DataObject) -> None:
    draw = data.draw(randoms)
    old = draw.choice(sorted(BUILT_IN))
    world = begun(old, draw_settings(draw, old, NAMES))
    for _ in range(draw.randint(1, 3)):
        for _ in range(draw.randint(0, 8)):
            if world.checks and draw.random() < 0.9:
                world.find(next(iter(world.checks)), **SENT_BACK)
                if draw.random() < 0.6:
                    break
            else:
                world._settle_one()
        new = draw.choice(sorted(BUILT_IN))
        if not world.state.runs or world.state.tasks["t1"].mode == new:
            continue
        switch = copy_with(to(new, preserve_agent_states=draw.random() < 0.5), settings=draw_settings(draw, new, NAMES))
        for event in world.order(switch):
            if isinstance(event, StrategySwitched) and new != "graph":  # which may ask a member for several nodes
                assert_nobody_is_asked_again(world, event.groups[0])
        assert_legal(world.state)
    world.settle()

    assert_ended_well(world, failing=True)


@pairs
def test_the_dry_run_is_the_event_that_comes(old: str, new: str) -> None:
    world = begun(old)
    one_done(world)
    if not world.state.runs:
        return
    command = to(new)
    shown = switch_event(world.state, command)

    (event,) = [event for event in world.order(command) if isinstance(event, StrategySwitched)]

    assert event == copy_with(shown, at_ms=event.at_ms)


@pytest.mark.parametrize("mode", sorted(BUILT_IN))
def test_there_and_back_again_the_run_ends(mode: str) -> None:
    world = begun("sequential")
    one_done(world)
    world.order(to(mode))
    world.order(to("sequential"))

    assert_legal(world.state)
    world.settle()
    assert_ended_well(world)


def test_one_run_alone_is_switched_and_the_supervisor_stays_as_it_was() -> None:
    world = begun("sequential")
    submitted(world, "another")

    world.order(to("parallel", scope="run", run="r2"))

    assert world.state.supervisors["s1"].mode == "sequential"
    modes = [world.state.tasks[run.root_id].mode for run in world.state.runs.values()]
    assert modes == ["sequential", "parallel"]
    world.settle()
    assert not world.state.runs


def test_a_run_that_is_not_there_is_refused() -> None:
    world = begun("sequential")

    with pytest.raises(Refused, match="no open run"):
        switch_event(world.state, to("parallel", scope="run", run="r9"))


def test_settings_of_a_strategy_are_those_of_the_switch_and_its_defaults_after_another() -> None:
    world = begun("parallel")
    world.order(SwitchStrategy(mode="iterative_refinement", settings={"until": 0.5}))
    assert world.state.supervisors["s1"].options.settings == {"until": 0.5}

    world.order(SwitchStrategy(mode="sequential"))

    assert world.state.supervisors["s1"].options.settings == {}


def test_settings_that_are_wrong_are_refused_in_one_line() -> None:
    world = begun("sequential")

    with pytest.raises(Refused, match="no setting 'untill'; did you mean until"):
        switch_event(world.state, SwitchStrategy(mode="iterative_refinement", settings={"untill": 1}))
