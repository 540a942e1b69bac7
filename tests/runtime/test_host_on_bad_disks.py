"""What a host owes on disks that fill, die and change hands, and to agents that do not play by the rules.

Each of these was found by the simulation (`make simulate`) and is kept here as the shortest story of it.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from engine.core.commands import AddSupervisor, Ping, RemoveMember, RetryWork, Submit, SupervisorSpec
from engine.core.encoding.codec import encode_command
from engine.core.events import CommandApplied, CommandRefused
from engine.core.signals import EngineEnds
from engine.core.specs.spec import AgentSpec
from engine.errors import CommandRefusedError, HostStopped
from engine.host.host import Host
from engine.platform.clock import VirtualClock
from engine.simulation.disk import Disk, DiskFaults, EngineKilled
from engine.supervisor.callables import Callables
from store import CommandRow, Deposed
from tests.patience import PATIENCE_S
from tests.runtime.engines import running, soon

pytestmark = pytest.mark.anyio
PING = CommandRow("c1", "ping", encode_command(Ping()), "somebody", "operator", 0)
NONSENSE = CommandRow("c1", "no_such_command", b"{}", "somebody", "operator", 0)


@pytest.fixture
def disk() -> Iterator[Disk]:
    found = Disk()
    yield found
    found.close()


@asynccontextmanager
async def engine_on(disk: Disk, mishaps: DiskFaults, written: Callable[[], None] = lambda: None) -> AsyncIterator[Host]:
    """Run an engine on a disk until the body is done with it, however it ends."""
    clock = VirtualClock()
    host = Host(disk.open(clock, mishaps, written), clock=clock, seed=1, pid=1)

    async def be_engine(*, task_status: Any) -> None:
        try:
            await host.run(task_status=task_status)
        except (EngineKilled, Deposed):
            return

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(be_engine)
            await anyio.wait_all_tasks_blocked()
            yield host
            group.cancel_scope.cancel()


async def ended_by_a_fault(host: Host, *, task_status: Any) -> None:
    with contextlib.suppress(RuntimeError):
        await host.run(task_status=task_status)


async def stopped_instead(order: Awaitable[object]) -> None:
    with pytest.raises(HostStopped):
        await order


def mishaps() -> DiskFaults:
    return DiskFaults(lambda: None)


def outcomes(disk: Disk) -> list[str]:
    return [one.command_id for one in disk.events(0) if isinstance(one, CommandApplied | CommandRefused)]


async def told(disk: Disk) -> tuple[str, int | None]:
    """Return what the sender of `c1` finds in the inbox, once it is there."""

    async def look() -> tuple[str, int | None] | None:
        found = disk.outcome("c1")
        return found if found is not None and found[0] != "pending" else None

    found = await soon(look)
    assert found is not None
    return found


async def test_a_command_that_cannot_be_read_has_one_outcome_although_its_engine_dies_before_it_says_so(
    disk: Disk,
) -> None:
    death = anyio.Event()
    dying = DiskFaults(death.set)
    async with engine_on(disk, dying) as host:
        dying.kill_in, dying.kill_after = 1, True
        disk.put(NONSENSE)
        host.store.inbox._wake()
        await death.wait()
    async with engine_on(disk, mishaps()):
        state, seq = await told(disk)

    assert (state, seq) == ("refused", 2)
    assert outcomes(disk) == ["c1"]


async def test_a_command_sent_twice_to_an_engine_that_was_deposed_is_not_acknowledged(disk: Disk) -> None:
    async with engine_on(disk, mishaps()) as host:
        disk.depose(0)
        disk.put(PING)
        host.store.inbox._wake()
        with pytest.raises(HostStopped):
            await host.order(Ping(), id="c1")

    assert disk.outcome("c1") == ("pending", None)
    assert outcomes(disk) == []


async def ask_twice(host: Host, mishaps: DiskFaults, said: list[str]) -> None:
    """Ask while the answer to another question is being written, and note how far deciding is ahead of the disk."""
    mishaps.turns = lambda: 40

    async def ask(id: str) -> None:
        try:
            applied = await host.order(Ping(), id=id)
        except HostStopped:
            said.append(f"{id} stopped")
        else:
            said.append(f"{id} {applied.seq} {host.store.journal.last_seq}")

    written = host.store.journal.last_seq
    async with anyio.create_task_group() as group:
        for id in ("c1", "c2"):
            group.start_soon(ask, id)
            for _ in range(15):
                await checkpoint()
        said.append(f"{host.state.seq - written} ahead")


async def test_what_comes_while_a_batch_is_written_is_decided_and_told_once_it_is_on_disk_itself(disk: Disk) -> None:
    slow, said = mishaps(), list[str]()
    async with engine_on(disk, slow) as host:
        await ask_twice(host, slow, said)

    assert said == ["2 ahead", "c1 2 2", "c2 3 3"]


async def test_a_write_that_fails_drops_what_was_decided_after_it_too(disk: Disk) -> None:
    slow, said = mishaps(), list[str]()
    async with engine_on(disk, slow) as host:
        disk.depose(0)
        await ask_twice(host, slow, said)

    assert said == ["2 ahead", "c1 stopped", "c2 stopped"]
    assert outcomes(disk) == []


async def test_an_outcome_that_finds_no_room_in_the_inbox_is_written_a_while_later(disk: Disk) -> None:
    filling = mishaps()

    def fill() -> None:
        if disk.end[0] == 2:
            filling.full_until_ms = host.clock.now_ms() + 2_500

    async with engine_on(disk, filling, fill) as host:
        disk.put(PING)
        host.store.inbox._wake()
        state, _ = await told(disk)

    assert state == "applied"


async def test_a_command_of_a_program_that_is_not_of_its_type_is_refused_before_it_reaches_the_journal(
    disk: Disk,
) -> None:
    async with engine_on(disk, mishaps()) as host:
        wrong: Any = "sideways"
        with pytest.raises(CommandRefusedError, match="mode"):
            await host.order(RemoveMember(target="ada", mode=wrong))

    assert outcomes(disk) == []


async def test_an_engine_ends_although_an_agent_does_not() -> None:
    begun = anyio.Event()

    async def stubborn(text: str) -> str:
        begun.set()
        while True:
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                continue

    async with running(AgentSpec(name="mule", run=stubborn)) as engine:
        await engine.submit()
        await begun.wait()
        with anyio.fail_after(PATIENCE_S):
            await engine.host.stop()


async def test_an_agent_that_raises_generator_exit_fails_alone() -> None:
    async def odd(text: str) -> str:
        raise GeneratorExit

    async with running(AgentSpec(name="odd", run=odd)) as engine:
        assert "GeneratorExit" in await engine.fails()
        assert "GeneratorExit" in await engine.fails()


@pytest.mark.parametrize("how", ["cancelled", "failed"])
async def test_what_is_written_while_the_engine_ends_is_not_acted_on(disk: Disk, how: str) -> None:
    slow, begun = mishaps(), []

    async def work(text: str) -> None:
        begun.append(text)
        await anyio.sleep_forever()

    callables = Callables()
    spec = callables.with_references(AgentSpec(name="ada", run=work))
    team = SupervisorSpec(name="team", members=[spec], participants=["ada"])
    clock = VirtualClock()
    host = Host(disk.open(clock, slow, lambda: None), clock=clock, seed=1, pid=1)
    host.bind(callables.by_reference)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            await group.start(ended_by_a_fault, host)
            await host.order(AddSupervisor(parent=None, team=team))
            slow.turns = lambda: 40
            group.start_soon(stopped_instead, host.order(Submit(request="go")))
            for _ in range(20):
                await checkpoint()
            assert host.state.runs
            host.fail(RuntimeError("a fault")) if how == "failed" else group.cancel_scope.cancel()

    assert begun == []


async def test_a_finished_run_is_retried_although_the_journal_waits_for_a_slow_disk(disk: Disk) -> None:
    slow = mishaps()

    async def work(text: str) -> str:
        return text

    callables = Callables()
    spec = callables.with_references(AgentSpec(name="ada", run=work))
    async with engine_on(disk, slow) as host:
        host.bind(callables.by_reference)
        await host.order(AddSupervisor(parent=None, team=SupervisorSpec(name="team", members=[spec])))
        await host.order(Submit(request="go"))
        await host.run_ended("r1")
        slow.stall_ms = 5_000
        async with anyio.create_task_group() as group:
            group.start_soon(host.order, Ping())
            while not slow.is_waiting:
                await checkpoint()
            await host.order(RetryWork(target="r1"))
        assert (await host.run_ended("r2")).request == "go"


async def test_an_engine_that_is_torn_down_in_the_middle_of_a_write_leaves_no_caller_waiting(disk: Disk) -> None:
    slow = mishaps()
    async with engine_on(disk, slow) as host:
        slow.turns = lambda: 40
        host.signal(EngineEnds(reason="enough"))
        await checkpoint()
        await checkpoint()
    with anyio.fail_after(PATIENCE_S):
        await host.wait_until_written()


async def test_an_engine_that_is_torn_down_while_it_waits_for_room_leaves_no_caller_waiting(disk: Disk) -> None:
    full = mishaps()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as waiting, engine_on(disk, full) as host:
            full.full_until_ms = host.clock.now_ms() + 1_000
            host.clock.hold()
            waiting.start_soon(stopped_instead, host.order(Ping()))
            for _ in range(20):  # some of them while the batch is open, and some while it is written
                waiting.start_soon(host.wait_until_written)
                await checkpoint()
