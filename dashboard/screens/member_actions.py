"""What an operator does with agents and supervisors."""

from dashboard.screens.acting import Acting
from dashboard.screens.confirm import Confirm
from dashboard.screens.move import MoveDialog
from dashboard.screens.prompting import LineDialog
from dashboard.screens.remove import RemoveDialog
from dashboard.screens.rollback import RollbackDialog
from dashboard.screens.strategy import StrategyDialog
from dashboard.screens.swap import SwapDialog
from dashboard.views.asking import CapabilityLine, SettingsLine
from dashboard.views.targets import agent_behind, is_in_trouble, supervisor_behind
from dashboard.views.typed import Mistyped, settings_of
from engine.core.commands import Command, Pause, RemoveMember, Resume


class MemberActions(Acting):
    """Actions on members, by key and by `:` line."""

    def action_swap(
        self, name: str | None = None, choice: str | None = None, mode: str | None = None, also: tuple[str, ...] = ()
    ) -> None:
        """Give an agent another spec; without a name those that are marked, else the one under the cursor."""
        if not self.may():
            return
        marked = [] if name else self.marked_agents()
        found: list[str | None] = [*marked] or [self._agent(one) for one in (name, *also)]
        agent_ids = [agent_id for agent_id in dict.fromkeys(found) if agent_id is not None]
        if agent_ids and None not in found:
            self.app.push_screen(SwapDialog(*agent_ids, choice=choice, mode=mode), self._swapped)

    def _swapped(self, command: Command | None) -> None:
        if command is not None:
            self.unmark()
        self.deck.order(command)

    def _agent(self, name: str | None) -> str | None:
        target = self.asked(name)
        agent_id = agent_behind(self.deck.glimpse.state, target)
        if target is not None and agent_id is None:
            self.deck.say(f"{target.said} has no agent to swap", "warn")
        return agent_id

    def action_rollback(self, name: str | None = None, mode: str | None = None) -> None:
        """Give an agent the spec of the generation before; shows first what that was."""
        agent_id = self._agent(name) if self.may() else None
        if agent_id is None:
            return
        agent = self.deck.glimpse.state.agents[agent_id]
        if agent.previous is None:
            self.deck.say(f"{agent.name} is what it was from the start; nothing to roll back to", "warn")
            return
        self.app.push_screen(RollbackDialog(agent_id, mode), self.deck.order)

    def action_undo(self) -> None:
        """Take back the last swap."""
        if self.may():
            self.deck.undo()

    def action_strategy(
        self, name: str | None = None, mode: str | None = None, settings: tuple[str, ...] = (),
        lead: str | None = None, run: str | None = None,
    ) -> None:  # fmt: skip
        """Change how a supervisor coordinates."""
        if not self.may():
            return
        state = self.deck.glimpse.state
        target = self.asked(name) if name else self.target()
        supervisor_id = supervisor_behind(state, target)
        if supervisor_id is None or (name and target is None):
            self.deck.say("there is no supervisor here", "warn")
            return
        run = run or (target.id if target is not None and target.id in state.runs else None)
        try:
            said = settings_of(settings)
        except Mistyped as error:
            self.deck.say(str(error), "warn")
            return
        self.app.push_screen(StrategyDialog(supervisor_id, mode, settings=said, lead=lead, run=run), self.deck.order)

    def action_pause(self, name: str | None = None, paused: bool | None = None) -> None:
        """Pause an agent, a supervisor or a run; let a paused one go on."""
        target = self.asked(name) if self.may() else None
        if target is None:
            return
        state = self.deck.glimpse.state
        member = state.agents.get(target.id) or state.supervisors.get(target.id) or state.runs.get(target.id)
        if member is None:
            self.deck.say(f"{target.said} cannot be paused; an agent, a supervisor or an open run can", "warn")
            return
        stands_still = member.paused or is_in_trouble(state, target.id)
        stop = not stands_still if paused is None else paused
        self.deck.order(Pause(target=target.at) if stop else Resume(target=target.at))

    def action_remove(self, name: str | None = None) -> None:
        """Take an agent, or a supervisor with nothing under it, out of the team; asks first."""
        target = self.asked(name) if self.may() else None
        if target is None:
            return
        if target.kind == "agent":
            self.app.push_screen(RemoveDialog(target.id), self.deck.order)
        elif target.kind == "supervisor":
            told = ("It goes only when nobody is under it.", "Its name may be used again, its events stay.")
            dialog = Confirm(f"Remove {target.kind} “{target.name}”", told, "Remove it", RemoveMember(target=target.at))
            self.app.push_screen(dialog, self.deck.order)
        else:
            self.deck.say(f"{target.said} is not a member of the team; ctrl+d cancels it", "warn")

    def action_move(self, name: str | None = None, parent: str | None = None) -> None:
        """Put an agent, or a supervisor with all under it, under another supervisor."""
        target = self.asked(name) if self.may() else None
        if target is None:
            return
        if target.kind not in ("agent", "supervisor"):
            self.deck.say(f"{target.said} is not a member of the team; a gives a task to another agent", "warn")
            return
        self.app.push_screen(MoveDialog(target.id, parent), self.deck.order)

    def action_capability(self, name: str | None = None, words: str = "") -> None:
        """Change what an agent is able to do."""
        agent_id = self._agent(name) if self.may() else None
        if agent_id is not None:
            self.app.push_screen(LineDialog(CapabilityLine(agent_id), words), self.deck.order)

    def action_settings(self, name: str | None = None, words: str = "") -> None:
        """Change what a supervisor allows."""
        if not self.may():
            return
        state = self.deck.glimpse.state
        target = self.asked(name) if name else self.target()
        supervisor_id = supervisor_behind(state, target)
        if supervisor_id is None or (name and target is None):
            self.deck.say("there is no supervisor here", "warn")
            return
        self.app.push_screen(LineDialog(SettingsLine(supervisor_id), words), self.deck.order)
