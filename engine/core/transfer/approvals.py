"""Removes questions and answers about tool calls from a state.

An operator of the database permits a tool call, and a single answer is for one call. So neither an archive nor a fork
keeps them: the next attempt asks again before its call. Calls with a recorded end are not repeated, and need no
question. Agents that are offered for a request are looked for again, in the catalogue of whoever runs the engine then.
See docs/reference/trust.md.
"""

from engine.core.decide.people.asking import PERMISSION_PREFIXES
from engine.core.fold.completion import withdraw
from engine.core.queries.people.offers import DISCOVER
from engine.core.records.shared import drop
from engine.core.state import OF_ATTEMPTS, State


def forget_approvals(state: State) -> None:
    """Withdraw the open questions about calls, and drop the recorded answers of tasks that have not ended."""
    for question in list(state.escalations.values()):
        # By the key as well: the key decides what the answer permits, whatever kind the question claims to have.
        if question.kind in OF_ATTEMPTS and (question.kind != "ask" or is_permission(str(question.detail.get("key")))):
            withdraw(state, question.id)
        elif question.kind == DISCOVER:  # who is found here may be another
            withdraw(state, question.id)
            state.tasks[question.subject].search = None
    for task in state.tasks.values():
        if task.ended_ms is None:
            for key in [key for key in task.steps if is_permission(key)]:
                task.steps = drop(task.steps, key)


def is_permission(key: str) -> bool:
    """Return whether the key of a step or question is that of the permission for a tool call."""
    return key.startswith(PERMISSION_PREFIXES)
