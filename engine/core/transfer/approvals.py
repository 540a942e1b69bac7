"""Removes from a state what people were asked about calls of tools, and what they answered.

The right to call a tool comes from the answer of an operator of the database, and an answer given once is for one call.
So neither an archive nor a fork carries them on: the next attempt asks anew, from the call that it is about to make.
Calls with a recorded end are not made again, and nobody is asked about them. See docs/reference/trust.md.
"""

from engine.core.decide.people.asking import PERMISSION_PREFIXES
from engine.core.fold.completion import withdraw
from engine.core.records.shared import drop
from engine.core.state import OF_ATTEMPTS, State


def forget_approvals(state: State) -> None:
    """Withdraw the open questions about calls, and drop the recorded answers of tasks that have not ended."""
    for question in list(state.escalations.values()):
        # By the key as well: it alone decides what the answer is for, whatever kind the question claims to be.
        if question.kind in OF_ATTEMPTS and (question.kind != "ask" or is_right(str(question.detail.get("key")))):
            withdraw(state, question.id)
    for task in state.tasks.values():
        if task.ended_ms is None:
            for key in [key for key in task.steps if is_right(key)]:
                task.steps = drop(task.steps, key)


def is_right(key: str) -> bool:
    """Return whether the key of a step or question is that of a right to call a tool."""
    return key.startswith(PERMISSION_PREFIXES)
