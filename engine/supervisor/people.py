"""What people say to a team: answers to its questions, and what they take back of them."""

from collections.abc import Sequence

from engine.core.commands import Answer, RevokeGrant
from engine.core.fact import JsonValue
from engine.core.state import Escalation, Grant
from engine.errors import HostStopped
from engine.host.orders import Applied
from engine.runtimes.values import json_value
from engine.supervisor.node import Node


class People(Node):
    """Methods of a supervisor for who steps in."""

    @property
    def questions(self) -> list[Escalation]:
        """What waits for a person in the whole team, the oldest first; a copy."""
        return list(self._state.escalations.values())

    async def next_question(self) -> Escalation:
        """Return the oldest question that waits for a person, once there is one in the whole team.

        Raises:
            HostStopped: If the engine ended first.
        """
        async with self._engine.running():
            with self._engine.events() as events:
                while not self._state.escalations:
                    try:
                        await anext(events)
                    except StopAsyncIteration:
                        raise HostStopped("nobody asked a question") from None
                return self.questions[0]

    async def answer(
        self, question: str, answer: str, output: JsonValue = None, *, also: Sequence[str] = (), alike: bool = False
    ) -> Applied:
        """Answer a question that waits for a person.

        Args:
            question: Its id, or that of the task that waits.
            answer: One of its options.
            output: With the answer `use`: what stands for the work; with `reply`: what the agent is told.
            also: Further questions that get the same answer.
            alike: Let all questions have it that are of the same kind and about the same tool, or in the same words.

        Raises:
            CommandRefusedError: If nothing waits for it, or it is none of the options.
        """
        value = json_value(output)
        return await self._engine.order(
            lambda: Answer(escalation=question, answer=answer, output=value, also=list(also), alike=alike)
        )

    @property
    def grants(self) -> list[Grant]:
        """What people said of all calls of a tool by an agent, the oldest first; a copy."""
        return list(self._state.grants.values())

    async def revoke_grant(self, grant: str) -> Applied:
        """Ask a person again about calls of a tool.

        Raises:
            CommandRefusedError: If there is no such grant.
        """
        return await self._engine.order(lambda: RevokeGrant(grant=grant))
