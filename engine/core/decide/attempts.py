"""Signals of attempts: steps, delegations, ends."""

from engine.core.context import Context
from engine.core.decide.find import Place, place_for
from engine.core.decide.mint import Mint
from engine.core.decide.stopping import stopped
from engine.core.errors import NoAgentMatches
from engine.core.events import (
    AgentBroke,
    AgentMended,
    AttemptDone,
    AttemptFailed,
    CallAnswered,
    CallRefused,
    CallRejoined,
    ChildPlan,
    Delegated,
    Event,
    StepRecorded,
    ThreadReturned,
)
from engine.core.signals import (
    AgentUnusable,
    AgentUsable,
    AttemptErred,
    AttemptStopped,
    AttemptSucceeded,
    DelegationAsked,
    StepFinished,
    ThreadCameBack,
)
from engine.core.spec import Skip
from engine.core.state import Attempt, State, Task
from engine.core.values import preview

MAX_DEPTH = 16
"""How deep delegations may nest; a loop of agents that ask each other ends here."""


def live(state: State, task_id: str, attempt: int) -> tuple[Task, Attempt] | None:
    """Return the task and its attempt when the signal is about the one that is going on."""
    task = state.tasks.get(task_id)
    if task is None or task.attempt is None or task.attempt.number != attempt:
        return None
    return task, task.attempt


def step_finished(state: State, signal: StepFinished, ctx: Context) -> list[Event]:
    """Record a step once."""
    found = live(state, signal.task_id, signal.attempt)
    if found is None or signal.key in found[0].steps:
        return []
    task, attempt = found
    return [
        StepRecorded(
            at_ms=ctx.now_ms,
            run_id=task.run_id,
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            name=signal.name,
            key=signal.key,
            output=signal.output,
            duration_ms=signal.duration_ms,
        )
    ]


def delegation_asked(state: State, signal: DelegationAsked, ctx: Context) -> list[Event]:
    """Make the tasks that an attempt asks for, or join it to those that an earlier attempt asked for."""
    found = live(state, signal.task_id, signal.attempt)
    if found is None or found[1].agent_id is None:
        return []
    task, attempt = found
    asker = state.agents[found[1].agent_id]
    events: list[Event] = [_told(task, attempt, key, ctx) for key in attempt.owed]
    if signal.call_key in task.calls:
        events.append(
            CallRejoined(
                at_ms=ctx.now_ms,
                run_id=task.run_id,
                task_id=task.id,
                attempt=attempt.number,
                agent_id=attempt.agent_id or "",
                call_key=signal.call_key,
            )
        )
        return events
    refusal = _why_not(state, task, attempt)
    try:
        place = place_for(state, asker, signal.target, ctx.now_ms)
    except NoAgentMatches as nobody:
        refusal, place = nobody.reason, None
    if refusal is not None or place is None:
        return [
            *events,
            CallRefused(
                at_ms=ctx.now_ms,
                run_id=task.run_id,
                task_id=task.id,
                attempt=attempt.number,
                call_key=signal.call_key,
                reason=refusal or "refused",
            ),
        ]
    if place.made is not None:
        events.append(place.made)
    events.append(
        Delegated(
            at_ms=ctx.now_ms,
            run_id=task.run_id,
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id or "",
            call_key=signal.call_key,
            call_kind=signal.call_kind,
            children=_children(state, place, signal),
        )
    )
    return events


def _children(state: State, place: Place, signal: DelegationAsked) -> list[ChildPlan]:
    """Return one task for each item, all for the same place."""
    mint = Mint(state)
    skips = place.worker_id in state.agents and any(
        isinstance(policy, Skip) for policy in state.spec_of(state.agents[place.worker_id]).on_failure
    )
    return [
        ChildPlan(
            task_id=mint("t"),
            kind="agent" if place.kind == "agent" else "group",
            title=preview(item) or signal.target,
            queue=place.queue,
            worker_id=place.worker_id,
            supervisor_id=place.supervisor_id,
            input=item,
            optional=signal.optional or skips,
        )
        for item in signal.items
    ]


def _why_not(state: State, task: Task, attempt: Attempt) -> str | None:
    if attempt.stopping or state.runs[task.run_id].cancelling:
        return "the attempt is being stopped"
    depth, above = 0, task.parent_id
    while above is not None:
        depth += state.tasks[above].kind == "agent"
        above = state.tasks[above].parent_id
    return f"delegations nest {depth} deep; {MAX_DEPTH} is the limit" if depth >= MAX_DEPTH else None


def _told(task: Task, attempt: Attempt, call_key: str, ctx: Context) -> CallAnswered:
    return CallAnswered(
        at_ms=ctx.now_ms, run_id=task.run_id, task_id=task.id, attempt=attempt.number, call_key=call_key
    )


def attempt_succeeded(state: State, signal: AttemptSucceeded, ctx: Context) -> list[Event]:
    """Take the output; what the attempt asked for and did not wait for is stopped."""
    found = live(state, signal.task_id, signal.attempt)
    if found is None:
        return []
    task, attempt = found
    done = AttemptDone(
        at_ms=ctx.now_ms,
        run_id=task.run_id,
        task_id=task.id,
        attempt=attempt.number,
        agent_id=attempt.agent_id,
        output=signal.output,
        duration_ms=signal.duration_ms,
        usage=signal.usage,
    )
    return [done]


def attempt_erred(state: State, signal: AttemptErred, ctx: Context) -> list[Event]:
    """Take the error; one that comes while the attempt is being stopped is the stop."""
    found = live(state, signal.task_id, signal.attempt)
    if found is None:
        return []
    task, attempt = found
    if attempt.stopping:
        stopped = AttemptStopped(
            task_id=task.id,
            attempt=attempt.number,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
        return attempt_stopped(state, stopped, ctx)
    return [
        AttemptFailed(
            at_ms=ctx.now_ms,
            run_id=task.run_id,
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            error=signal.error,
            error_type=signal.error_type,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
    ]


def attempt_stopped(state: State, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Take what an attempt that was asked to stop had said so far."""
    found = live(state, signal.task_id, signal.attempt)
    if found is None:
        return []
    return stopped(state, *found, signal, ctx)


def thread_came_back(state: State, signal: ThreadCameBack, ctx: Context) -> list[Event]:
    """Free the slot that the thread took."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or not agent.stuck:
        return []
    return [ThreadReturned(at_ms=ctx.now_ms, agent_id=agent.id)]


def agent_unusable(state: State, signal: AgentUnusable, ctx: Context) -> list[Event]:
    """Take an agent out of work whose code is not there."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or agent.generation != signal.generation or agent.error == signal.error:
        return []
    return [AgentBroke(at_ms=ctx.now_ms, agent_id=agent.id, error=signal.error)]


def agent_usable(state: State, signal: AgentUsable, ctx: Context) -> list[Event]:
    """Let an agent work again whose code was found."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or agent.generation != signal.generation or agent.error is None:
        return []
    return [AgentMended(at_ms=ctx.now_ms, agent_id=agent.id)]
