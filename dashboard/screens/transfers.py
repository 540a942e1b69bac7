"""What the app does with files: archives out and in, agents of a file. All of it in threads; each says one line."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from dashboard.screens.confirm import Confirm
from dashboard.views.amounts import size
from engine.core.commands import AddAgent, AddSupervisor, Command

if TYPE_CHECKING:
    from engine.archive import ImportPlan


class Transfers(App[int]):
    """Mixed into the app."""

    path: Path

    def say(self, text: str, tone: str = "") -> None:
        """Say one line."""
        raise NotImplementedError

    def order(self, command: Command | None) -> None:
        """Send a command."""
        raise NotImplementedError

    def export(self, target: Path) -> None:
        """Write an archive."""
        from engine.archive import ArchiveError, export_archive
        from store import StoreError

        def exporting() -> None:
            try:
                done = export_archive(self.path, target)
            except (ArchiveError, StoreError, OSError) as error:
                self.call_from_thread(self.say, f"not exported: {error}", "error")
            else:
                told = f"✓ exported as of seq {done.seq:,} to {done.path}, {size(done.bytes)}"
                self.call_from_thread(self.say, told, "busy")

        self.say("… exporting", "muted")
        self.run_worker(exporting, thread=True)

    def plan_import(self, archive: Path, then: "Callable[[ImportPlan | str], None]") -> None:
        """Look into an archive; go on with its plan, or with what is wrong in one line."""
        from engine.archive import ArchiveError, plan_import
        from engine.core.errors import CoreError
        from store import StoreError

        def looking() -> None:
            found: ImportPlan | str
            try:
                found = plan_import(archive, self.path)
            except (ArchiveError, CoreError, StoreError, OSError) as error:
                found = str(error).split("\n", 1)[0]
            self.call_from_thread(then, found)

        self.run_worker(looking, thread=True)

    def add(self, file: Path, under: str | None) -> None:
        """Add the agents of a file; where that runs code, ask first, because adding them trusts it."""
        from dashboard.cli.specfile import read_spec_file
        from engine.teamfile import TeamFileError

        try:
            found = read_spec_file(file)
        except TeamFileError as error:
            self.say(str(error).split("\n", 1)[0], "warn")
            return
        wanted: list[Command] = [
            AddAgent(supervisor=under, spec=spec, trusted=found.references) for spec in found.agents
        ]
        if found.team is not None:
            wanted = [AddSupervisor(parent=under, team=found.team, trusted=found.references)]
        if not found.references or not wanted:
            self._order_all(wanted)
            return
        told = (f"It runs {', '.join(found.references)}.", "Adding it trusts that code: look at it first.")
        dialog = Confirm(f"Add what stands in {file.name}", told, "Add and trust it", wanted[0])
        self.push_screen(dialog, lambda said: self._order_all(wanted if said is not None else []))

    def _order_all(self, commands: "list[Command]") -> None:
        for command in commands:
            self.order(command)
