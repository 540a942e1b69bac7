"""Child processes for `run_in: process`: reused, and killed when their call is cancelled."""

import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio

from engine.children.child import Child, start_child
from engine.core.records.records import JsonValue
from engine.errors import CallFailed, ProcessDied
from engine.runtimes.functions.agent_state import AgentState
from engine.trusted_code.references import Origin

PROGRAM = Path(__file__).with_name("child.py")
CHECK_TRIES = 3
"""Tries of a check whose process is killed by a signal, which may have nothing to do with the checked code."""

Report = Callable[[int, int, str], None]
Attend = Callable[[Child], Coroutine[Any, Any, None]]


async def _leave_alone(child: Child) -> None:
    """Do nothing beside a call."""


def spare_cores() -> int:
    """Return how many CPU-bound processes fit this computer, with one core left for the engine."""
    return max(1, (os.cpu_count() or 2) - 1)


class Processes:
    """Runs functions by reference in child processes, one call at a time in each; the core limits how many run."""

    def __init__(self) -> None:
        self._checks = anyio.CapacityLimiter(spare_cores())
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    async def check(self, origin: Origin) -> bool:
        """Check that a reference is a function of a text, and return whether it takes a `ctx` too.

        Raises:
            CallFailed: If it is not.
            ProcessDied: If the import ended the process; if signals killed it, after `CHECK_TRIES` tries.
        """
        async with self._checks:
            for checks_left in reversed(range(CHECK_TRIES)):
                try:
                    answer = await self._ask(_request(origin), _ignore, _leave_alone)
                except ProcessDied as death:
                    if not (death.killed and checks_left):
                        raise
                else:
                    return bool(answer["output"])
        raise AssertionError("the last try returns or raises")

    async def call(
        self,
        origin: Origin,
        value: JsonValue,
        *,
        report: Report,
        attend: Attend = _leave_alone,
        state: AgentState | None = None,
    ) -> JsonValue:
        """Call the function and return its result; a cancelled call kills its process.

        Args:
            origin: Where the function is imported from.
            value: The one argument.
            report: Called with its progress.
            attend: Runs beside the call, with its process, until the call ends.
            state: The agent's state, which the function gets as `ctx.state`; its changes are made in it.

        Raises:
            CallFailed: If it raised.
            ProcessDied: If the process ended without an answer.
        """
        request = {**_request(origin), "value": value}
        if state is not None:
            request["state"] = dict(state.values_by_key)
        answer = await self._ask(request, report, attend)
        if state is not None:
            state.apply(answer["state"])
        output: JsonValue = answer["output"]
        return output

    async def close(self) -> None:
        """Kill every child."""
        for worker in list(self._all):
            await self._end(worker)

    async def _ask(self, request: dict[str, JsonValue], report: Report, attend: Attend) -> dict[str, Any]:
        line = json.dumps(request).encode() + b"\n"
        worker = await self._worker()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(attend, worker.child)
                answer = await worker.ask(line, report)
                group.cancel_scope.cancel()
            if answer is None:  # raised after the group, which would wrap it
                raise ProcessDied(f"its process {worker.child.ending}", killed=(worker.child.returncode or 0) < 0)
        except BaseException:  # also when cancelled: the child is still busy with this call, so it cannot be reused
            await self._end(worker)
            raise
        self._idle.append(worker)
        if "error" in answer:
            raise CallFailed(answer["type"], answer["error"], answer.get("traits"))
        return answer

    async def _worker(self) -> "_Worker":
        while self._idle:
            worker = self._idle.pop()
            if not worker.child.exited.is_set():
                return worker
            await self._end(worker)
        worker = _Worker(await start_child([sys.executable, "-P", str(PROGRAM)], env=os.environ))
        self._all.add(worker)
        return worker

    async def _end(self, worker: "_Worker") -> None:
        self._all.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        await worker.child.end()


class _Worker:
    def __init__(self, child: Child) -> None:
        self.child = child
        self._lines = child.lines()

    async def ask(self, line: bytes, report: Report) -> dict[str, Any] | None:
        """Send one request and return its answer; None if the process ends instead."""
        await self.child.send(line)
        async for answer in self._lines:
            message: dict[str, Any] = json.loads(answer)
            if "progress" not in message:
                return message
            report(*message["progress"])
        await self.child.reap()
        return None


def _request(origin: Origin) -> dict[str, Any]:
    """Return what a child needs to import a function: its modules, or else the search path."""
    path = [str(Path(entry).absolute()) for entry in sys.path]
    if origin.sources is None and origin.folder is not None:
        path.insert(0, str(origin.folder))
    sources = {name: list(source) for name, source in (origin.sources or {}).items()}
    return {"reference": origin.reference, "folder": str(origin.folder), "sources": sources, "path": path}


def _ignore(done: int, total: int, note: str) -> None:
    """Ignore progress."""
