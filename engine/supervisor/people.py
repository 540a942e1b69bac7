"""What people say to a team while it works: messages, aborts, answers, and what they take back."""

from collections.abc import Sequence

from engine.core.commands import Abort, Answer, RevokeGrant, Steer, Undo
from engine.core.records import JsonValue
from engine.core.state import Escalation, Grant
from engine.errors import HostStopped
from engine.host.pending_commands import Applied
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

    async def steer(self, target: str, text: str, *, now: bool = False) -> Applied:
        """Say something to work under way; each conversation below hears it at its next turn.

        Args:
            target: Name of an agent, or id of a run or a task.
            text: What is said.
            now: Cut a turn short that cannot be joined otherwise.

        Returns:
            What it came to, with the tasks that it reaches as `tasks` in the result.

        Raises:
            CommandRefusedError: If nothing there can hear it.
        """
        return await self._engine.order(lambda: Steer(target=self._any_target(target), text=text, now=now))

    async def abort(self, target: str, reason: str = "aborted by the program") -> Applied:
        """Stop a run, a task or an agent's work at once, with all below it; `cancel` waits for the next steps.

        Raises:
            CommandRefusedError: If nothing of it is at work.
        """
        return await self._engine.order(lambda: Abort(target=self._any_target(target), reason=reason))

    async def undo(self, command_id: str | None = None) -> Applied:
        """Take back the last change that can be, or the one of a command, where nothing has changed since.

        Swaps, rollbacks, pause, resume, settings, priorities, deadlines, moves and specialties can be.

        Raises:
            CommandRefusedError: If it cannot be, or what it changed is not as it left it.
        """
        return await self._engine.order(lambda: Undo(command_id=command_id))
