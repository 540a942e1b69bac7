"""Agents of a simulation: they work, take steps, delegate, answer, and fail in all known ways.

The behaviour of an agent depends only on the seed, its name, its request and the number of the attempt, so that it
stays the same when the history around it is shortened.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any
from zlib import crc32

import anyio
from anyio import get_cancelled_exc_class
from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.core.records.values import Usage
from engine.core.signals import AttemptSucceeded, PlannedItem
from engine.core.specs.spec import MODEL_TYPES, AgentSpec
from engine.core.state import State
from engine.errors import AgentCrashed, AttemptInterrupted, DelegationFailed, ToolRejected
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Factory
from engine.runtimes.functions.context import Context
from engine.runtimes.toolbox.call_limit import CallLimit
from engine.runtimes.toolbox.functions import FunctionTool
from engine.simulation import knowledge
from engine.simulation.drawing import NAMES, SKILLS
from engine.simulation.laws.outcomes import FALSE_REPORT
from engine.simulation.model_agents import SimulatedModelAgent
from engine.simulation.scene import LONG_TEXT, MAX_WORK_S, Scene, seconds
from engine.simulation.teams import SIMULATED
from engine.simulation.world import World

HANG_S = 6 * 3600.0
SPENDING_SHARE = 0.3
"""Share of pieces of work that cost tokens or money."""
TOOL_CALL_PERCENT = 15
"""Percentage of steps that call a tool that must not be called twice."""
REMEMBERING_PERCENT = 10
"""Percentage of steps that store an insight."""
SHARING_PERCENT = 25
"""Percentage of steps that write to the pool of the team, or wait for it."""
COUNTING_PERCENT = 25
"""Percentage of tasks that count in the state of their agent."""
MAKING_PERCENT = 20
"""Percentage of tasks whose agents make another."""
HELPER_MAKING_PERCENT = 80
"""The same for the tasks of agents that were made."""
CONCURRENT_STEP_PERCENT = 40
"""Percentage of delegating agents that run a step of their own meanwhile."""
QUESTION_PERCENT = 8
"""Percentage of tasks whose agents ask a person."""
PLAN_PERCENT = 25
"""Percentage of delegating agents that delegate a plan, whose tasks wait for each other."""
MAX_PIECES = 5
"""Most pieces of work in an attempt."""
MAX_TASKS = 80
"""Number of tasks in a run from which on no agent delegates: teams that delegate to teams would never end."""
MAX_DEPTH = 2
"""How often a delegated text may be delegated again."""


class SimulatedRuntime:
    """Play one agent of a simulation."""

    def __init__(self, spec: AgentSpec, world: World) -> None:
        limits = [
            limit for limit in (spec.timeout_s, spec.step_timeout_s) if limit is not None and world.plan.has_user_team
        ]
        self._longest_s = max(0.1, min([MAX_WORK_S, *(limit / MAX_PIECES for limit in limits)]))
        self._spec = spec
        self._world = world

    async def check(self) -> None:
        """Check that the code is there; raises Unusable if it is not."""
        self._world.check_code(self._spec.name)

    async def execute(self, work: Work) -> JsonValue:
        """Run this attempt of the agent."""
        self._world.check_begin(work)
        self._world.ledger.models.inexact_attempts.add((work.effect.task_id, work.effect.attempt))
        try:
            return await self._play(work)
        finally:
            self._world.note_end(work)

    async def _play(self, work: Work) -> JsonValue:
        world = self._world
        task, _, draw, mishap = await world.open_attempt(work, "", list(MISHAPS))
        early = draw.random() < 0.5
        await work.steering.load_steers()
        await work.changes.load()
        scene = Scene(world, work, Context(work, task, {}), draw, self._longest_s, world.plan.has_user_team)
        scene = replace(scene, context=Context(work, task, {"send": _tool(scene)}))
        if mishap is None or not early:
            await _do_work(scene, task.text)
        if mishap is not None:
            return await MISHAPS[mishap](scene)
        if not (work.attempt.saw_stopping or work.limits.timed_out or work.attempt.over):
            world.ledger.spending.returned.add((work.effect.task_id, work.effect.attempt))
        return _output(draw, work.effect.agent)


def _tool(scene: Scene) -> FunctionTool:
    return FunctionTool("send", partial(_send, scene), CallLimit(None))


def simulated_runtimes(world: World) -> dict[str, Factory]:
    """Return the factory of the runtimes of a history; agents of a given team keep their time limits."""
    runtimes: dict[str, Factory] = dict.fromkeys(MODEL_TYPES, lambda spec, code: SimulatedModelAgent(spec, code, world))
    return {**dict.fromkeys((SIMULATED, "function"), lambda spec, code: SimulatedRuntime(spec, world)), **runtimes}


async def _remember(scene: Scene, number: int) -> None:
    """Store an insight, and recall insights about the same subject."""
    title, context = scene.work.effect.title, scene.context
    importance = crc32(title.encode()) % 11 / 10
    await context.remember(f"{title} is number {number}. {LONG_TEXT if number else ''}", [title[:20]], importance)
    await scene.work.insights.recall(title, 3)


async def _do_work(scene: Scene, text: str) -> None:
    draw, context = scene.draw, scene.context
    messages = context.steers() + context.steers()
    await context.sleep(seconds(draw, scene.longest_s))
    messages += context.steers()
    scene.world.check_messages(scene.work, messages)
    if draw.random() < 0.2:
        context.emit(draw.choice(["a beginning", LONG_TEXT]))
    if scene.has("counts", COUNTING_PERCENT):
        await knowledge.count(scene)
    for number in range(draw.choice([0, 0, 1, 2, 3])):
        if draw.random() < SPENDING_SHARE:
            _spend(scene)
        if crc32(f"{scene.work.effect.title} {number}".encode()) % 100 < TOOL_CALL_PERCENT:  # again in a second attempt
            await _call(scene, number)
        elif crc32(f"{number} {scene.work.effect.title}".encode()) % 100 < REMEMBERING_PERCENT:
            await _remember(scene, number)
        elif not scene.has_user_team and scene.has(f"shares {number}", SHARING_PERCENT):
            await knowledge.share(
                scene, number, f"{scene.work.effect.title} is number {number}. {LONG_TEXT * (number % 2)}"
            )
        else:
            await scene.step(f"step{number}")
    if _has_question(scene):
        await _ask_person(scene)
    if draw.random() < SPENDING_SHARE:
        _spend(scene)
    run = scene.world.state.runs.get(scene.work.effect.run_id)
    is_large = run is not None and run.total >= MAX_TASKS
    if (
        not scene.has_user_team
        and scene.has("makes", HELPER_MAKING_PERCENT if text.endswith(", help") else MAKING_PERCENT)
        and text.count("part of") < MAX_DEPTH
        and not is_large
    ):
        await knowledge.make_helper(scene, f"part of {text[:60]}, help")
    will_delegate = draw.random() < 0.25 and text.count("part of") < MAX_DEPTH and not is_large
    has_time_limit = scene.has_user_team and scene.work.spec.timeout_s is not None
    if will_delegate and not has_time_limit:  # it may wait for others for hours
        await (_delegate_during_step if _has_concurrent_step(scene) else _delegate)(scene, text)


def _has_concurrent_step(scene: Scene) -> bool:
    """Return whether an agent runs a step of its own while others work for it; the same in each attempt."""
    return crc32(f"{scene.work.effect.title} beside".encode()) % 100 < CONCURRENT_STEP_PERCENT


async def _delegate_during_step(scene: Scene, text: str) -> None:
    first = ("ask", "step", "both")[crc32(scene.work.effect.title.encode()) % 3]

    async def step() -> None:
        if first == "ask":
            await scene.context.sleep(seconds(scene.draw, scene.longest_s))
        await scene.step("beside")

    async with anyio.create_task_group() as group:
        group.start_soon(step)
        if first == "step":
            await scene.context.sleep(0.01)
        await _delegate(scene, text)


def _has_question(scene: Scene) -> bool:
    """Return whether an agent asks a person."""
    return crc32(f"{scene.work.effect.task_id} asks".encode()) % 100 < QUESTION_PERCENT


async def _ask_person(scene: Scene) -> None:
    """Ask a person, the same in each attempt; some ask twice at once, run a step meanwhile, or stop waiting."""
    variant = crc32(scene.work.effect.task_id.encode()) % 5
    if variant == 0:
        with anyio.move_on_after(0):  # it does not wait: nobody is asked any more
            await scene.context.ask("given up at once?")
        return

    async def ask_once(number: int) -> None:
        if variant == 4:
            await _send_if_allowed(scene)
            return
        with scene.world.open_question(scene.work):
            if (variant + number) % 2:
                answer = await scene.context.ask(f"{number}?", ["yes", "no"], default="no", due_s=900)
            else:
                answer = await scene.context.ask(f"{number}?", ["yes", "no"] if number else ())
        scene.world.check_answer(scene.work, answer)

    async with anyio.create_task_group() as group:
        for number in range(1 + variant % 2):
            group.start_soon(ask_once, number)
        if variant == 3:
            await scene.step("beside a question")


async def _send_if_allowed(scene: Scene) -> None:
    """Ask whether a tool may be called."""
    tool = scene.draw.choice(["send", "delete"])
    # The same in each attempt of a task: other arguments are another call.
    arguments: dict[str, JsonValue] = {"to": "ab"[int(scene.work.effect.task_id[1:]) % 2]}
    try:
        with scene.world.open_question(scene.work):
            await scene.work.questions.approve(tool, arguments, "always", due_s=scene.draw.choice([None, 900.0]))
    except ToolRejected:
        scene.world.check_decision(scene.work, tool, arguments, allows=False)
    else:
        scene.world.check_decision(scene.work, tool, arguments, allows=True)


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
    scene.world.check_tool_call(scene.work)
    await scene.context.sleep(seconds(scene.draw, scene.longest_s))
    if scene.draw.random() < 0.15 and scene.world.should_fail("a tool", 0.0):  # never where nothing is to go wrong
        effect = scene.work.effect
        scene.world.ledger.open_steps[effect.task_id, effect.attempt, effect.generation] -= 1
        raise ConnectionError("the other side is not there")
    return f"sent {number}"


async def _delegate(scene: Scene, text: str) -> None:
    draw, context = scene.draw, scene.context
    if scene.has_user_team:
        others = [agent.name for agent in scene.world.state.agents.values() if agent.id != scene.work.effect.agent_id]
        if not others:
            return
        target = draw.choice(others)
    else:
        target = draw.choice([*SKILLS, *NAMES[:3], *_delegation_targets(scene.world.state), "nobody"])
    about = f"part of {text[:60]}"
    try:
        if crc32(f"{scene.work.effect.title} plans".encode()) % 100 < PLAN_PERCENT:
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
    """Delegate a plan: a diamond with an urgent task beside it and one that is asked for twice, for various workers."""
    other = target if scene.has_user_team else NAMES[crc32(about.encode()) % 3]
    plan = [
        PlannedItem(title="all", target=target, input=f"{about}, all", after=[1, 2]),
        PlannedItem(title="left", target=other, input=f"{about}, left", after=[3]),
        PlannedItem(title="right", target=target, input=f"{about}, right", after=[3]),
        PlannedItem(title="first", target=target, input=f"{about}, first"),
        PlannedItem(title="beside", target=other, input=f"{about}, beside", priority=1),
        PlannedItem(title="twice", target=other, input=f"{about}, beside", duplicate_of=4),
    ]
    await scene.work.delegations.ask("plan", scene.work.attempt.key("plan", about), "", [], plan=plan)


def _delegation_targets(state: State) -> list[str]:
    members = [
        *(agent.name for agent in state.agents.values()),
        *(supervisor.name for supervisor in state.supervisors.values()),
    ]
    return members + [word for spec in state.specs.values() for word in spec.specialties]


def _output(draw: Random, agent: str) -> JsonValue:
    done = f"{agent} is done"
    outputs: list[JsonValue] = [done, done, done, LONG_TEXT, 42, None, {"found": [1, 2, LONG_TEXT]}, "", [True]]
    return draw.choice(outputs)


# Failures


class UnprintableError(Exception):
    """An exception that cannot even be printed."""

    @override
    def __str__(self) -> str:
        raise ValueError("this cannot be printed either")


async def _fail(scene: Scene) -> JsonValue:
    raise scene.draw.choice(
        [ValueError("broken"), ConnectionError("nobody answers"), TimeoutError(), RuntimeError("a\nb\0\x1b[31m")]
    )


async def _crash(scene: Scene) -> JsonValue:
    raise AgentCrashed("a module of it has died")


async def _raise_odd_error(scene: Scene) -> JsonValue:
    odd: list[BaseException] = [
        UnprintableError(),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        StopAsyncIteration(),
        RecursionError("too deep"),
        get_cancelled_exc_class()(),
        BaseExceptionGroup("several", [ValueError("one"), KeyboardInterrupt()]),
    ]
    raise scene.draw.choice(odd)


async def _hang(scene: Scene) -> JsonValue:
    await scene.context.sleep(HANG_S)
    return "at last"


async def _answer_after_stop(scene: Scene) -> JsonValue:
    try:
        await scene.context.sleep(HANG_S / 4)
    except AttemptInterrupted:
        if scene.draw.random() < 0.5:
            raise ConnectionError("cut off") from None
        return "I was not done"
    return "done, and late"


async def _ignore_stop(scene: Scene) -> JsonValue:
    """Ignore every request to stop, until the engine abandons the attempt."""
    clock, work = scene.world.clock, scene.work
    until_ms = clock.now_ms() + round(HANG_S * 1000 / 8)
    waiting: Pending[None] = work.attempt.open_wait()  # it waits past the rules, and the clock must not wait for it
    try:
        while clock.now_ms() < until_ms:
            try:
                await clock.sleep_until(until_ms)
            except get_cancelled_exc_class():
                continue
    finally:
        waiting.put(None)
    return "not to be stopped"


async def _answer_twice(scene: Scene) -> JsonValue:
    _report_success(scene, scene.work.effect.task_id, scene.work.effect.attempt, "the first answer")
    await scene.context.sleep(seconds(scene.draw))
    return "the second answer"


async def _answer_for_others(scene: Scene) -> JsonValue:
    for _ in range(5):
        tasks = scene.world.state.tasks
        at_work = [task.id for task in tasks.values() if task.attempt is not None]
        task_id = scene.draw.choice([*at_work, *tasks, "t999999"])
        now = tasks[task_id].attempts if task_id in tasks else 1
        _report_success(scene, task_id, now + scene.draw.choice([-1, 7]), FALSE_REPORT)
        await scene.context.sleep(seconds(scene.draw))
    return "an answer"


def _report_success(scene: Scene, task_id: str, attempt: int, output: str) -> None:
    usage = Usage(tokens_in=scene.draw.randrange(10**6), tokens_out=None, cost_usd=Decimal("0.001"), time_ms=5)
    scene.world.signal(AttemptSucceeded(task_id=task_id, attempt=attempt, output=output, duration_ms=5, usage=usage))


async def _return_odd_value(scene: Scene) -> JsonValue:
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


async def _stall(scene: Scene) -> JsonValue:
    for _ in range(5):
        await scene.context.sleep(600)
        scene.context.progress(1, 2)
    return "slowly done"


async def _yield_often(scene: Scene) -> JsonValue:
    """Yield to the event loop again and again."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()
    return "done at the same moment"


MISHAPS: dict[str, Callable[[Scene], Awaitable[JsonValue]]] = {
    "fails": _fail,
    "crashes": _crash,
    "raises something odd": _raise_odd_error,
    "hangs": _hang,
    "answers after it was stopped": _answer_after_stop,
    "does not let itself be stopped": _ignore_stop,
    "answers twice": _answer_twice,
    "answers for others": _answer_for_others,
    "returns something odd": _return_odd_value,
    "stalls": _stall,
    "gives way": _yield_often,
}
"""Mishaps of an attempt, by the words that describe them in a history."""
