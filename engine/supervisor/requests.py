"""Giving a supervisor something to do: run a request, queue, follow or stop it, and decide about work under way."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypedDict, Unpack

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from msgspec.structs import replace

from engine.core.commands import Cancel, Pause, Reassign, Resume, RetryWork, SetDeadline, SetPriority, Submit
from engine.core.decide.graphs import planned
from engine.core.errors import CoreError, Refused
from engine.core.events import RunFinished
from engine.core.limits import Limits
from engine.core.policies.failure_policies import Chain
from engine.core.queries.able import AWAY, is_able
from engine.core.queries.participants import Cast, cast_for
from engine.core.queries.targets import find_agent
from engine.core.records import JsonValue
from engine.core.state import Agent, RunStatus, RunSummary, State, Supervisor, Task, TaskStatus
from engine.core.validation.bounds import Label, Priority, Seconds
from engine.core.validation.records import check_arguments
from engine.core.values import TextRef
from engine.errors import EngineError, NotRunning, UnknownRun, Unusable
from engine.host.pending_commands import Applied
from engine.results import ENDED_OTHERWISE, RunFailed, RunResult, WorkStatus
from engine.runtimes.task import as_text
from engine.runtimes.values import json_value
from engine.stream.narrator import Narrator
from engine.stream.records import StreamEvent
from engine.supervisor.node import Node, check_names, checks_arguments, refusals
from store import StoreError

MAIN = "main"
"""The conversation that requests of a program belong to where it names none."""
STOP_S = 10.0
"""How long a cancelled caller waits for its run to stop."""
LEFT_S = 0.25
"""How long work may go on to its next step when its stream is left."""


class RunDuties(TypedDict, total=False):
    """Options of a request."""

    priority: Priority
    deadline_s: Seconds
    on_failure: Chain
    limits: Limits
    category: Label
    after: Iterable[str]


class Requests(Node):
    """Methods that submit, follow and stop requests, and that decide about work in progress."""

    async def arun(self, request: JsonValue, conversation: str | None = MAIN, **duties: Unpack[RunDuties]) -> RunResult:
        """Work on a request and return what it came to. Cancelling the caller cancels the run.

        Starts an engine for the call where none is running.

        Args:
            request: A text, or any JSON value.
            conversation: The one that it goes on with, or begins: model agents see the requests and answers in it
                that came before. None remembers nothing.
            duties: As for `submit`.

        Raises:
            RunFailed: If it failed; `RunCancelled` if somebody else cancelled it, `RunSkipped` if nothing came of it
                because what it rests on was skipped.
            CommandRefusedError: If nobody can work on it.
            Unusable: If an agent of the program cannot work.
            StoreError: If the files of the team cannot be held, such as `StoreBusy`.
        """
        async with self._engine.running():
            run_id = await self._submitted(request, conversation, duties)
            async with self._abandoned_unless_ended(run_id):
                summary = await self._engine.run_ended(run_id)
            return await self._succeeded(summary)

    async def stream(
        self, request: JsonValue, conversation: str | None = MAIN, **duties: Unpack[RunDuties]
    ) -> AsyncGenerator[StreamEvent, None]:
        """Work on a request and yield what happens to it, as it happens: text of agents, tools, steps and tasks.

        It begins with `started` and ends with `completed`, whatever becomes of the run. Leaving the loop early cancels
        the run, and stops within half a second what does not stop at a step. A slow loop slows no agent: text that
        waits is merged, and beyond 1 MB of a task left out, which a `dropped` says.

        Raises:
            RunFailed: After `completed`, if it failed; also as `arun`.
        """
        async with self._engine.running():
            with self._engine.stream() as heard:
                narrator = Narrator(self._state)
                run_id = narrator.run_id = await self._submitted(request, conversation, duties)
                heard.run_id = run_id
                async with self._abandoned_unless_ended(run_id, grace_s=LEFT_S):
                    async for one in heard:
                        for event in narrator.tell(one):
                            yield await self._whole(event)
                        if isinstance(one, tuple) and isinstance(one[1], RunFinished) and one[1].run_id == run_id:
                            break
                    summary = await self._engine.run_ended(run_id)
            await self._succeeded(summary)

    async def _whole(self, event: StreamEvent) -> StreamEvent:
        """Return an event with its result, where it holds that by reference."""
        result: Any = event.result
        return replace(event, result=await self._engine.text(result)) if isinstance(result, TextRef) else event

    async def submit(self, request: JsonValue, conversation: str | None = MAIN, **duties: Unpack[RunDuties]) -> str:
        """Queue a request on a running engine and return the id of its run at once.

        Args:
            request: A text, or any JSON value.
            conversation: The one that it goes on with, or begins: model agents see the requests and answers in it
                that came before. None remembers nothing.
            duties: Any of `priority` (0, the most urgent, to 9), `deadline_s` (from now on), `on_failure` (policies in
                place of those of the agents' specs), `limits` (what it may spend), `category` (the kind of work, for
                `coordination_strategies`) and `after` (ids of runs that must be done before it begins).

        Raises:
            NotRunning: If no engine is running that would go on with it.
            CommandRefusedError: If no agent can work on it, or one of the duties cannot be.
        """
        if not self._engine.is_running:
            raise NotRunning(self.name)
        return await self._submitted(request, conversation, duties)

    @checks_arguments
    async def wait(self, id: str) -> RunResult:
        """Return how a run that was submitted ended, once it has; cancelling the caller leaves the run alone.

        Raises:
            RunFailed: If it failed; `RunCancelled` if it was cancelled, `RunSkipped` if it was skipped.
            UnknownRun: If there is none.
        """
        async with self._engine.running():
            return await self._succeeded(await self._engine.run_ended(id))

    @checks_arguments
    async def status(self, id: str) -> WorkStatus:
        """Return the status of a run or a task.

        Args:
            id: What `submit` returned, or the id of a task of an open run.

        Raises:
            UnknownRun: If there is none.
        """
        await self._engine.refresh()
        state = self._state
        if run := state.runs.get(id):
            return WorkStatus(
                id=id, status=run.status, title=run.title, tasks=run.total, done=run.done, failed=run.failed
            )
        ended: Task | RunSummary | None = state.tasks.get(id) or await self._engine.finished_run(id)
        if ended is None:
            raise UnknownRun(id)
        if isinstance(ended, Task):
            below = [state.tasks[child_id].status for child_id in ended.children]
            tasks, done, failed = len(below), below.count(TaskStatus.DONE), below.count(TaskStatus.FAILED)
        else:
            tasks, done, failed = ended.tasks, ended.done, ended.failed
        output = await self._engine.text(ended.output)
        return WorkStatus(
            id=id, status=ended.status, title=ended.title, tasks=tasks, done=done, failed=failed, output=output,
            error=ended.error,
        )  # fmt: skip

    async def cancel(self, id: str, reason: str = "cancelled by the program") -> Applied:
        """Stop a run or a task at its next steps; what is done stays.

        Raises:
            CommandRefusedError: If there is none, or it has ended.
        """
        return await self._engine.order(lambda: Cancel(target=id, reason=reason))

    @checks_arguments
    async def pause(self, target: str | None = None) -> Applied:
        """Let an agent, a run or the supervisor itself start nothing new; what is at work goes on.

        Args:
            target: Name of an agent or a supervisor, or id of a run; None for the supervisor itself.

        Raises:
            CommandRefusedError: If there is none, or it is paused already.
        """
        return await self._engine.order(lambda: Pause(target=self._any_target(target)))

    @checks_arguments
    async def resume(self, target: str | None = None) -> Applied:
        """Resume what was paused.

        Raises:
            CommandRefusedError: If there is none, or it is not paused.
        """
        return await self._engine.order(lambda: Resume(target=self._any_target(target)))

    # Decisions about work under way

    async def set_priority(self, id: str, priority: int) -> Applied:
        """Change how urgent a run or a task is, also while it waits or runs.

        Args:
            id: Of an open run, or of a task of one.
            priority: 0, the most urgent, to 9; 5 is usual.

        Raises:
            CommandRefusedError: If there is none, or no such priority.
        """
        return await self._engine.order(lambda: SetPriority(target=id, priority=priority))

    async def set_deadline(self, id: str, deadline_s: float | None) -> Applied:
        """Change by when a run or a task is ended if it has not ended by itself.

        Args:
            id: Of an open run, or of a task of one.
            deadline_s: From now on, in seconds; None takes the deadline away.

        Raises:
            CommandRefusedError: If there is none, or the deadline lies in the past.
        """
        return await self._engine.order(lambda: SetDeadline(target=id, deadline_s=deadline_s))

    @checks_arguments
    async def reassign(self, task_id: str, agent: str, *, now: bool = False) -> Applied:
        """Give a task to an agent by hand; its finished steps are kept.

        Args:
            task_id: A task of an open run.
            agent: Name or id; of several with that name one of this supervisor's own.
            now: Stop it at once where it is at work; else it stops at its next step.

        Raises:
            CommandRefusedError: If it has ended, or the agent cannot take it.
        """
        return await self._engine.order(
            lambda: Reassign(task=task_id, agent=self._any_target(agent, find_agent), now=now)
        )

    async def retry(self, id: str) -> Applied:
        """Try a failed or waiting task again now; or submit the request of a finished run again.

        Raises:
            CommandRefusedError: If there is nothing to try again.
        """
        return await self._engine.order(lambda: RetryWork(target=id))

    # Runs

    async def _submitted(self, request: JsonValue, conversation: str | None, duties: RunDuties) -> str:
        value = json_value(request)
        check_names("a request", duties, RunDuties.__annotations__)
        with refusals():
            check_arguments("a request", RunDuties, duties)
        self._engine.check_complete()
        self._refuse_broken(as_text(value), duties.get("category"), conversation)
        said: dict[str, Any] = {**duties, "conversation": conversation, "after": list(duties.get("after", ()))}
        await checkpoint_if_cancelled()
        with anyio.CancelScope(shield=True):
            applied = await self._engine.order(lambda: Submit(request=value, supervisor=self._target, **said))
        return str(applied.result["run_id"])

    def _refuse_broken(self, text: str, category: str | None, conversation: str | None) -> None:
        """Raise if a needed agent cannot work: the run would wait until a person repairs it."""
        state = self._state
        if not any(map(_is_broken, state.agents.values())):
            return
        past = self._here.conversations.get(conversation or "")
        for agent in _needed_under(state, self._here, text, category, past.worked if past is not None else ()):
            if _is_broken(agent):
                raise Unusable(f"agent {agent.name!r} cannot work: {agent.error or AWAY}")

    @asynccontextmanager
    async def _abandoned_unless_ended(self, run_id: str, *, grace_s: float | None = None) -> AsyncGenerator[None, None]:
        """Cancel the run if its caller stops waiting for it, and wait until it has stopped."""
        reason = "its caller was cancelled"
        try:
            yield
        except BaseException:
            with anyio.move_on_after(STOP_S, shield=True), suppress(EngineError, CoreError, StoreError):
                if run_id in self._state.runs:
                    await self._engine.order(lambda: Cancel(target=run_id, reason=reason, grace_s=grace_s))
                    await self._engine.run_ended(run_id)
            raise

    async def _succeeded(self, summary: RunSummary) -> RunResult:
        result = RunResult(
            run_id=summary.id,
            status=summary.status,
            output=await self._engine.text(summary.output),
            usage=summary.usage,
            tasks=summary.tasks,
            seq=summary.seq,
            error=summary.error,
        )
        if summary.status is RunStatus.DONE:
            return result
        raise ENDED_OTHERWISE.get(summary.status, RunFailed)(result)


def _is_broken(agent: Agent) -> bool:
    return agent.error is not None or agent.away


def _needed_under(
    state: State, supervisor: Supervisor, text: str, category: str | None, before: Sequence[str]
) -> Iterator[Agent]:
    """Yield the agents that a request needs, down the tree; none if the core will refuse it."""
    try:
        cast = cast_for(state, supervisor, text, category, before=before)
        _, graph = planned(state, supervisor, cast)
    except Refused:
        return
    for member_id in _needed(state, cast, [one.worker_id for one in graph.nodes if one.worker_id is not None]):
        if member_id in state.agents:
            yield state.agents[member_id]
        else:
            yield from _needed_under(state, state.supervisors[member_id], text, category, before)


def _needed(state: State, cast: Cast, placed: list[str]) -> list[str]:
    """Return the members that have to be able to work: each with a node; one of those who share the items of a map."""
    if cast.mode != "map" or "to" in cast.settings:
        return placed
    others = [one for one in cast.members if one not in placed]
    can = any(one in state.supervisors or is_able(state, state.agents[one]) for one in others)
    return placed if can else cast.members
