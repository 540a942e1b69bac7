"""What one message costs the core, where the house is full: 1,000 agents and 10,000 tasks that wait."""

from collections.abc import Iterator

from engine.core.commands import Order, Ping
from engine.core.context import Context
from engine.core.decide import decide
from engine.core.signals import AttemptErred, AttemptSucceeded, Signal
from tests.bench.histories import Mapped, mapped, succeed
from tests.bench.measure import Series, interleaved
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


def _row(what: str, took: Series) -> Row:
    return Row(what=what, took=took, unit="µs", budget=BUDGET_US, computes=True)


def _ends(history: Mapped, messages: int, *, fails: bool) -> Series:
    """End attempts one after the other, in blocks that fewer than all agents work on."""
    world, keys, took = history.world, history.workers(), Series()
    for _ in range(messages // _BLOCK):
        some = [next(keys) for _ in range(_BLOCK)]
        with took.timing(_BLOCK):
            for key in some:
                world.fail(key) if fails else succeed(world, key)
    return took


def _commands(world: World, messages: int) -> Series:
    took = Series()
    for _ in range(messages // 100):
        with took.timing(100):
            for _ in range(100):
                world.order(Ping())
    return took


def _alone(history: Mapped, messages: int) -> Series:
    """Decide without folding what was decided."""
    world = history.world
    keys = [key for key in world.started if key != history.lead][:100]
    context = Context(now_ms=world.now_ms, jitter=0.5)
    signals: list[Signal | Order] = [
        AttemptSucceeded(task_id=key[0], attempt=key[1], output="ok", duration_ms=3) for key in keys[:50]
    ]
    signals += [AttemptErred(task_id=key[0], attempt=key[1], error="broken", error_type="E") for key in keys[50:]]
    took, _ = interleaved(lambda: [decide(world.state, one, context) for one in signals], None, messages // 100)
    return took.per(len(signals))
