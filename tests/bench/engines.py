"""Engines to measure on: a real host on a real store, in this process, with function agents."""

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
from pydantic import JsonValue

from engine.core.commands import AddSupervisor, Submit, SupervisorSpec
from engine.core.specs.spec import AgentSpec
from engine.host.host import Host
from engine.platform.garbage import collect_rarely
from engine.supervisor.callables import Callables
from engine.trusted_code.trust import TrustList
from store import Row
from store.layout.opening import Store, open_store


@dataclass(slots=True)
class Engine:
    """A host that runs."""

    host: Host
    store: Store

    async def ask(self, request: JsonValue) -> JsonValue:
        """Return what a request to the team comes to."""
        applied = await self.host.order(Submit(request=request))
        summary = await self.host.run_ended(str(applied.result["run_id"]))
        return await self.host.text(summary.output)


@asynccontextmanager
async def engine_with(path: Path | None, *specs: AgentSpec, **settings: Any) -> AsyncIterator[Engine]:
    """Run an engine with one team.

    Args:
        path: The database, at `durability="full"`; None for one in memory.
        specs: The agents; requests go to the first.
        settings: Of the supervisor.
    """
    async with open_store(path or ":memory:") as store, anyio.create_task_group() as group:
        allowed = None if path is None else TrustList(path.with_name("trust.json"))
        host = Host(store, seed=1, allowed=allowed)
        await group.start(host.run)
        callables = Callables()
        members = [callables.with_references(spec) for spec in specs]
        host.bind(callables.by_reference)
        team = SupervisorSpec(name="team", members=[*members], participants=[specs[0].name], **settings)
        await host.order(AddSupervisor(parent=None, team=team))
        with _as_in_its_own_process():
            yield Engine(host, store)
        await host.stop()


@contextmanager
def _as_in_its_own_process() -> Iterator[None]:
    """Collect garbage as a process does that is an engine."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def crew(count: int, run: Callable[..., Any]) -> list[AgentSpec]:
    """Return the specs of `count` agents that are able to `work`."""
    return [AgentSpec(name=f"w{number}", run=run, specialties=["work"]) for number in range(count)]


@asynccontextmanager
async def bare_database(path: Path) -> AsyncIterator[aiosqlite.Connection]:
    """Open a database whose every insert is one hop through a thread and one synced commit."""
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            await connection.execute_fetchall(f"PRAGMA {pragma}")
        await connection.execute_fetchall("CREATE TABLE rows (at_ms INTEGER, body TEXT)")
        yield connection


async def commit_hop(connection: aiosqlite.Connection) -> None:
    """Commit one row of the size of an event."""
    await connection.execute_insert("INSERT INTO rows VALUES (1, ?)", ("x" * 300,))


class Appender:
    """Appends rows of an event's size, with nothing around the store."""

    def __init__(self, store: Store) -> None:
        self._journal = store.journal

    async def append(self, count: int) -> None:
        """Append one batch."""
        row = Row(1, "attempt_done", b'{"type":"attempt_done","x":"' + b"x" * 170 + b'"}', "r1", "t12345", "a12")
        await self._journal.append(self._journal.last_seq + 1, [row] * count)
