"""The chain of policies of a task: whose it is, and how it is walked.

It is walked from the left each time: the first policy that has something left to give decides. All that a walk
depends on is what was given so far (`Task.retries`, `Task.failovers`, `Task.failed_on`), so a chain needs no place of
its own in the state, and every chain ends.
"""

from collections.abc import Sequence

from engine.core.fact import changed
from engine.core.inheritance import inherited
from engine.core.policies.records import FailurePolicy, Retry, Skip
from engine.core.policies.rules import AFTER, Failures, GiveUp, Verdict
from engine.core.state import Agent, State, Task


def chain_of_agent(state: State, agent: Agent) -> Sequence[FailurePolicy]:
    """Return the policies of an agent: those of its spec, else those of the nearest supervisor that has any."""
    own = state.spec_of(agent).on_failure
    found: Sequence[FailurePolicy] = own or inherited(state, state.supervisors[agent.supervisor_id], "on_failure", ())
    return found


def chain_of(state: State, task: Task) -> Sequence[FailurePolicy]:
    """Return the policies of a task: those of its run, else those of the first agent that failed on it."""
    run = state.runs[task.run_id]
    if run.on_failure:
        return run.on_failure
    for agent_id in (*task.failed_on, task.agent_id or "", task.worker_id or ""):
        if agent_id in state.agents:
            return chain_of_agent(state, state.agents[agent_id])
    return ()


def is_optional(chain: Sequence[FailurePolicy]) -> bool:
    """Return True when a task with this chain is one that others can do without."""
    return any(isinstance(policy, Skip) for policy in chain)


def walk(chain: Sequence[FailurePolicy], failures: Failures, *, after: int = -1) -> tuple[int, Verdict]:
    """Return what is next for a task, and the place of the policy that says so; at the end of the chain it fails.

    Args:
        chain: Its policies.
        failures: What is known of it.
        after: Only policies behind this place are asked; -1 asks all.
    """
    for place, policy in enumerate(chain):
        if place > after:
            verdict = AFTER[type(policy)](policy, failures)
            if verdict is not None:
                return place, verdict
        if isinstance(policy, Retry):
            failures = changed(failures, retries=max(0, failures.retries - policy.retries))
    return len(chain), GiveUp()
