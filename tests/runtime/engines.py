"""Engines for the tests of the shell: a real store, a real loop, and a clock that is moved only when time matters."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import anyio
from pydantic import JsonValue

from engine.core.commands import AddSupervisor, Submit, SupervisorSpec
from engine.core.specs.spec import AgentSpec
from engine.core.state import RunSummary, State
from engine.host.host import Host
from engine.platform.clock import Clock, RealClock, boot_ns
from engine.supervisor.callables import Callables
from store import Record
from store.layout.opening import Store, open_store
from tests.patience import PATIENCE_S

T = TypeVar("T")


async def soon(look: Callable[[], Awaitable[T]]) -> T:
    """Return what `look` finds, once it is something: for what other threads, processes and files come to."""
    with anyio.fail_after(PATIENCE_S):
        while not (found := await look()):  # noqa: ASYNC110 - nothing tells when a file or a process has changed
            await anyio.sleep(0.001)
    return found


class Hurried(RealClock):
    """The time of this computer, and what a test lets pass besides: so that no limit passes before its work began."""

    def __init__(self) -> None:
        self._more_ns = 0
        super().__init__(
            wall_ns=lambda: time.time_ns() + self._more_ns, steady_ns=lambda: boot_ns() + self._more_ns,
            awake_ns=lambda: time.monotonic_ns() + self._more_ns, look_s=0.01,
        )  # fmt: skip

    def let_pass(self, seconds: int) -> None:
        self._more_ns += seconds * 1_000_000_000


@dataclass
class Engine:
    """A host that runs, with the few things that tests ask of it."""

    host: Host
    store: Store

    @property
    def state(self) -> State:
        return self.host.state

    async def hire(self, *specs: AgentSpec, name: str = "team", **settings: Any) -> None:
        """Make a supervisor with these agents, whose code is the program's own."""
        callables = Callables()
        members = [callables.with_references(spec) for spec in specs]
        self.host.bind(callables.by_reference)
        team = SupervisorSpec(name=name, members=list(members), **settings)
        await self.host.order(AddSupervisor(parent=None, team=team))

    async def submit(self, request: JsonValue = "go", *, supervisor: str | None = None) -> str:
        """Begin a run and return its id."""
        applied = await self.host.order(Submit(request=request, supervisor=supervisor))
        return str(applied.result["run_id"])

    async def ended(self, run_id: str) -> tuple[RunSummary, JsonValue]:
        """Return the summary and the output of a run, when it has its outcome."""
        with anyio.fail_after(PATIENCE_S):
            summary = await self.host.run_ended(run_id)
        return summary, await self.host.text(summary.output)

    async def ask(self, request: JsonValue = "go", *, supervisor: str | None = None) -> JsonValue:
        """Return the output of a run that is done."""
        summary, output = await self.ended(await self.submit(request, supervisor=supervisor))
        assert summary.status == "done", summary.error
        return output

    async def fails(self, request: JsonValue = "go") -> str:
        """Return the error of a run that fails."""
        summary, _ = await self.ended(await self.submit(request))
        assert summary.status == "failed"
        return summary.error or ""

    async def journal(self, kind: str | None = None) -> list[Record]:
        """Return the records so far, all or those of a kind."""
        await self.host.wait_until_written()
        return [record for record in await self.store.journal.read(0, 10_000) if kind in (None, record.kind)]

    async def shown(self) -> dict[str, str]:
        """Return the live texts of the moment."""
        return self.store.live.texts()

    async def until(self, holds: Callable[[State], bool]) -> None:
        """Return once the state is as it should be."""
        with self.host.subscribe() as events, anyio.fail_after(PATIENCE_S):
            while not holds(self.state):
                await anext(events)


Engines: TypeAlias = Callable[..., AbstractAsyncContextManager[Engine]]


@asynccontextmanager
async def running(
    *specs: AgentSpec,
    path: Path | str = ":memory:",
    clock: Clock | None = None,
    host: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Engine]:
    """Run an engine; leaving the context drops it without a stop, as a crash would."""
    async with open_store(path) as store, anyio.create_task_group() as group:
        engine = Engine(Host(store, clock=clock, seed=1, **(host or {})), store)
        await group.start(engine.host.run)
        if specs:
            await engine.hire(*specs, **settings)
        yield engine
        group.cancel_scope.cancel()
