"""A team driven by chance: teams and operators of the simulation, agents that do anything, trouble with all of them.

For the laws. What happens hangs on a seed, so that hypothesis can find the shortest history that breaks one.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from engine.core.commands import Command, Resume, Submit
from engine.core.records.records import copy_with
from engine.core.records.values import Usage
from engine.core.signals import (
    AgentUnusable,
    AgentUsable,
    AttemptSucceeded,
    EngineBegan,
    StepFinished,
    ThreadCameBack,
)
from engine.core.state import Agent, Run, Supervisor
from engine.simulation.drawing import NAMES, SKILLS
from engine.simulation.operators import choose_command, command_weights, draw_command
from engine.simulation.teams import draw_team, map_specs
from tests.world import LONG, PROCESSES, World, load

OF_THE_SHELL = {"hand_over", "import_state", "ping", "stop_engine"}
"""Commands that are not decided by the core alone."""
KINDS = {kind: weight for kind, weight in command_weights().items() if kind not in OF_THE_SHELL}
CHANGES = {
    "swap_agent": 3.0,
    "swap_agents": 1.0,
    "rollback": 1.0,
    "change_capabilities": 1.0,
    "reassign": 2.0,
    "answer": 1.0,
    "pause": 0.5,
    "resume": 0.5,
    "submit": 1.0,
    "cancel": 1.0,
    "move": 1.0,
    "set_priority": 1.0,
    "remove_member": 1.0,
}
"""Operators who above all change agents while they work, with how often each command is given."""
Key = tuple[str, int]
T = TypeVar("T")

randoms = st.integers(0, 2**32).map(Random)


def random_command(draw: Random, world: World, kinds: Mapping[str, float] = KINDS) -> Command:
    """Draw something that an operator may ask for, right or wrong."""
    while True:
        (kind,) = draw.choices(list(kinds), list(kinds.values()))
        drawn = choose_command if draw.random() < 0.5 else draw_command
        if (command := drawn(kind, draw, world.state, world.orders)) is not None:
            return with_code(command)


def random_turn(draw: Random, world: World, kinds: Mapping[str, float] = KINDS) -> None:
    """Let chance do one thing: an operator, an agent, the clock, or a crash."""
    world.now_ms += draw.randint(0, 2_000)
    world.jitter = draw.choice([0.0, 0.3, 0.999])
    choice = draw.random()
    if choice < 0.2:
        world.order(random_command(draw, world, kinds))
    elif choice < 0.22:
        draw.choice([world.crash, world.restart])()
    elif choice < 0.29 and world.timers:
        world.due(draw.choice(sorted(world.timers)))
    elif choice < 0.36:
        _trouble(draw, world)
    elif choice < 0.43 and world.reads:
        world.read(world.reads[0])
    elif choice < 0.6 and world.checks:
        _verdict(draw, world, draw.choice(sorted(world.checks)))
    elif choice < 0.6 and world.joins:
        world.join(draw.choice(sorted(world.joins)))
    elif choice < 0.7 and world.stopping:
        _stop(draw, world, draw.choice(sorted(world.stopping)))
    elif world.started:
        _work(draw, world, draw.choice(sorted(world.started)))


def _usage(draw: Random) -> Usage:
    """Draw what an attempt has spent, as far as it is known."""
    tokens_in, tokens_out = draw.choice([None, 0, 7]), draw.choice([None, 2])
    return Usage(
        tokens_in=tokens_in,
        tokens_cached=tokens_in and tokens_in - 4,
        tokens_out=tokens_out,
        cost_usd=draw.choice([None, Decimal("0.3")]),
        time_ms=draw.choice([0, 900]),
        unpriced=bool(tokens_in or tokens_out) and draw.random() < 0.2,
    )


def _verdict(draw: Random, world: World, key: Key) -> None:
    if draw.random() < 0.15:
        world.checks.pop(key)
        world.fail(key, "it could not be looked at")
        return
    holds, items = draw.choice([[], [0], [1], [0, 1]]), draw.choice([None, 0, 2])
    listed = {} if items is None else {"list": ["x", LONG][:items]}
    enough, approved = draw.random() < 0.5, draw.random() < 0.5
    world.find(key, score=0.5, enough=enough, approved=approved, holds=holds, items=items, **listed)


def _stop(draw: Random, world: World, key: Key) -> None:
    choice, generation = draw.random(), world.started[key].generation
    if choice < 0.8:
        world.stop(key, draw.choice([None, "half", LONG]), stuck=choice < 0.1, usage=_usage(draw))
    elif choice < 0.9:
        world.fail(key)
    elif not world.waits(key):
        world.succeed(key)
    if key in world.started and world.started[key].generation != generation:
        _say_late(world, key, generation)


def _say_late(world: World, key: Key, generation: int) -> None:
    """What a generation that was left still says changes nothing."""
    task_id, attempt = key
    for late in (
        StepFinished(task_id=task_id, attempt=attempt, generation=generation, name="late", key="late", output=1),
        AttemptSucceeded(task_id=task_id, attempt=attempt, generation=generation, output="late"),
    ):
        assert world.say(late) == []


def _work(draw: Random, world: World, key: Key) -> None:
    choice = draw.random()
    if choice < 0.3:
        left = [name for name in ("s1", "s2", "s3") if name not in world.started[key].steps]
        if left:
            world.record(
                key, draw.choice(left), draw.choice(["r", LONG]), usage=_usage(draw), **_changes(draw, world, key)
            )
    elif choice < 0.35:
        world.call(key, draw.choice(["s1", "s2"]))
    elif choice < 0.45:
        world.fail(
            key,
            stuck=draw.random() < 0.25,
            error_types=draw.choice([[], ["KeyError", "LookupError"], ["StateConflict"]]),
            retryable=draw.choice([None, None, True, False]),
            retry_after_s=draw.choice([None, None, 2.5]),
            crashed=draw.random() < 0.33,
            usage=_usage(draw),
        )
    elif world.waits(key):
        draw.choice([world.rest, world.want])(key)
    elif choice < 0.6:
        target = draw.choice([*SKILLS, *NAMES, *(one.name for one in world.state.supervisors.values()), "nobody"])
        items = [draw.choice(["x", LONG, 3]) for _ in range(draw.randint(0, 3))]
        world.ask(key, target, items, call=draw.choice(["k1", "k2"]), busy=draw.random() < 0.3)
    else:
        output = draw.choice(["ok", LONG, {"n": [1, LONG]}, None, 7])
        world.succeed(key, output, usage=_usage(draw), **_changes(draw, world, key))


def _trouble(draw: Random, world: World) -> None:
    """Let code be missing or come back, threads return, and old news arrive."""
    agents = list(world.state.agents.values())
    kind = draw.randint(0, 2)
    if kind == 0 and agents:
        one = draw.choice(agents)
        world.say(AgentUnusable(agent_id=one.id, generation=one.generation, error="no code"))
    elif kind == 1:
        mend(world)
    elif world.started:
        task_id, attempt = draw.choice(sorted(world.started))
        _say_late(world, (task_id, attempt), world.started[task_id, attempt].generation - 1)
        for other in (attempt - 1, attempt + 1):
            assert world.say(AttemptSucceeded(task_id=task_id, attempt=other, output="late")) == []


def _changes(draw: Random, world: World, key: Key) -> dict[str, Any]:
    """What an attempt has changed of its agent's state, mostly with the version that it has seen."""
    if draw.random() < 0.5:
        return {}
    seen = world.started[key].agent_state
    values: list[list[Any]] = [[], [1], [LONG], [{"$agent": draw.choice(["k1", "k2"])}]]
    changes = {name: draw.choice(values) for name in draw.sample(["a.b", "b", "c"], draw.randint(1, 2))}
    versions = {name: seen[name].version if name in seen else 0 for name in changes}
    if draw.random() < 0.2:
        versions = {name: draw.choice([~version, 0]) for name, version in versions.items()}
    return {"state_changes": changes, "state_versions": versions}


def mend(world: World) -> None:
    """Let all code be found again and all threads return."""
    for one in list(world.state.agents.values()):
        if one.error is not None:
            world.say(AgentUsable(agent_id=one.id, generation=one.generation))
        for _ in range(one.stuck):
            world.say(ThreadCameBack(agent_id=one.id))


def release(world: World) -> None:
    """Take back every pause, and let every agent be able to work."""
    mend(world)
    state = world.state
    owners: list[Run | Supervisor | Agent] = [*state.runs.values(), *state.supervisors.values(), *state.agents.values()]
    for one in [owner for owner in owners if owner.paused]:
        world.order(Resume(target=f"@{one.id}"))


@st.composite
def worlds(draw: Callable[[st.SearchStrategy[Any]], Any], max_turns: int = 160) -> World:
    """Draw a team and a history."""
    random, world = draw(randoms), World()
    kinds = random.choice([KINDS, CHANGES])
    world.say(EngineBegan(pid=1, token=1, version="test", processes=PROCESSES))
    while not world.state.supervisors:  # some teams cannot be
        world.order(with_code(load(draw_team(random))))
    for _ in range(random.randint(1, 4)):
        world.order(Submit(request="parse it", priority=random.choice([None, 9, 5, 0])))
    for _ in range(draw(st.integers(0, max_turns))):
        random_turn(random, world, kinds)
    return world


def with_code(value: T) -> T:
    """Return a command or a spec whose agents refer to code that nobody imports here."""
    return map_specs(value, lambda spec: copy_with(spec, agent_type="function", run=f"crew:{spec.name}"))
