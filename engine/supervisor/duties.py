"""What a program may do to work that is under way: how urgent it is, by when, who does it, what a person decides."""

from pydantic import JsonValue

from engine.core.commands import Answer, Reassign, RetryWork, SetDeadline, SetPriority
from engine.core.queries.targets import find_agent
from engine.core.state import Escalation
from engine.errors import HostStopped
from engine.host.orders import Applied
from engine.runtimes.values import json_value
from engine.supervisor.node import Node
from engine.supervisor.options import checks_arguments


class Duties(Node):
    """Urgency, deadlines, hand-overs and questions."""

    async def set_priority(self, id: str, priority: int) -> Applied:
        """Change how urgent a run or a task is, also while it waits or runs.

        Args:
            id: Of an open run, or of a task of one.
            priority: 0, the most urgent, to 9; 5 is usual.

        Raises:
            CommandRefusedError: If there is none, or no such priority.
        """
        return await self._order(lambda: SetPriority(target=id, priority=priority))

    async def set_deadline(self, id: str, deadline_s: float | None) -> Applied:
        """Change by when a run or a task is ended if it has not ended by itself.

        Args:
            id: Of an open run, or of a task of one.
            deadline_s: From now on, in seconds; None takes the deadline away.

        Raises:
            CommandRefusedError: If there is none, or the deadline lies in the past.
        """
        return await self._order(lambda: SetDeadline(target=id, deadline_s=deadline_s))

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
        return await self._order(lambda: Reassign(task=task_id, agent=self._meant(agent, find_agent), now=now))

    async def retry(self, id: str) -> Applied:
        """Try a failed or waiting task again now; or submit the request of a finished run again.

        Raises:
            CommandRefusedError: If there is nothing to try again.
        """
        return await self._order(lambda: RetryWork(target=id))

    @property
    def questions(self) -> list[Escalation]:
        """What waits for a person in the whole team, the oldest first; a copy."""
        return list(self._state.escalations.values())

    async def next_question(self) -> Escalation:
        """Return the oldest question that waits for a person, once there is one in the whole team.

        Raises:
            HostStopped: If the engine ended first.
        """
        async with self._line.running():
            with self._line.events() as events:
                while not self._state.escalations:
                    try:
                        await anext(events)
                    except StopAsyncIteration:
                        raise HostStopped("nobody asked a question") from None
                return next(iter(self._state.escalations.values()))

    async def answer(self, question: str, answer: str, output: JsonValue = None) -> Applied:
        """Answer a question that waits for a person.

        Args:
            question: Its id, or that of the task that waits.
            answer: One of its options.
            output: With the answer `use`: what stands for the work.

        Raises:
            CommandRefusedError: If nothing waits for it, or it is none of the options.
        """
        value = json_value(output)
        return await self._order(lambda: Answer(escalation=question, answer=answer, output=value))
