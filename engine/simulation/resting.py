"""What lets a team come to rest: pauses taken back, questions answered; and what is left then."""

from collections.abc import Iterator
from random import Random

from engine.core.commands import Answer, Command, Resume
from engine.core.queries.targets import at
from engine.core.state import State


def left(state: State) -> Iterator[str]:
    """Yield what waits for ever: nobody is left who could do it."""
    for task in state.tasks.values():
        if not (task.ended or task.blockers or task.open) and task.kind == "agent":
            yield f"{task.title} ({task.queue or 'no queue'})"


def resumes(state: State) -> list[Command]:
    """Return what takes back every pause, and has code looked for again that was in another program."""
    paused = [
        *(run.id for run in state.runs.values() if run.paused),
        *(one.id for one in state.supervisors.values() if one.paused),
        *(one.id for one in state.agents.values() if one.paused or one.away),
    ]
    return [Resume(target=at(target)) for target in paused]


def answers(state: State, draw: Random) -> list[Command]:
    """Return an answer to every question that has options, chosen by chance."""
    asked = [one for one in state.escalations.values() if one.options]
    return [Answer(escalation=one.id, answer=draw.choice(one.options)) for one in asked]
