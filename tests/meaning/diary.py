"""Small programs on a virtual clock, with a diary of which agent did what, how often, when and for how long.

A test in this folder takes one sentence of the documentation, writes the program that a user would write for it, and
compares counts, order and times exactly: time moves only while every agent waits for it.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from anyio import wait_all_tasks_blocked
from pydantic import JsonValue

from engine import AgentSpec, DynamicSupervisor, RunFailed, RunResult
from engine.platform.clock import VirtualClock
from tests.patience import PATIENCE_S

Body = Callable[[Any, Any], Awaitable[Any]]


@dataclass(slots=True)
class Entry:
    """One execution of an agent's function, retries and restarted attempts counted each."""

    team: str
    agent: str
    text: str
    began_s: float
    ended_s: float | None = None
    """None while it runs, and for ever where it was stopped."""


class Diary:
    """Make agents that write down what they do; `entries` are in the order in which they began."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self.clock = clock or VirtualClock()
        self.entries: list[Entry] = []
        self.steps: list[tuple[str, str, int]] = []
        """Finished steps of agents that take some: agent, team, number."""
        self._start_ms = self.clock.now_ms()

    def now_s(self) -> float:
        """Return the virtual seconds since the diary was begun."""
        return (self.clock.now_ms() - self._start_ms) / 1000

    async def works(self, seconds: float) -> None:
        """Take virtual time in an agent's function without a call of `ctx`, at which it could be stopped."""
        self.clock.release()  # the attempt holds the clock while it works
        try:
            await self.clock.sleep_until(self.clock.now_ms() + round(seconds * 1000))
        finally:
            self.clock.hold()

    @asynccontextmanager
    async def at(self, seconds: float) -> AsyncIterator[None]:
        """Do something at a virtual moment: time stands still meanwhile."""
        await self.clock.sleep_until(self._start_ms + round(seconds * 1000))
        self.clock.hold()
        try:
            yield
        finally:
            self.clock.release()

    def agent(
        self,
        name: str,
        *specialties: str,
        takes_s: float = 0.0,
        says: JsonValue | Callable[[Any], Any] = None,
        body: Body | None = None,
        team: str = "",
        **spec: Any,
    ) -> AgentSpec:
        """Return the spec of an agent that is written down.

        Args:
            name: Its name.
            specialties: What it says it is able to do.
            takes_s: Virtual seconds that it works, before `body`.
            says: Its output, or a function of the task; None for `name(text)`. An exception is raised instead.
            body: What it does instead of `says`: `async def body(task, ctx)`.
            team: Tells agents of the same name apart in the diary.
            spec: Other fields of the spec.
        """

        async def run(task: Any, ctx: Any) -> Any:
            entry = Entry(team, name, str(task.text), self.now_s())
            self.entries.append(entry)
            if takes_s:
                await ctx.sleep(takes_s)
            output = await body(task, ctx) if body is not None else says(task) if callable(says) else says
            entry.ended_s = self.now_s()
            if isinstance(output, Exception):
                raise output
            return f"{name}({task.text})" if output is None and body is None and says is None else output

        return AgentSpec(name=name, run=run, specialties=specialties, **spec)

    def in_steps(self, name: str, *specialties: str, team: str = "", steps: int = 3, **spec: Any) -> AgentSpec:
        """Return an agent that takes steps of a second each; they stand in `steps`, and together are its output."""

        async def body(task: Any, ctx: Any) -> str:
            done = []
            for number in range(steps):

                async def step(number: int = number) -> str:
                    await self.works(1)
                    self.steps.append((name, team, number))
                    return f"{name}{team}{number}"

                done.append(await ctx.step(f"step {number}", step))
            return " ".join(done)

        return self.agent(name, *specialties, body=body, team=team, **spec)

    def fails(self, times: int, name: str, *specialties: str, takes_s: float = 0.0, **spec: Any) -> AgentSpec:
        """Return an agent whose first executions fail, as nobody answers."""
        left = [times]

        def output(task: Any) -> Any:
            left[0] -= 1
            return ConnectionError("nobody answers") if left[0] >= 0 else f"{name}({task.text})"

        return self.agent(name, *specialties, takes_s=takes_s, says=output, **spec)

    def supervisor(self, name: str, *specs: AgentSpec, **options: Any) -> DynamicSupervisor:
        """Return a supervisor with these agents, on the diary's clock."""
        return DynamicSupervisor(name, agent_specs=specs, clock=self.clock, **options)

    def counts(self) -> dict[str, int]:
        """Return how often each agent was executed, by `agent` or `team/agent`."""
        return dict(Counter(_label(one) for one in self.entries))

    def order(self) -> list[str]:
        """Return who began, in order."""
        return [_label(one) for one in self.entries]

    def of(self, agent: str) -> list[Entry]:
        """Return the executions of one agent, by `agent` or `team/agent`."""
        return [one for one in self.entries if agent in (one.agent, _label(one))]


async def told(supervisor: DynamicSupervisor, request: JsonValue = "go", **fields: Any) -> RunResult:
    """Return the result of a request, of one that failed too; hangs for at most `PATIENCE_S` real seconds."""
    with anyio.fail_after(PATIENCE_S):
        try:
            return await supervisor.arun(request, **fields)
        except RunFailed as failed:
            return failed.result


async def during(
    diary: Diary,
    chief: DynamicSupervisor,
    act: Callable[[str], Coroutine[Any, Any, None]],
    request: Any = "go",
    **duties: Any,
) -> RunResult:
    """Return what a request comes to while somebody acts, who gets the id of its run and waits for the first moment."""
    results: list[RunResult] = []

    async def wait(run_id: str) -> None:
        try:
            results.append(await chief.wait(run_id))
        except RunFailed as failed:
            results.append(failed.result)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            diary.clock.hold()  # or time may have gone on before anybody waits for a moment of it
            run_id = await chief.submit(request, **duties)
            group.start_soon(wait, run_id)
            group.start_soon(act, run_id)
            await wait_all_tasks_blocked()
            diary.clock.release()
    return results[0]


def _label(entry: Entry) -> str:
    return f"{entry.team}/{entry.agent}" if entry.team else entry.agent
