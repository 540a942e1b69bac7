"""What the app does with commands: into the inbox in a thread, and one line about what became of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from dashboard.client import Client, Outcome
from dashboard.views.outcomes import changed_agents, spoken
from engine.core.commands import Command, Rollback, RollbackAgents
from engine.core.errors import CoreError
from engine.core.queries.targets import at
from engine.sender import sender_of
from store import StoreError

if TYPE_CHECKING:
    from dashboard.feed import Feed

PATIENCE_S = 10.0
"""How long an outcome is waited for before the command is called queued."""


class Orders(App[int]):
    """Mixed into the app."""

    path: Path
    readonly: bool
    feed: "Feed"
    undoable: Sequence[tuple[str, int]] = ()
    """Agents that the last change gave another generation, with its number."""

    def say(self, text: str, tone: str = "") -> None:
        """Say one line."""
        raise NotImplementedError

    def order(self, command: Command | None) -> None:
        """Send a command, and say what became of it."""
        if command is None:
            return
        if self.readonly:
            self.say("refused: this dashboard is read-only", "warn")
            return
        self.say(f"… {command.type.replace('_', ' ')}", "muted")
        self.run_worker(lambda: self._send(command), thread=True, exit_on_error=True)

    def _send(self, command: Command) -> None:
        """Runs in a thread."""
        try:
            with Client(self.path, sender=sender_of("quarterdeck dashboard")) as client:
                outcome = client.perform(command, PATIENCE_S if client.engine_alive() else 0.0)
        except (StoreError, CoreError) as error:
            self.call_from_thread(self.say, f"not sent: {error}", "error")
        else:
            self.call_from_thread(self._told, command, outcome)

    def _told(self, command: Command, outcome: Outcome) -> None:
        if outcome.status == "applied":
            self.undoable = changed_agents(command, outcome.result)
        cell = spoken(
            command,
            outcome.status,
            outcome.seq,
            summary=outcome.summary,
            reason=outcome.reason,
            undoable=bool(self.undoable) and outcome.status == "applied",
        )
        self.say(cell.text, cell.tone)

    def undo(self) -> None:
        """Take back the change that was told last, as one change; refused where an agent has changed since."""
        if not self.undoable:
            self.say("nothing to undo; u takes back the last swap", "muted")
            return
        undone, self.undoable = self.undoable, ()
        each = [Rollback(agent=at(agent_id), generation=generation) for agent_id, generation in undone]
        self.order(each[0] if len(each) == 1 else RollbackAgents(rollbacks=each))
