"""Giving a supervisor something to do: run a request, queue one, follow it, stop it."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import suppress
from typing import TypedDict, Unpack

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from pydantic import JsonValue

from engine.core.commands import Cancel, Pause, Resume, Submit
from engine.core.decide.casting import Cast, cast_for
from engine.core.decide.plan import planned
from engine.core.errors import CoreError, Refused
from engine.core.events import Event, RunFinished, StrategySwitched
from engine.core.limits import Limits
from engine.core.policies.records import Chain
from engine.core.queries.able import is_able
from engine.core.queries.bound import AWAY
from engine.core.state import Agent, RunStatus, RunSummary, State, Supervisor
from engine.core.validation.bounds import Label, Priority, Seconds
from engine.core.validation.records import check_arguments
from engine.errors import EngineError, UnknownRun, Unusable
from engine.host.orders import Applied
from engine.results import ENDED_OTHERWISE, RunFailed, RunResult, WorkStatus
from engine.runtimes.task import as_text
from engine.runtimes.values import json_value
from engine.supervisor.errors import NotRunning, UnknownOption
from engine.supervisor.node import Node
from engine.supervisor.options import checks_arguments, refusals
from store import StoreError

STOP_S = 10.0
"""How long a cancelled caller waits for its run to stop."""


class RunDuties(TypedDict, total=False):
    """What may be said of a request besides the request itself."""

    priority: Priority
    deadline_s: Seconds
    on_failure: Chain
    limits: Limits
    category: Label
    after: Iterable[str]


class Requests(Node):
    """Requests to a supervisor, and what becomes of them."""

    async def arun(self, request: JsonValue, **duties: Unpack[RunDuties]) -> RunResult:
        """Work on a request and return what it came to. Cancelling the caller cancels the run.

        Starts an engine for the call where none is running.

        Args:
            request: A text, or any JSON value.
            duties: As for `submit`.

        Raises:
            RunFailed: If it failed; `RunCancelled` if somebody else cancelled it, `RunSkipped` if nothing came of it
                because what it rests on was skipped.
            CommandRefusedError: If nobody can work on it.
            Unusable: If an agent of the program cannot work.
            StoreError: If the files of the team cannot be held, such as `StoreBusy`.
        """
        async with self._line.running():
            run_id = await self._submitted(request, duties)
            ended = False
            try:
                summary = await self._line.run_ended(run_id)
                ended = True
            finally:
                if not ended:
                    await self._abandon(run_id)
            return await self._succeeded(summary)

    async def stream(self, request: JsonValue, **duties: Unpack[RunDuties]) -> AsyncGenerator[Event, None]:
        """Work on a request and yield what happens to it, as it happens. Leaving the loop early cancels the run.

        Raises:
            RunFailed: After the last event, if it failed.
            SubscriberTooSlow: If events are taken so slowly that they pile up.
        """
        async with self._line.running():
            with self._line.events() as events:
                run_id = await self._submitted(request, duties)
                ended = False
                try:
                    async for _, event in events:
                        if _is_about(event, run_id):
                            ended = isinstance(event, RunFinished)
                            yield event
                        if ended:
                            break
                    summary = await self._line.run_ended(run_id)
                    ended = True
                finally:
                    if not ended:
                        await self._abandon(run_id)
            await self._succeeded(summary)

    async def submit(self, request: JsonValue, **duties: Unpack[RunDuties]) -> str:
        """Queue a request on a running engine and return the id of its run at once.

        Args:
            request: A text, or any JSON value.
            duties: Any of `priority` (0, the most urgent, to 9), `deadline_s` (from now on), `on_failure` (policies in
                place of those of the agents' specs), `limits` (what it may spend), `category` (the kind of work, for
                `coordination_strategies`) and `after` (ids of runs that must be done before it begins).

        Raises:
            NotRunning: If no engine is running that would go on with it.
            CommandRefusedError: If nobody can work on it, or one of the duties cannot be.
        """
        if not self._line.is_running:
            raise NotRunning(self.name)
        return await self._submitted(request, duties)

    @checks_arguments
    async def wait(self, id: str) -> RunResult:
        """Return how a run that was submitted ended, once it has; cancelling the caller leaves the run alone.

        Raises:
            RunFailed: If it failed; `RunCancelled` if it was cancelled, `RunSkipped` if it was skipped.
            UnknownRun: If there is none.
        """
        async with self._line.running():
            return await self._succeeded(await self._line.run_ended(id))

    @checks_arguments
    async def status(self, id: str) -> WorkStatus:
        """Return where a run or a task stands.

        Args:
            id: What `submit` returned, or the id of a task of an open run.

        Raises:
            UnknownRun: If there is none.
        """
        await self._line.refresh()
        state = self._state
        if id in state.runs:
            run = state.runs[id]
            return WorkStatus(
                id=id, status=run.status, title=run.title, tasks=run.total, done=run.done, failed=run.failed
            )
        if id in state.tasks:
            task = state.tasks[id]
            below = [state.tasks[child_id].status for child_id in task.children]
            return WorkStatus(
                id=id,
                status=task.status,
                title=task.title,
                tasks=len(below),
                done=below.count("done"),  # type: ignore[arg-type]  # it is that text
                failed=below.count("failed"),  # type: ignore[arg-type]
                output=await self._line.text(task.output),
                error=task.error,
            )
        summary = await self._line.finished_run(id)
        if summary is None:
            raise UnknownRun(id)
        return WorkStatus(
            id=id,
            status=summary.status,
            title=summary.title,
            tasks=summary.tasks,
            done=summary.done,
            failed=summary.failed,
            output=await self._line.text(summary.output),
            error=summary.error,
        )

    async def cancel(self, id: str, reason: str = "cancelled by the program") -> Applied:
        """Stop a run or a task at its next steps; what is done stays.

        Raises:
            CommandRefusedError: If there is none, or it has ended.
        """
        return await self._order(lambda: Cancel(target=id, reason=reason))

    @checks_arguments
    async def pause(self, target: str | None = None) -> Applied:
        """Let an agent, a run or the supervisor itself start nothing new; what is at work goes on.

        Args:
            target: Name of an agent or a supervisor, or id of a run; None for the supervisor itself.

        Raises:
            CommandRefusedError: If there is none, or it is paused already.
        """
        return await self._order(lambda: Pause(target=self._meant(target)))

    @checks_arguments
    async def resume(self, target: str | None = None) -> Applied:
        """Let go on what was paused.

        Raises:
            CommandRefusedError: If there is none, or it is not paused.
        """
        return await self._order(lambda: Resume(target=self._meant(target)))

    async def _submitted(self, request: JsonValue, duties: RunDuties) -> str:
        value = json_value(request)
        for name in duties:
            if name not in RunDuties.__annotations__:
                raise UnknownOption("a request", name, RunDuties.__annotations__)
        with refusals():
            check_arguments("a request", RunDuties, duties)
        self._line.check_whole()
        self._refuse_broken(as_text(value), duties.get("category"))
        await checkpoint_if_cancelled()
        with anyio.CancelScope(shield=True):
            applied = await self._order(
                lambda: Submit(
                    request=value,
                    supervisor=self._target,
                    on_failure=duties.get("on_failure", ()),
                    priority=duties.get("priority"),
                    deadline_s=duties.get("deadline_s"),
                    limits=duties.get("limits"),
                    category=duties.get("category"),
                    after=list(duties.get("after", ())),
                )
            )
        return str(applied.result["run_id"])

    def _refuse_broken(self, text: str, category: str | None) -> None:
        """Raise where somebody would take part who cannot work: the run would wait until a person mends that."""
        state = self._state
        if not any(map(_is_broken, state.agents.values())):
            return
        for agent in needed_under(state, self._here, text, category):
            if _is_broken(agent):
                raise Unusable(f"agent {agent.name!r} cannot work: {agent.error or AWAY}")

    async def _abandon(self, run_id: str) -> None:
        """Cancel a run that nobody waits for any more, and wait until it has stopped."""
        with (
            anyio.CancelScope(shield=True),
            anyio.move_on_after(STOP_S),
            suppress(EngineError, CoreError, StoreError),
        ):
            await self._order(lambda: Cancel(target=run_id, reason="its caller was cancelled"))
            await self._line.run_ended(run_id)

    async def _succeeded(self, summary: RunSummary) -> RunResult:
        result = RunResult(
            run_id=summary.id,
            status=summary.status,
            output=await self._line.text(summary.output),
            usage=summary.usage,
            tasks=summary.tasks,
            seq=summary.seq,
            error=summary.error,
        )
        if summary.status is RunStatus.DONE:
            return result
        raise ENDED_OTHERWISE.get(summary.status, RunFailed)(result)


def _is_about(event: Event, run_id: str) -> bool:
    if isinstance(event, StrategySwitched):
        return any(group.run_id == run_id for group in event.groups)
    return getattr(event, "run_id", None) == run_id


def _is_broken(agent: Agent) -> bool:
    return agent.error is not None or agent.away


def needed_under(state: State, supervisor: Supervisor, text: str, category: str | None) -> Iterator[Agent]:
    """Yield the agents that a request needs, down the tree; nobody where the core will refuse it."""
    try:
        cast = cast_for(state, supervisor, text, category)
        _, graph = planned(state, supervisor, cast)
    except Refused:
        return
    for member_id in _needed(state, cast, [one.worker_id for one in graph.nodes if one.worker_id is not None]):
        if member_id in state.agents:
            yield state.agents[member_id]
        else:
            yield from needed_under(state, state.supervisors[member_id], text, category)


def _needed(state: State, cast: Cast, placed: list[str]) -> list[str]:
    """Return who has to be able to work: each who has a node; of those who share the items of a map one is enough."""
    if cast.mode != "map" or "to" in cast.settings:
        return placed
    others = [one for one in cast.members if one not in placed]
    can = any(one in state.supervisors or is_able(state, state.agents[one]) for one in others)
    return placed if can else cast.members
