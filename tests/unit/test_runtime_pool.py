"""One runtime for each spec, however many ask for it at once, and whoever of them goes away."""

import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from pydantic import JsonValue

from engine import AgentSpec, Unusable
from engine.core.state import State
from engine.errors import BoundElsewhere
from engine.host.runtime_pool import RuntimePool
from engine.host.trusting import Trusting
from engine.runtimes import catalogue
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.functions.processes import Processes
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from tests.patience import PATIENCE_S

SPEC = AgentSpec(name="a", agent_type="gated")


class Gate:
    """Makes runtimes whose check ends when the gate opens; counts them."""

    def __init__(self) -> None:
        self.open = anyio.Event()
        self.error: Exception | None = None
        self.made: list[Runtime] = []

    def __call__(self, _spec: AgentSpec, _code: Code) -> Runtime:
        self.made.append(Gated(self))
        return self.made[-1]


class Gated:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def check(self) -> None:
        await self._gate.open.wait()
        if self._gate.error is not None:
            raise self._gate.error

    async def execute(self, work: Work) -> JsonValue:
        raise NotImplementedError


@asynccontextmanager
async def crew_of(
    gate: Gate, bound: Mapping[str, Callable[..., object]] = MappingProxyType({})
) -> AsyncIterator[tuple[RuntimePool, TaskGroup]]:
    async with anyio.create_task_group() as group:
        yield (
            RuntimePool(
                runtimes={"gated": gate},
                bound=bound,
                state=State,
                folder=None,
                trusting=Trusting(None, db=None, folder=None, state=State, is_program=True),
                threads=Threads(),
                processes=Processes(),
                programs=Programs(),
                start=group.start_soon,
            ),
            group,
        )


class Askers:
    """Several that ask for the runtime of one spec at once, and what each of them got."""

    def __init__(self, crew: RuntimePool) -> None:
        self._crew = crew
        self.got: list[Runtime | Unusable] = []

    async def ask(self) -> None:
        try:
            self.got.append(await self._crew.prepare("hash", SPEC))
        except Unusable as unusable:
            self.got.append(unusable)


async def until_made(gate: Gate) -> None:
    with anyio.fail_after(PATIENCE_S):
        while not gate.made:
            await checkpoint()


@pytest.mark.anyio
async def test_all_who_ask_at_once_get_the_one_runtime() -> None:
    gate = Gate()
    async with crew_of(gate) as (crew, group):
        askers = Askers(crew)
        async with anyio.create_task_group() as asking:
            for _ in range(20):
                asking.start_soon(askers.ask)
            group.start_soon(until_made, gate)
            gate.open.set()

    assert len(gate.made) == 1
    assert askers.got == gate.made * 20


@pytest.mark.anyio
async def test_a_runtime_is_made_again_for_those_who_wait_where_its_callable_was_bound_meanwhile() -> None:
    gate, bound = Gate(), dict[str, Callable[..., object]]()
    gate.error = BoundElsewhere("mine")
    async with crew_of(gate, bound) as (crew, _):
        askers = Askers(crew)
        async with anyio.create_task_group() as asking:
            asking.start_soon(askers.ask)
            await until_made(gate)
            bound["mine"] = print
            asking.start_soon(askers.ask)
            await checkpoint()
            gate.open.set()
            await checkpoint()
            gate.error = None

    assert len(gate.made) == 2
    assert askers.got == [gate.made[-1]] * 2


@pytest.mark.anyio
async def test_the_others_get_their_runtime_when_the_one_who_asked_first_is_cancelled() -> None:
    gate = Gate()
    async with crew_of(gate) as (crew, group):
        first, others = Askers(crew), Askers(crew)
        scope = anyio.CancelScope()

        async def ask_first() -> None:
            with scope:
                await first.ask()

        group.start_soon(ask_first)
        await until_made(gate)
        async with anyio.create_task_group() as asking:
            for _ in range(3):
                asking.start_soon(others.ask)
            await checkpoint()
            scope.cancel()
            await checkpoint()
            gate.open.set()

    assert first.got == []
    assert others.got == gate.made * 3
    assert len(gate.made) == 1


@pytest.mark.anyio
async def test_a_runtime_that_cannot_work_is_said_to_all_who_ask_and_made_again_for_the_next() -> None:
    gate = Gate()
    gate.error = ValueError("no key")
    async with crew_of(gate) as (crew, _):
        askers = Askers(crew)
        async with anyio.create_task_group() as asking:
            for _ in range(3):
                asking.start_soon(askers.ask)
            gate.open.set()
        assert [str(one) for one in askers.got] == ["ValueError: no key"] * 3
        gate.error = None
        await askers.ask()

    assert askers.got[-1] is gate.made[1]


@pytest.mark.anyio
async def test_a_runtime_that_was_forgotten_while_it_was_made_is_made_anew_for_who_asks_later() -> None:
    gate = Gate()
    async with crew_of(gate) as (crew, group):
        before, after = Askers(crew), Askers(crew)
        group.start_soon(before.ask)
        await until_made(gate)
        crew.forget(["hash"])
        gate.open.set()
        await after.ask()

    assert (before.got, after.got) == ([gate.made[0]], [gate.made[1]])
    assert crew.ready("hash") is gate.made[1]


LATE_RUNTIME = """
import threading
from engine.runtimes.kinds import AgentKind
THREAD = threading.current_thread()
KINDS = {"gated": AgentKind(words="a gated agent", factory="late_runtime:make")}
"""


@pytest.mark.anyio
async def test_the_module_of_a_runtime_is_imported_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("late_runtime.py").write_text(LATE_RUNTIME)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(catalogue._BUILT_IN, "gated", "late_runtime")
    monkeypatch.setattr(catalogue, "_loaded", set())
    gate = Gate()
    gate.open.set()
    async with crew_of(gate) as (crew, _):
        assert "late_runtime" not in sys.modules
        await crew.prepare("hash", SPEC)

        assert sys.modules.pop("late_runtime").THREAD is not threading.main_thread()
