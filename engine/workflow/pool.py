"""The pool of a supervisor and its workers: one team and its engine, in the event loop of a thread of its own."""

import asyncio
import atexit
import os
import re
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from engine.core.specs.spec import AgentSpec
from engine.errors import BlocksPool, HostStopped
from engine.supervisor.dynamic import DynamicSupervisor
from engine.workflow.lead import LEAD, Planner, lead_with
from engine.workflow.requests import Row
from engine.workflow.tables import SEGMENTS
from engine.workflow.work import PoolWork

T = TypeVar("T")
MAX_AGENTS = 10_000
STOP_S = 10.0
"""How long `close` waits for the thread, in seconds: code of a worker may block it for ever."""


class SharedMemoryPool:
    """What a supervisor and its workers share: their tasks, and what became of them.

    All calls block until they have their answer, and may come from any thread but the pool's own. Use it as a context,
    or `close` it; otherwise it closes when the program ends.

    Args:
        store: Path of a file; None keeps everything in memory.
    """

    def __init__(self, store: str | os.PathLike[str] | None = None) -> None:
        self._planners: dict[str, Planner] = {}
        """Functions that plan, by the names of their supervisors."""
        self._planning: dict[str, AgentSpec] = {}
        """Agents that plan with a model, by the names of their supervisors."""
        lead = AgentSpec(
            name=LEAD,
            run=lead_with(self._planners, lambda run_id: self._work.keep(run_id)),
            description="Plans tasks, gives them to the workers, and joins the results",
        )
        self._team = DynamicSupervisor(
            "pool",
            agent_specs=[lead],
            lead=LEAD,
            coordination_mode="delegate",
            max_agents=MAX_AGENTS,
            max_parallel=MAX_AGENTS,
            store=store,
        )
        self._work = PoolWork(self._team, None if store is None else Path(store).absolute())
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_ready = threading.Event()
        self._is_closed = False
        self._failure: Exception | None = None

    def __enter__(self) -> "SharedMemoryPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the engine. Open requests of a file continue with the next pool on it; those in memory are gone."""
        atexit.unregister(self.close)
        with self._lock:
            self._is_closed, thread = True, self._thread
        if thread is not None:
            self._refuse_own_loop()
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(STOP_S)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def read_relevant(
        self,
        agent_id: str | None = None,
        tags: Iterable[str] = (),
        *,
        segments: Iterable[str] = SEGMENTS,
        min_importance: float = 0.0,
        exclude_own: bool = True,
        limit: int | None = 10,
    ) -> list[Row]:
        """Return entries of the segments `tasks`, `results`, `errors`, `progress` and `conflicts`, as they stand now.

        Args:
            agent_id: Who asks; its own entries are left out, unless `exclude_own` is False.
            tags: Tags that an entry has all of, such as `result` and the id of a request, however old.
            segments: The segments to look in.
            min_importance: The least importance, from 0 to 1.
            exclude_own: Leave out what `agent_id` wrote itself.
            limit: At most so many, the most important and newest first; None is all.
        """
        needed_tags, places = {tags} if isinstance(tags, str) else set(tags), set(segments)
        request_id = next((tag for tag in needed_tags if re.fullmatch(r"r\d+", tag)), None)
        tables = self._call(self._work.tables, request_id)
        rows = [
            row
            for table in tables
            for row in table.insights()
            if row["segment"] in places
            and needed_tags.issubset(row["tags"])
            and row["importance"] >= min_importance
            and not (exclude_own and row["agent_id"] == agent_id)
        ]
        rows.sort(key=lambda row: (row["importance"], row["timestamp"]), reverse=True)
        return rows[:limit]

    def read_all(self) -> list[Row]:
        """Return all entries of all segments, of requests that are open or that this pool has ended."""
        return [row for table in self._call(self._work.tables) for row in table.insights()]

    def _add(self, spec: AgentSpec) -> None:
        """Add an agent; before the pool is at work it is declared with the others, when the engine starts."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._team.agent_specs.append(spec)
                return
        self._call(self._work.add, spec)

    def _call(self, function: Callable[..., Awaitable[T]], *args: object) -> T:
        """Run a coroutine function in the loop of the pool, and return its result.

        Raises:
            HostStopped: If the pool is closed, or is closed meanwhile.
            BlocksPool: If called from that loop.
        """
        return result_of(self._start(function, *args))

    def _start(self, function: Callable[..., Awaitable[T]], *args: object) -> "Future[T]":
        """Start a coroutine function in the loop of the pool; raises as `_call`."""
        self._refuse_own_loop()
        with self._lock:
            if self._thread is None and not self._is_closed:
                # A daemon: the interpreter must not wait for a thread that only `close` ends.
                self._thread = threading.Thread(target=anyio.run, args=(self._serve,), name="pool", daemon=True)
                self._thread.start()
                self._is_ready.wait()
                atexit.register(self.close)
        try:
            if not self._is_closed:
                return self._portal.start_task_soon(function, *args)
        except RuntimeError:  # it was closed meanwhile
            if not self._is_closed:
                raise
        raise HostStopped("its pool was closed")

    def _refuse_own_loop(self) -> None:
        if self._thread is threading.current_thread():
            raise BlocksPool

    async def _serve(self) -> None:
        """Run calls until the pool is closed, then end the engine."""
        async with BlockingPortal() as self._portal:
            self._loop, self._stop = asyncio.get_running_loop(), anyio.Event()
            self._is_ready.set()
            await self._stop.wait()
            await self._portal.stop(cancel_remaining=True)
        try:
            await self._work.leave()
        except Exception as error:  # raised by `close`: nobody waits for a thread's exception
            self._failure = error


def result_of(future: "Future[T]") -> T:
    """Return the result of a call in the loop of a pool; raises HostStopped if the pool was closed meanwhile."""
    try:
        return future.result()
    except CancelledError:
        raise HostStopped("its pool was closed") from None
