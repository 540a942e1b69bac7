"""What follows a swap: a generation that is left, one that fails too often, a drain that takes too long."""

from engine.core.context import Context
from engine.core.decide import progress
from engine.core.decide.escalations import ask
from engine.core.decide.find import left_behind
from engine.core.decide.swapping import has_way_back, rolled_back
from engine.core.events import Event, SwapDrained, SwapHurried
from engine.core.prompts import Answered, CheckGeneration, StopLeftOver
from engine.core.state import State, Timer


def check_generation(state: State, prompt: CheckGeneration, ctx: Context) -> list[Event]:
    """Roll back a generation that fails too often; say that a swap is drained."""
    agent = state.agents.get(prompt.agent_id)
    if agent is None:
        return []
    trial = agent.probation
    if trial is not None and trial.failed >= trial.failures and has_way_back(state, agent):
        why = f"{trial.failed} of its first {trial.ended} attempts failed"
        back = rolled_back(state, agent, mode=trial.mode, why=why, by_itself=True)
        return [back, *left_behind(state, agent, back.queues)]
    if agent.generation > agent.drained and not agent.draining:
        return [SwapDrained(agent_id=agent.id, generation=agent.generation)]
    return []


def stop_left_over(state: State, prompt: StopLeftOver, ctx: Context) -> list[Event]:
    """Stop what an attempt had asked for that begins again from its input."""
    task = state.tasks.get(prompt.task_id)
    if task is None:
        return []
    children = [state.tasks[task_id] for task_id in task.children]
    reason = f"{task.title} begins again"
    return [progress.stop(state, child, reason) for child in children if not child.ended and not child.cancelling]


def drain_due(state: State, timer: Timer, ctx: Context) -> list[Event]:
    """Ask a person about attempts that are still at work on an earlier generation."""
    agent = state.agents[timer.subject]
    old = sum(g != agent.generation for g in (*agent.running.values(), *agent.parked.values()))
    question = f"{agent.name} was to be on g{agent.generation} alone by now; {old} still at work before it. Stop them?"
    return [
        ask(
            state,
            ctx,
            kind="drain",
            subject=agent.id,
            run_id=None,
            question=question,
            options=["wait", "abort"],
            default="wait",
        )
    ]


def drain_answered(state: State, prompt: Answered, ctx: Context) -> list[Event]:
    """Let attempts of earlier generations end, or stop them for the new one."""
    agent = state.agents.get(prompt.subject)
    if agent is None or prompt.answer != "abort" or not agent.draining:
        return []
    return [SwapHurried(agent_id=agent.id, generation=agent.generation, mode="abort")]
