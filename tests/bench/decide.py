"""What one message costs the core, where the house is full: 1,000 agents and 10,000 tasks that wait; and a look at what
they all do.
"""

import json
from collections.abc import Iterator

from engine.core.activities import Activities, parse_live
from engine.core.commands import Order, Ping
from engine.core.decide import decide
from engine.core.decisions.decision_context import DecisionContext
from engine.core.effects import CallAnswer
from engine.core.events import AttemptDone, AttemptStarted
from engine.core.signals import AttemptErred, AttemptSucceeded, Signal
from tests.bench.histories import Mapped, mapped, succeed
from tests.bench.measure import Series, interleaved, settle
from tests.bench.report import Row
from tests.world import World

BUDGET_US = 50.0
_BLOCK = 20
_HERE = "1,000 agents, 10,000 waiting"


def rows(quick: bool) -> Iterator[Row]:
    """Measure ends of attempts with all that follows from them, and a decision alone."""
    messages = 2_000 if quick else 8_000
    yield _row(f"an attempt ends, the next begins; {_HERE}", _ends(mapped(20_000, 1_000), messages, fails=False))
    yield _row("the same with 50 agents, 10,000 waiting", _ends(mapped(20_000), messages, fails=False))
    yield _row(f"an attempt fails; {_HERE}", _ends(mapped(20_000, 1_000), messages, fails=True))
    yield _row(f"a command; {_HERE}", _commands(mapped(10_000, 1_000).world, messages // 4))
    yield _row(f"the decision about an end alone; {_HERE}", _alone(mapped(10_000, 1_000), messages))
    for agents, budget_ms in ((1_000, 5.0), (60, 1.0)):
        what = f"what {agents:,} agents do; {_HERE}"
        took = _looks(mapped(10_000, 1_000).world, agents, 5 if quick else 30)
        yield Row(what=what, took=took, budget=budget_ms, computes=True)


def _row(what: str, measured: tuple[Series, Series]) -> Row:
    took, floor = measured
    return Row(
        what=what,
        took=took,
        floor=floor,
        floor_is="make the records of an end, a begin and their effect",
        unit="µs",
        budget=BUDGET_US,
        computes=True,
    )


def _ends(history: Mapped, messages: int, *, fails: bool) -> tuple[Series, Series]:
    """End attempts one after the other, in blocks that fewer than all agents work on."""
    world, keys, took, floor = history.world, history.workers(), Series(), Series()
    settle()
    for _ in range(messages // _BLOCK):
        some = [next(keys) for _ in range(_BLOCK)]
        with took.timing(_BLOCK):
            for key in some:
                world.fail(key) if fails else succeed(world, key)
        with floor.timing(_BLOCK):
            _records(_BLOCK)
    return took, floor


def _looks(world: World, agents: int, looks: int) -> Series:
    """Look at what some agents do, most of which write: all of them, or those of the rows in sight."""
    state, now_ms, took, live = world.state, world.state.at_ms + 1_000, Series(), {}
    for task in state.tasks.values():
        if task.attempt is not None and not task.attempt.parked:
            step = {"what": "model", "name": f"turn:{task.attempts}", "since_ms": state.at_ms - int(task.id[1:])}
            live[f"pulse:{task.id}"] = json.dumps({"chunk_ms": state.at_ms, "steps": [step]})
            live[f"output:{task.id}"] = "The tide is high. " * 20
    some = list(state.agents.values())[:agents]
    settle()
    for look in range(looks):
        with took.timing():
            activities = Activities(state, parse_live(live), now_ms + look)
            for agent in some:
                activities.of_agent(agent)
    return took


def _records(times: int) -> None:
    """Make what the core makes of one end at least."""
    for _ in range(times):
        AttemptDone(at_ms=1, run_id="r1", task_id="t1", attempt=1, agent_id="a1", output="ok", duration_ms=3)
        AttemptStarted(at_ms=1, run_id="r1", task_id="t2", attempt=1, agent_id="a1", generation=1)
        CallAnswer(task_id="t1", ok=True, output="ok", error=None)


def _commands(world: World, messages: int) -> tuple[Series, Series]:
    took, floor = Series(), Series()
    for _ in range(messages // 100):
        with took.timing(100):
            for _ in range(100):
                world.order(Ping())
        with floor.timing(100):
            _records(100)
    return took, floor


def _alone(history: Mapped, messages: int) -> tuple[Series, Series]:
    """Decide without folding what was decided."""
    world = history.world
    keys = [key for key in world.started if key != history.lead][:100]
    context = DecisionContext(now_ms=world.now_ms, jitter=0.5)
    signals: list[Signal | Order] = [
        AttemptSucceeded(task_id=key[0], attempt=key[1], output="ok", duration_ms=3) for key in keys[:50]
    ]
    signals += [AttemptErred(task_id=key[0], attempt=key[1], error="broken", error_type="E") for key in keys[50:]]
    took, floor = interleaved(
        lambda: [decide(world.state, one, context) for one in signals], lambda: _records(len(signals)), messages // 100
    )
    return took.per(len(signals)), floor.per(len(signals))
