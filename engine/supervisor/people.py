"""Methods for people who intervene: messages, aborts, answers, undo."""

from collections.abc import Sequence
from copy import deepcopy

from engine.core.commands import Abort, Answer, RevokeGrant, Steer, Target, Undo
from engine.core.records.records import Json
from engine.core.state import Escalation, Grant, GrantScope
from engine.core.validation.bounds import Amount
from engine.errors import HostStopped
from engine.host.pending_commands import Applied
from engine.runtimes.values import json_value
from engine.supervisor.memory import TeamMemory
from engine.supervisor.node import SupervisorNode


class People(SupervisorNode):
    """Methods of a supervisor for people who intervene."""

    @property
    def questions(self) -> list[Escalation]:
        """Open questions of the whole team, oldest first; copies."""
        return deepcopy(list(self._state.escalations.values()))

    async def next_question(self) -> Escalation:
        """Wait for an open question of the team, and return the oldest.

        Raises:
            HostStopped: If the engine ended first.
        """
        async with self._engine.running():
            with self._engine.events() as events:
                while not self._state.escalations:
                    try:
                        await anext(events)
                    except StopAsyncIteration:
                        raise HostStopped("no question was asked") from None
                return self.questions[0]

    async def answer(
        self,
        question: Target,
        answer: str,
        output: Json = None,
        *,
        also: Sequence[Target] = (),
        alike: bool = False,
        amount: Amount | None = None,
        minutes: float | None = None,
        scope: GrantScope | None = None,
        where: Sequence[str] = (),
    ) -> Applied:
        """Answer an open question.

        Args:
            question: Id of the question, or of the waiting task.
            answer: One of its options.
            output: With `use`, the output of the task; with `reply`, the text for the agent.
            also: Further questions to give the same answer.
            alike: Also answer all questions of the same kind about the same tool, or with the same words.
            amount: With `continue`, how much a budget is raised by, in its unit: attempts, seconds, tokens or USD.
            minutes: With `allow_always` and `reject_always`, how long it holds.
            scope: With these, what it holds for: `task`, `run`, `until` (with `minutes`) or `always`, the default.
            where: With these, names of arguments: it holds only for calls with the same values of them.

        Raises:
            CommandRefusedError: If there is no such question, the answer is not one of its options, or it has no
                such argument.
        """
        value = json_value(output)
        return await self._engine.order(
            lambda: Answer(
                escalation=question,
                answer=answer,
                output=value,
                also=list(also),
                alike=alike,
                amount=amount,
                minutes=minutes,
                scope=scope or ("until" if minutes is not None else None),
                where=list(where),
            )
        )

    @property
    def memory(self) -> TeamMemory:
        """The insights of the team: `write`, `query`, `wait`, `supersede` and `forget` with the operator's rights."""
        return TeamMemory(self)

    @property
    def grants(self) -> list[Grant]:
        """Grants (standing permissions for tools), oldest first; copies."""
        return deepcopy(list(self._state.grants.values()))

    async def revoke_grant(self, grant: Target) -> Applied:
        """Revoke a grant, so that a person is asked again.

        Raises:
            CommandRefusedError: If there is no such grant.
        """
        return await self._engine.order(lambda: RevokeGrant(grant=grant))

    async def steer(self, target: Target, text: str, *, now: bool = False) -> Applied:
        """Send a message to work in progress; each task takes it at its next turn.

        Args:
            target: An agent (this supervisor's own come first), a run or a task.
            text: The message.
            now: Cut the present turn short.

        Returns:
            The outcome, with the reached tasks as `tasks` in the result.

        Raises:
            CommandRefusedError: If no task can take it.
        """
        return await self._engine.order(lambda: Steer(target=self._target_for(target), text=text, now=now))

    async def abort(self, target: Target, reason: str = "aborted by the program") -> Applied:
        """Stop a run, a task or an agent's work at once, with all below it; `cancel` waits for the next steps.

        Raises:
            CommandRefusedError: If nothing of it is at work.
        """
        return await self._engine.order(lambda: Abort(target=self._target_for(target), reason=reason))

    async def undo(self, command_id: str | None = None) -> Applied:
        """Undo the last undoable command, or the given one, if what it changed is unchanged since.

        Swaps, rollbacks, pause, resume, settings, priorities, deadlines, moves and specialties can be undone.

        Args:
            command_id: Its id, or the beginning of it. None is the last one; it is refused where a later command, such
                as a removal, cannot be undone, and names the id of the one before.

        Raises:
            CommandRefusedError: If it cannot be undone, or what it changed has changed since.
        """
        return await self._engine.order(lambda: Undo(command_id=command_id))
