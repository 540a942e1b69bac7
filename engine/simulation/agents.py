"""Agents of a simulation: they work, take steps, delegate, answer, and fail in all known ways.

The behaviour of an agent depends only on the seed, its name, its request and the number of the attempt, so that it
stays the same when the history around it is shortened.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any
from zlib import crc32

import anyio
from anyio import get_cancelled_exc_class

from engine.core.records.records import JsonValue
from engine.core.records.values import Usage
from engine.core.signals import AttemptSucceeded, PlannedItem
from engine.core.specs.spec import MODEL_TYPES, AgentSpec
from engine.core.state import State
from engine.errors import AgentCrashed, AttemptInterrupted, DelegationFailed, ToolRejected
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Factory, Runtime
from engine.runtimes.code import Code
from engine.runtimes.functions.context import Context
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.gate import Gate
from engine.simulation.drawing import NAMES, SKILLS
from engine.simulation.laws.outcomes import LIE
from engine.simulation.model_agents import SimulatedModelAgent
from engine.simulation.teams import SIMULATED
from engine.simulation.world import World

HANG_S = 6 * 3600.0
LONGEST_S = 600.0
SPENDS = 0.3
"""Share of pieces of work that cost tokens or money."""
SENDS = 15
"""Percentage of steps that call a tool that must not be called twice."""
REMEMBERS = 10
"""Percentage of steps that store an insight."""
BESIDE = 40
"""Percentage of delegating agents that run a step of their own meanwhile."""
CONSULTS = 8
"""Percentage of tasks whose agents ask a person."""
PLANS = 25
"""Percentage of delegating agents that delegate a plan, whose tasks wait for each other."""
PIECES = 5
"""Most pieces of work in an attempt."""
LONG = "a line of an output that is too long to be kept in the state itself, and stands in the journal alone\n" * 30
MOST_TASKS = 80
"""Number of tasks in a run from which on no agent delegates: teams that delegate to teams would never end."""
DEEPEST = 2
"""How often a delegated text may be delegated again."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One attempt, as the functions in `MISHAPS` get it."""

    world: World
    work: Work
    context: Context
    draw: Random
    longest_s: float
    """Longest duration of a piece of work without failures, in seconds."""
    given: bool


class SimulatedRuntime:
    """Play one agent of a simulation."""

    def __init__(self, spec: AgentSpec, world: World) -> None:
        limits = [limit for limit in (spec.timeout_s, spec.step_timeout_s) if limit is not None and world.plan.given]
        self._longest_s = max(0.1, min([LONGEST_S, *(limit / PIECES for limit in limits)]))
        self._spec = spec
        self._world = world

    async def check(self) -> None:
        """Check that the code is there.

        Raises:
            Unusable: If it is not.
        """
        self._world.check_code(self._spec.name)

    async def execute(self, work: Work) -> JsonValue:
        """Run this attempt of the agent."""
        self._world.begins(work)
        self._world.books.models.besides.add((work.effect.task_id, work.effect.attempt))
        try:
            return await self._play(work)
        finally:
            self._world.ends(work)

    async def _play(self, work: Work) -> JsonValue:
        world = self._world
        task, _, draw, mishap = await world.opened(work, "", list(MISHAPS))
        early = draw.random() < 0.5
        await work.load_steers()
        scene = Scene(world, work, Context(work, task, {}), draw, self._longest_s, world.plan.given)
        scene = replace(scene, context=Context(work, task, {"send": _tool(scene)}))
        if mishap is None or not early:
            await _work(scene, task.text)
        if mishap is not None:
            return await MISHAPS[mishap](scene)
        if not (work.saw_stopping or work.timed_out or work.over):
            world.books.spending.returned.add((work.effect.task_id, work.effect.attempt))
        return _output(draw, work.effect.agent)


def _tool(scene: Scene) -> FunctionTool:
    return FunctionTool("send", partial(_send, scene), Gate(None))


def simulated_runtimes(world: World) -> dict[str, Factory]:
    """Return the factory of the runtimes of a history; agents of a given team keep their time limits."""

    def played(spec: AgentSpec, code: Code) -> Runtime:
        return SimulatedModelAgent(spec, code, world)

    return {
        SIMULATED: lambda spec, code: SimulatedRuntime(spec, world),
        **dict.fromkeys(MODEL_TYPES, played),
    }


def seconds(draw: Random, longest_s: float = LONGEST_S) -> float:
    """Return the duration of a piece of work: log-uniform up to the longest, and sometimes 0."""
    return 0.0 if draw.random() < 0.15 else math.exp(draw.uniform(math.log(0.05), math.log(longest_s)))


async def _remember(scene: Scene, number: int) -> None:
    """Store an insight, and recall insights about the same subject."""
    title, context = scene.work.effect.title, scene.context
    importance = crc32(title.encode()) % 11 / 10
    await context.remember(f"{title} is number {number}. {LONG if number else ''}", [title[:20]], importance)
    await scene.work.recall(title, 3)


async def _work(scene: Scene, text: str) -> None:
    draw, context = scene.draw, scene.context
    heard = context.steers() + context.steers()
    await context.sleep(seconds(draw, scene.longest_s))
    heard += context.steers()
    scene.world.hears(scene.work, heard)
    if draw.random() < 0.2:
        context.emit(draw.choice(["a beginning", LONG]))
    for number in range(draw.choice([0, 0, 1, 2, 3])):
        if draw.random() < SPENDS:
            _spend(scene)
        if crc32(f"{scene.work.effect.title} {number}".encode()) % 100 < SENDS:  # again in a second attempt
            await _call(scene, number)
        elif crc32(f"{number} {scene.work.effect.title}".encode()) % 100 < REMEMBERS:
            await _remember(scene, number)
        else:
            await _step(scene, f"step{number}")
    if _consults(scene):
        await _consult(scene)
    if draw.random() < SPENDS:
        _spend(scene)
    run = scene.world.state.runs.get(scene.work.effect.run_id)
    is_large = run is not None and run.total >= MOST_TASKS
    asks = draw.random() < 0.25 and text.count("part of") < DEEPEST and not is_large
    if asks and not (scene.given and scene.work.spec.timeout_s is not None):  # it may wait for others for hours
        await (_ask_beside_a_step if _is_beside(scene) else _ask)(scene, text)


def _is_beside(scene: Scene) -> bool:
    """Return whether an agent runs a step of its own while others work for it; the same in each attempt."""
    return crc32(f"{scene.work.effect.title} beside".encode()) % 100 < BESIDE


async def _ask_beside_a_step(scene: Scene, text: str) -> None:
    first = ("ask", "step", "both")[crc32(scene.work.effect.title.encode()) % 3]

    async def step() -> None:
        if first == "ask":
            await scene.context.sleep(seconds(scene.draw, scene.longest_s))
        await _step(scene, "beside")

    async with anyio.create_task_group() as group:
        group.start_soon(step)
        if first == "step":
            await scene.context.sleep(0.01)
        await _ask(scene, text)


async def _step(scene: Scene, name: str) -> None:
    async def done() -> JsonValue:
        scene.world.step_runs(scene.work, name)
        await scene.context.sleep(seconds(scene.draw, scene.longest_s))
        results: list[JsonValue] = ["a result", LONG, 7, None, {"rows": [1, LONG]}]
        return scene.draw.choice(results)

    await scene.context.step(name, done)


def _consults(scene: Scene) -> bool:
    """Return whether an agent asks a person."""
    return crc32(f"{scene.work.effect.task_id} asks".encode()) % 100 < CONSULTS


async def _consult(scene: Scene) -> None:
    """Ask a person, the same in each attempt; some ask twice at once, run a step meanwhile, or stop waiting."""
    how = crc32(scene.work.effect.task_id.encode()) % 5
    if how == 0:
        with anyio.move_on_after(0):  # it does not wait: nobody is asked any more
            await scene.context.ask("given up at once?")
        return

    async def asks(number: int) -> None:
        if how == 4:
            await _send_if_allowed(scene)
            return
        with scene.world.asks(scene.work):
            if (how + number) % 2:
                said = await scene.context.ask(f"{number}?", ["yes", "no"], default="no", due_s=900)
            else:
                said = await scene.context.ask(f"{number}?", ["yes", "no"] if number else ())
        scene.world.is_told(scene.work, said)

    async with anyio.create_task_group() as group:
        for number in range(1 + how % 2):
            group.start_soon(asks, number)
        if how == 3:
            await _step(scene, "beside a question")


async def _send_if_allowed(scene: Scene) -> None:
    """Ask whether a tool may be called."""
    tool = scene.draw.choice(["send", "delete"])
    try:
        with scene.world.asks(scene.work):
            await scene.work.approve(tool, ["it"], "always", due_s=scene.draw.choice([None, 900.0]))
    except ToolRejected:
        scene.world.is_decided(scene.work, tool, allows=False)
    else:
        scene.world.is_decided(scene.work, tool, allows=True)


def _spend(scene: Scene) -> None:
    """Report the usage of a model call; some providers report only a part."""
    draw = scene.draw
    amounts: dict[str, Any] = {
        "tokens_in": draw.choice([None, 0, 120, 4_000]),
        "tokens_out": draw.choice([None, 15, 900]),
        "cost_usd": draw.choice([None, "0", "0.0003", "0.02"]),
    }
    if amounts["tokens_out"]:
        amounts["tokens_cached"] = (amounts["tokens_in"] or 0) // 3
    scene.context.spent(**amounts)


async def _call(scene: Scene, number: int) -> None:
    """Call a tool that must not be called twice; some agents handle its errors themselves."""
    try:
        await scene.context.tool("send", number)
    except ConnectionError:
        if scene.draw.random() < 0.5:
            raise


async def _send(scene: Scene, number: int) -> JsonValue:
    scene.world.tool_runs(scene.work)
    await scene.context.sleep(seconds(scene.draw, scene.longest_s))
    if scene.draw.random() < 0.15 and scene.world.goes_wrong("a tool", 0.0):  # never where nothing is to go wrong
        effect = scene.work.effect
        scene.world.books.stepping[effect.task_id, effect.attempt, effect.generation] -= 1
        raise ConnectionError("the other side is not there")
    return f"sent {number}"


async def _ask(scene: Scene, text: str) -> None:
    draw, context = scene.draw, scene.context
    if scene.given:
        others = [one.name for one in scene.world.state.agents.values() if one.id != scene.work.effect.agent_id]
        if not others:
            return
        target = draw.choice(others)
    else:
        target = draw.choice([*SKILLS, *NAMES[:3], *_words(scene.world.state), "nobody"])
    about = f"part of {text[:60]}"
    try:
        if crc32(f"{scene.work.effect.title} plans".encode()) % 100 < PLANS:
            await _plan(scene, target, about)
        elif draw.random() < 0.5:
            await context.delegate(target, about)
        else:
            items = [f"{about}, {number}" for number in range(draw.choice([0, 1, 2, 5]))]
            await context.map(target, items, return_failures=draw.random() < 0.5)
    except DelegationFailed:
        if draw.random() < 0.5:
            raise


async def _plan(scene: Scene, target: str, about: str) -> None:
    """Delegate a plan: a diamond with one more task beside it, for various workers."""
    other = target if scene.given else NAMES[crc32(about.encode()) % 3]
    plan = [
        PlannedItem(title="all", target=target, input=f"{about}, all", after=[1, 2]),
        PlannedItem(title="left", target=other, input=f"{about}, left", after=[3]),
        PlannedItem(title="right", target=target, input=f"{about}, right", after=[3]),
        PlannedItem(title="first", target=target, input=f"{about}, first"),
        PlannedItem(title="beside", target=other, input=f"{about}, beside"),
    ]
    await scene.work.ask("plan", scene.work.key("plan", about), "", [], plan=plan)


def _words(state: State) -> list[str]:
    members = [*(one.name for one in state.agents.values()), *(one.name for one in state.supervisors.values())]
    return members + [word for spec in state.specs.values() for word in spec.specialties]


def _output(draw: Random, agent: str) -> JsonValue:
    done = f"{agent} is done"
    outputs: list[JsonValue] = [done, done, done, LONG, 42, None, {"found": [1, 2, LONG]}, "", [True]]
    return draw.choice(outputs)


# Failures


class Worse(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise ValueError("this cannot be printed either")


async def _fails(scene: Scene) -> JsonValue:
    raise scene.draw.choice(
        [ValueError("broken"), ConnectionError("nobody answers"), TimeoutError(), RuntimeError("a\nb\0\x1b[31m")]
    )


async def _crashes(scene: Scene) -> JsonValue:
    raise AgentCrashed("a module of it has died")


async def _raises_oddly(scene: Scene) -> JsonValue:
    odd: list[BaseException] = [
        Worse(),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        StopAsyncIteration(),
        RecursionError("too deep"),
        get_cancelled_exc_class()(),
        BaseExceptionGroup("several", [ValueError("one"), KeyboardInterrupt()]),
    ]
    raise scene.draw.choice(odd)


async def _hangs(scene: Scene) -> JsonValue:
    await scene.context.sleep(HANG_S)
    return "at last"


async def _answers_after_a_stop(scene: Scene) -> JsonValue:
    try:
        await scene.context.sleep(HANG_S / 4)
    except AttemptInterrupted:
        if scene.draw.random() < 0.5:
            raise ConnectionError("cut off") from None
        return "I was not done"
    return "done, and late"


async def _does_not_stop(scene: Scene) -> JsonValue:
    """Ignore every request to stop, until the engine abandons the attempt."""
    clock, work = scene.world.clock, scene.work
    until_ms = clock.now_ms() + round(HANG_S * 1000 / 8)
    waiting: Pending[None] = work._waiting_slot()  # it waits past the rules, and the clock must not wait for it
    try:
        while clock.now_ms() < until_ms:
            try:
                await clock.sleep_until(until_ms)
            except get_cancelled_exc_class():
                continue
    finally:
        waiting.put(None)
    return "not to be stopped"


async def _answers_twice(scene: Scene) -> JsonValue:
    _say(scene, scene.work.effect.task_id, scene.work.effect.attempt, "the first answer")
    await scene.context.sleep(seconds(scene.draw))
    return "the second answer"


async def _answers_for_others(scene: Scene) -> JsonValue:
    for _ in range(5):
        tasks = scene.world.state.tasks
        at_work = [task.id for task in tasks.values() if task.attempt is not None]
        task_id = scene.draw.choice([*at_work, *tasks, "t999999"])
        now = tasks[task_id].attempts if task_id in tasks else 1
        _say(scene, task_id, now + scene.draw.choice([-1, 7]), LIE)
        await scene.context.sleep(seconds(scene.draw))
    return "an answer"


def _say(scene: Scene, task_id: str, attempt: int, output: str) -> None:
    usage = Usage(tokens_in=scene.draw.randrange(10**6), tokens_out=None, cost_usd=Decimal("0.001"), time_ms=5)
    scene.world.signal(AttemptSucceeded(task_id=task_id, attempt=attempt, output=output, duration_ms=5, usage=usage))


async def _returns_oddly(scene: Scene) -> JsonValue:
    deep: Any = []
    for _ in range(3_000):
        deep = [deep]
    odd: list[Any] = [
        float("nan"),
        float("inf"),
        "\ud800 a lone surrogate",
        b"bytes",
        object(),
        10**5000,
        {1: "a number as a key"},
        {"a", "set"},
        deep,
        "\0\x1b[2J\u202e",
        "x" * 200_000,
    ]
    value: JsonValue = scene.draw.choice(odd)
    return value


async def _stalls(scene: Scene) -> JsonValue:
    for _ in range(5):
        await scene.context.sleep(600)
        scene.context.progress(1, 2)
    return "slowly done"


async def _gives_way(scene: Scene) -> JsonValue:
    """Yield to the event loop again and again."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()
    return "done at the same moment"


MISHAPS: dict[str, Callable[[Scene], Awaitable[JsonValue]]] = {
    "fails": _fails,
    "crashes": _crashes,
    "raises something odd": _raises_oddly,
    "hangs": _hangs,
    "answers after it was stopped": _answers_after_a_stop,
    "does not let itself be stopped": _does_not_stop,
    "answers twice": _answers_twice,
    "answers for others": _answers_for_others,
    "returns something odd": _returns_oddly,
    "stalls": _stalls,
    "gives way": _gives_way,
}
"""Failures of an attempt, by the words that describe them in a history."""
