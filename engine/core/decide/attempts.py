"""Signals of attempts: steps, delegations, ends."""

from typing import TypeAlias

from engine.core.context import Context
from engine.core.decide import swapping
from engine.core.decide.mint import Mint
from engine.core.decide.stopping import lost, stopped
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
from engine.core.inheritance import above_and_self
from engine.core.policies.chain import chain_of_agent, is_optional
from engine.core.queries.placement import Place, place_for
from engine.core.queries.work import is_cancelled, up
from engine.core.signals import (
    AgentUnusable,
    AgentUsable,
    AttemptErred,
    AttemptStopped,
    AttemptSucceeded,
    DelegationAsked,
    StepFinished,
    ThreadCameBack,
    ToolBegan,
    ToolRaised,
)
from engine.core.state import Agent, Attempt, State, Task
from engine.core.values import preview

MAX_DEPTH = 16
"""How deep delegations may nest; a loop of agents that ask each other ends here."""


OfAttempt: TypeAlias = (
    StepFinished | ToolBegan | ToolRaised | DelegationAsked | AttemptSucceeded | AttemptErred | AttemptStopped
)


def live(state: State, signal: OfAttempt) -> tuple[Task, Attempt] | None:
    """Return the task and its attempt when the signal is about the one that is going on, from the code it is on."""
    task = state.tasks.get(signal.task_id)
    if task is None or task.attempt is None or task.attempt.number != signal.attempt:
        return None
    if signal.generation is not None and signal.generation != task.attempt.generation and task.attempt.agent_id:
        return None
    return task, task.attempt


def step_finished(state: State, signal: StepFinished, ctx: Context) -> list[Event]:
    """Record a step once."""
    found = live(state, signal)
    if found is None or signal.key in found[0].steps:
        return []
    task, attempt = found
    return [
        StepRecorded(
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            what=signal.what,
            name=signal.name,
            key=signal.key,
            input=signal.input,
            output=signal.output,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
        )
    ]


def delegation_asked(state: State, signal: DelegationAsked, ctx: Context) -> list[Event]:
    """Make the tasks that an attempt asks for, or join it to those that an earlier attempt asked for."""
    found = live(state, signal)
    if found is None or found[1].agent_id is None:
        return []
    task, attempt = found
    asker = state.agents[found[1].agent_id]
    if attempt.stopping == "migrate" and not attempt.parked:
        # It was told to stop before this is answered; its new code asks again.
        return [_call_refused(task, attempt, signal.call_key, "the attempt goes on with a new generation")]
    events: list[Event] = [_told(task, attempt, key) for key in attempt.owed]
    if signal.call_key in task.calls:
        events.append(
            CallRejoined(
                task_id=task.id, attempt=attempt.number, agent_id=attempt.agent_id or "", call_key=signal.call_key
            )
        )
        return events
    refusal = _why_not(state, task, attempt)
    try:
        asked = " ".join(signal.target.split())
        place = place_for(state, state.supervisors[asker.supervisor_id], asked, asker=asker)
    except NoAgentMatches as nobody:
        refusal, place = nobody.reason, None
    if refusal is not None or place is None:
        return [*events, _call_refused(task, attempt, signal.call_key, refusal or "refused")]
    if place.made is not None:
        events.append(place.made)
    events.append(
        Delegated(
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
    skips = place.worker_id in state.agents and is_optional(chain_of_agent(state, state.agents[place.worker_id]))
    return [
        ChildPlan(
            task_id=mint("t"),
            kind="agent" if place.kind == "agent" else "group",
            title=preview(item) or signal.target,
            queue=place.queue,
            worker_id=place.worker_id,
            supervisor_id=place.supervisor_id,
            input=item,
            optional=skips,
        )
        for item in signal.items
    ]


def _why_not(state: State, task: Task, attempt: Attempt) -> str | None:
    if attempt.stopping not in (None, "migrate"):
        return "the attempt is being stopped"
    if is_cancelled(state, task):
        return "what it is part of is being ended"
    depth = sum(one.kind == "agent" for one in up(state, task)) - 1
    deepest = _deepest(state, task, attempt)
    return f"delegations nest {depth} deep; {deepest} is the limit" if depth >= deepest else None


def _deepest(state: State, task: Task, attempt: Attempt) -> int:
    """Return how deep delegations of `task` may nest: the least that its run, or anybody above its agent, allows."""
    run, agent = state.runs[task.run_id], state.agents[attempt.agent_id or ""]
    said = [run.limits, *(one.options.limits for one in above_and_self(state, state.supervisors[agent.supervisor_id]))]
    return min((limits.depth for limits in said if limits is not None and limits.depth is not None), default=MAX_DEPTH)


def _call_refused(task: Task, attempt: Attempt, call_key: str, reason: str) -> CallRefused:
    return CallRefused(task_id=task.id, attempt=attempt.number, call_key=call_key, reason=reason)


def _told(task: Task, attempt: Attempt, call_key: str) -> CallAnswered:
    return CallAnswered(task_id=task.id, attempt=attempt.number, call_key=call_key)


def attempt_succeeded(state: State, signal: AttemptSucceeded, ctx: Context) -> list[Event]:
    """Take the output; what the attempt asked for and did not wait for is stopped."""
    found = live(state, signal)
    if found is None:
        return []
    task, attempt = found
    done = AttemptDone(
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
    found = live(state, signal)
    if found is None:
        return []
    task, attempt = found
    if attempt.stopping and (attempt.stopping != "migrate" or signal.error_type == "Unusable"):
        # With a swap to come it had not reached a step: its failure is one like any other.
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
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            error=signal.error,
            error_type=signal.error_type,
            error_types=signal.error_types,
            retryable=signal.retryable,
            retry_after_s=signal.retry_after_s,
            crashed=signal.crashed,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
    ]


def attempt_stopped(state: State, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Take what an attempt that was asked to stop had said so far."""
    found = live(state, signal)
    if found is None:
        return []
    return stopped(state, *found, signal, ctx)


def thread_came_back(state: State, signal: ThreadCameBack, ctx: Context) -> list[Event]:
    """Free the slot that the thread took."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or not agent.stuck:
        return []
    task = state.tasks.get(signal.task_id or "")
    return [
        ThreadReturned(
            agent_id=agent.id,
            run_id=None if task is None else task.run_id,
            task_id=None if task is None else task.id,
            usage=signal.usage,
        )
    ]


def agent_unusable(state: State, signal: AgentUnusable, ctx: Context) -> list[Event]:
    """Take an agent out of work whose code is not there; a new generation that never worked is rolled back."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or agent.error == signal.error:
        return []
    if signal.away:
        return _went_away(state, agent, signal, ctx)
    if agent.generation != signal.generation:
        return []
    if agent.proven < agent.generation and swapping.has_way_back(state, agent):
        return [swapping.rolled_back(state, agent, mode="migrate", why=signal.error, by_itself=True)]
    return [AgentBroke(agent_id=agent.id, error=signal.error)]


def _went_away(state: State, agent: Agent, signal: AgentUnusable, ctx: Context) -> list[Event]:
    """Let the work of an agent wait for the program that has its code; an attempt that began without it never was.

    That of a generation before goes on with the current one, whose code may be here.
    """
    broke = AgentBroke(agent_id=agent.id, error=signal.error, away=True)
    tasks = [state.tasks[task_id] for task_id, generation in agent.running.items() if generation == signal.generation]
    began = [(task, task.attempt) for task in tasks]
    ended = [event for task, attempt in began if attempt is not None for event in lost(state, task, attempt, ctx)]
    return [*([] if agent.away or agent.generation != signal.generation else [broke]), *ended]


def agent_usable(state: State, signal: AgentUsable, ctx: Context) -> list[Event]:
    """Let an agent work again whose code was found."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or agent.generation != signal.generation or not (agent.error is not None or agent.away):
        return []
    return [AgentMended(agent_id=agent.id)]
