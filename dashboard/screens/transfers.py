"""What the app does with files: archives out and in, agents of a file. All of it in threads; each says one line."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from dashboard.screens.confirm import Confirm
from dashboard.views.amounts import size
from engine.core.commands import AddAgent, AddSupervisor, Command

if TYPE_CHECKING:
    from dashboard.feed import Feed
    from engine.archive import ImportPlan


class Transfers(App[int]):
    """Mixed into the app."""

    path: Path
    feed: "Feed"

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
        from engine.trust import user_list
        from store import StoreError

        def looking() -> None:
            found: ImportPlan | str
            try:
                found = plan_import(archive, self.path, user_list())
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
        wanted: list[Command] = [AddAgent(supervisor=under, spec=spec) for spec in found.agents]
        if found.team is not None:
            wanted = [AddSupervisor(parent=under, team=found.team)]
        if not found.references or not wanted:
            self._order_all(wanted)
            return
        told = (f"It runs {', '.join(found.references)}.", "Adding it trusts that code: look at it first.")
        dialog = Confirm(f"Add what stands in {file.name}", told, "Add and trust it", wanted[0])

        def answered(said: object) -> None:
            if said is not None and self.allow(found.references, found.path, found.sha256):
                self._order_all(wanted)

        self.push_screen(dialog, answered)

    def allow(self, references: Sequence[str], path: Path, sha256: str) -> bool:
        """Put code on the list of what this user trusts, for this database; say why where that cannot be."""
        from engine.errors import EngineError
        from engine.granting import grant
        from engine.trust import TrustError, user_list

        allowed = user_list()
        try:
            if references and allowed is not None:
                grant(allowed, references, self.feed.state, db=self.path, path=path, sha256=sha256)
        except (TrustError, EngineError) as error:
            self.say(f"not trusted: {error}", "error")
            return False
        return True

    def _order_all(self, commands: "list[Command]") -> None:
        for command in commands:
            self.order(command)
