"""Methods for requests: run, queue, follow and stop them, and control work in progress."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypedDict, Unpack

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from msgspec.structs import replace

from engine.core.commands import Cancel, Pause, Reassign, Resume, RetryWork, SetDeadline, SetPriority, Submit, Target
from engine.core.decide.work.graphs import plan_graph
from engine.core.errors import CoreError, Refused
from engine.core.events import RunFinished
from engine.core.queries.targets import find_agent, id_in, id_target
from engine.core.queries.team.able import is_able
from engine.core.queries.team.participants import Cast, cast_for
from engine.core.queries.work.explain import Explanation, explain, explain_finished
from engine.core.records.records import Json
from engine.core.records.values import TextRef, as_text
from engine.core.specs.failure_policies import Chain
from engine.core.specs.limits import Limits
from engine.core.state import Agent, RunStatus, RunSummary, State, Supervisor, Task, TaskStatus
from engine.core.validation.bounds import Label, Priority, RunLabels, Seconds
from engine.core.validation.records import check_arguments
from engine.errors import EngineError, NotRunning, UnknownRun, Unusable
from engine.host.pending_commands import Applied
from engine.runtimes.values import copy_json, json_value
from engine.stream.narrator import Narrator
from engine.stream.records import StreamEvent
from engine.supervisor.node import SupervisorNode, check_names, checks_arguments, translate_refusals
from engine.supervisor.results import FAILURES_BY_STATUS, RunFailed, RunResult, WorkStatus
from store import StoreError

MAIN = "main"
"""The default conversation of a program's requests."""
STOP_S = 10.0
"""How long a cancelled caller waits for its run to stop, in seconds."""
LEAVE_GRACE_S = 0.25
"""How long attempts may run to their next step after their stream was left, in seconds."""


_AWAY_REASON = "its code is not of this program, or was edited; run the program that has it, or swap the agent"
"""Why an away agent does not work, in words that follow its name."""


class RunDuties(TypedDict, total=False):
    """Options of a request."""

    priority: Priority
    deadline_s: Seconds
    on_failure: Chain
    limits: Limits
    category: Label
    after: Iterable[Target]
    labels: RunLabels


class Requests(SupervisorNode):
    """Methods that submit, follow and stop requests, and that decide about work in progress."""

    async def arun(self, request: Json, conversation: str | None = MAIN, **duties: Unpack[RunDuties]) -> RunResult:
        """Work on a request and return its result. Cancelling the caller cancels the run.

        Starts an engine for the call if none is running.

        Args:
            request: A text, or any JSON value.
            conversation: The conversation that it continues or starts: model agents see its earlier requests and
                answers. None belongs to no conversation.
            duties: As for `submit`.

        Raises:
            RunFailed: If it failed; `RunCancelled` if it was cancelled by others, `RunSkipped` if it was skipped
                because a run that it waited for did not succeed.
            CommandRefusedError: If no agent can work on it.
            Unusable: If the code of an agent of the program is missing or cannot be called.
            StoreError: If the files of the team cannot be opened, such as `StoreBusy`.
        """
        async with self._engine.running():
            run_id = await self._submit(request, conversation, duties)
            async with self._cancel_unless_ended(run_id):
                summary = await self._engine.wait_for_run(run_id)
            return await self._to_result(summary)

    async def stream(
        self, request: Json, conversation: str | None = MAIN, **duties: Unpack[RunDuties]
    ) -> AsyncGenerator[StreamEvent, None]:
        """Work on a request and yield its progress as it happens: text of agents, tool calls, steps and tasks.

        The first event is `started`, the last one `completed`, whatever the outcome. Leaving the loop early cancels
        the run, and aborts attempts that do not reach a step within half a second. A slow consumer does not slow the
        agents: waiting text is merged, and more than 1 MB of one task is left out, which a `dropped` event reports.

        Raises:
            RunFailed: After `completed`, if it failed; also as `arun`.
        """
        async with self._engine.running():
            with self._engine.stream() as subscription:
                narrator = Narrator(self._state)
                run_id = narrator.run_id = await self._submit(request, conversation, duties)
                subscription.run_id = run_id
                async with self._cancel_unless_ended(run_id, grace_s=LEAVE_GRACE_S):
                    async for update in subscription:
                        for event in narrator.narrate(update):
                            yield await self._with_result(event)
                        finished = update[1] if isinstance(update, tuple) else None
                        if isinstance(finished, RunFinished) and finished.run_id == run_id:
                            break
                    summary = await self._engine.wait_for_run(run_id)
            await self._to_result(summary)

    async def _with_result(self, event: StreamEvent) -> StreamEvent:
        """Return an event whose result is resolved, and is a copy that the program may change."""
        result: Any = event.result
        if isinstance(result, TextRef):
            return replace(event, result=await self._engine.text(result))
        return replace(event, result=copy_json(result)) if isinstance(result, list | dict) else event

    async def submit(self, request: Json, conversation: str | None = MAIN, **duties: Unpack[RunDuties]) -> str:
        """Queue a request on a running engine and return the id of its run at once.

        Args:
            request: A text, or any JSON value.
            conversation: The conversation that it continues or starts: model agents see its earlier requests and
                answers. None belongs to no conversation.
            duties: Any of `priority` (0, the most urgent, to 9), `deadline_s` (seconds from now), `on_failure` (failure
                policies in place of those of the agents' specs), `limits` (its budget), `category` (the kind of work,
                for `coordination_strategies`), `after` (ids of runs that must be done before it begins) and `labels`
                (up to eight texts by key, such as `{"team": "web"}`, which its tasks have too).

        Raises:
            NotRunning: If no engine is running that would work on it after this call.
            CommandRefusedError: If no agent can work on it, or one of the duties is invalid.
        """
        if not self._engine.is_running:
            raise NotRunning(self.name)
        return await self._submit(request, conversation, duties)

    @checks_arguments
    async def wait(self, id: Target) -> RunResult:
        """Wait until a submitted run has ended, and return its result; cancelling the caller does not cancel the run.

        Raises:
            RunFailed: If it failed; `RunCancelled` if it was cancelled, `RunSkipped` if it was skipped.
            UnknownRun: If there is none.
        """
        async with self._engine.running():
            return await self._to_result(await self._engine.wait_for_run(id_in(id)))

    @checks_arguments
    async def status(self, id: Target) -> WorkStatus:
        """Return the status of a run or a task.

        Args:
            id: What `submit` returned, or the id of a task of an open run.

        Raises:
            UnknownRun: If there is none.
        """
        await self._engine.refresh()
        state, id = self._state, id_in(id)
        if run := state.runs.get(id):
            return WorkStatus(
                id=id, status=run.status, title=run.title, tasks=run.total, done=run.done, failed=run.failed
            )
        work: Task | RunSummary | None = state.tasks.get(id) or await self._engine.finished_run(id)
        if work is None:
            raise UnknownRun(id)
        if isinstance(work, Task):
            below = [state.tasks[child_id].status for child_id in work.children]
            tasks, done, failed = len(below), below.count(TaskStatus.DONE), below.count(TaskStatus.FAILED)
        else:
            tasks, done, failed = work.tasks, work.done, work.failed
        output = await self._engine.text(work.output)
        return WorkStatus(
            id=id,
            status=work.status,
            title=work.title,
            tasks=tasks,
            done=done,
            failed=failed,
            output=output,
            error=work.error,
        )

    @checks_arguments
    async def explain(self, run_id: Target) -> Explanation:
        """Return where the time of a run went, by kind and along its critical path; of an open one until now.

        Args:
            run_id: What `submit` returned.

        Raises:
            UnknownRun: If there is none.
        """
        await self._engine.refresh()
        state, id = self._state, id_in(run_id)
        if run := state.runs.get(id):
            return explain(state, run, max(state.at_ms, self._engine.present_ms()))
        summary = await self._engine.finished_run(id)
        if summary is None:
            raise UnknownRun(id)
        return explain_finished(summary)

    async def cancel(self, id: Target, reason: str = "cancelled by the program") -> Applied:
        """Stop a run, a task or an agent's work at the next steps; results so far are kept.

        Raises:
            CommandRefusedError: If there is none, or it has ended.
        """
        return await self._engine.order(lambda: Cancel(target=self._target_for(id), reason=reason))

    @checks_arguments
    async def pause(self, target: Target | None = None, *, now: bool = False) -> Applied:
        """Pause an agent, a run or the supervisor itself: it starts nothing new, attempts wait at their next step.

        Args:
            target: An agent, a supervisor (this supervisor's own come first) or a run; None for the supervisor itself.
            now: Set attempts at work aside at once; their recorded steps are kept.

        Raises:
            CommandRefusedError: If the target is unknown, or paused already (with `now`: and nothing is at work).
        """
        return await self._engine.order(lambda: Pause(target=self._target_for(target), now=now))

    @checks_arguments
    async def resume(self, target: Target | None = None) -> Applied:
        """Resume a paused agent, run or supervisor.

        Raises:
            CommandRefusedError: If the target is unknown, or not paused.
        """
        return await self._engine.order(lambda: Resume(target=self._target_for(target)))

    # Decisions about work in progress

    async def set_priority(self, id: Target, priority: int) -> Applied:
        """Change the priority of a run or a task, also while it waits or runs.

        Args:
            id: Id of an open run, or of a task of one.
            priority: 0, the most urgent, to 9; the default of a run is 5.

        Raises:
            CommandRefusedError: If the run or task is unknown, or the priority out of range.
        """
        return await self._engine.order(lambda: SetPriority(target=id, priority=priority))

    async def set_deadline(self, id: Target, deadline_s: float | None) -> Applied:
        """Set or remove the deadline of a run or a task.

        Args:
            id: Id of an open run, or of a task of one.
            deadline_s: Seconds from now; None removes the deadline.

        Raises:
            CommandRefusedError: If the run or task is unknown, or the deadline lies in the past.
        """
        return await self._engine.order(lambda: SetDeadline(target=id, deadline_s=deadline_s))

    @checks_arguments
    async def reassign(self, task_id: Target, agent: Target, *, now: bool = False) -> Applied:
        """Assign a task to another agent; its recorded steps are kept.

        Args:
            task_id: A task of an open run.
            agent: Name, id or path of the agent; this supervisor's own agents come first.
            now: Stop an attempt at work at once; False stops it at its next step.

        Raises:
            CommandRefusedError: If it has ended, or the agent cannot take it.
        """
        return await self._engine.order(
            lambda: Reassign(task=task_id, agent=self._target_for(agent, find_agent), now=now)
        )

    async def retry(self, id: Target) -> Applied:
        """Retry a failed or waiting task now, or submit the request of a finished run again, however old it is.

        A run keeps its settings: priority, category, limits, failure policies, conversation, labels, and the time to
        its deadline.

        Raises:
            CommandRefusedError: If there is nothing to retry.
        """
        return await self._engine.order(lambda: RetryWork(target=id))

    # Runs

    async def _submit(self, request: Json, conversation: str | None, duties: RunDuties) -> str:
        value = json_value(request)
        check_names("a request", duties, RunDuties.__annotations__)
        with translate_refusals():
            check_arguments("a request", RunDuties, duties)
        self._engine.check_complete()
        self._refuse_broken(as_text(value), duties.get("category"), conversation)
        options: dict[str, Any] = {**duties, "conversation": conversation, "after": list(duties.get("after", ()))}
        await checkpoint_if_cancelled()
        with anyio.CancelScope(shield=True):
            applied = await self._engine.order(lambda: Submit(request=value, supervisor=self._target, **options))
        return str(applied.result["run_id"])

    def _refuse_broken(self, text: str, category: str | None, conversation: str | None) -> None:
        """Raise if a needed agent cannot work: the run would wait until a person repairs it."""
        state = self._state
        if not any(map(_is_broken, state.agents.values())):
            return
        past = self._supervisor.conversations.get(conversation or "")
        for agent in _agents_needed(state, self._supervisor, text, category, past.worked if past is not None else ()):
            if _is_broken(agent):
                raise Unusable(f"agent {agent.name!r} cannot work: {agent.error or agent.away_reason or _AWAY_REASON}")

    @asynccontextmanager
    async def _cancel_unless_ended(self, run_id: str, *, grace_s: float | None = None) -> AsyncGenerator[None, None]:
        """Cancel the run if its caller stops waiting for it, and wait until it has stopped."""
        reason = "its caller was cancelled"
        try:
            yield
        except BaseException:
            with anyio.move_on_after(STOP_S, shield=True), suppress(EngineError, CoreError, StoreError):
                if run_id in self._state.runs:
                    await self._engine.order(lambda: Cancel(target=id_target(run_id), reason=reason, grace_s=grace_s))
                    await self._engine.wait_for_run(run_id)
            raise

    async def _to_result(self, summary: RunSummary) -> RunResult:
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
        raise FAILURES_BY_STATUS.get(summary.status, RunFailed)(result)


def _is_broken(agent: Agent) -> bool:
    return agent.error is not None or agent.away


def _agents_needed(
    state: State, supervisor: Supervisor, text: str, category: str | None, before: Sequence[str]
) -> Iterator[Agent]:
    """Yield the agents that a request needs, down the tree; none if the core will refuse it."""
    try:
        cast = cast_for(state, supervisor, text, category, before=before)
        _, graph = plan_graph(state, supervisor, cast)
    except Refused:
        return
    worker_ids = [node.worker_id for node in graph.nodes if node.worker_id is not None]
    for member_id in _members_needed(state, cast, worker_ids):
        if member_id in state.agents:
            yield state.agents[member_id]
        else:
            yield from _agents_needed(state, state.supervisors[member_id], text, category, before)


def _members_needed(state: State, cast: Cast, worker_ids: list[str]) -> list[str]:
    """Return the members that must be able to work: those with a node, and one of those that share a map's items."""
    if cast.mode != "map" or "to" in cast.settings:
        return worker_ids
    others = [member_id for member_id in cast.members if member_id not in worker_ids]
    has_able = any(member_id in state.supervisors or is_able(state, state.agents[member_id]) for member_id in others)
    return worker_ids if has_able else cast.members
