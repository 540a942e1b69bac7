"""Files made from the file of a team, or read into it: archives and forks."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.deck.background import Background
from dashboard.deck.messages import Messages
from dashboard.reading.feed import Feed
from dashboard.views.past import describe_fork
from dashboard.views.words.amounts import size
from engine.core.errors import CoreError
from store import StoreError

if TYPE_CHECKING:
    from engine.archive import ExportResult, ImportPlan
    from engine.history.forking import Fork


class TeamFiles:
    """Exports, imports and forks, on this machine."""

    def __init__(self, path: Path, feed: Feed, background: Background, messages: Messages) -> None:
        self._path, self._feed, self._background, self._messages = path, feed, background, messages
        self.has_forked = False
        """Whether a fork was made in this session."""

    def export(self, target: Path) -> None:
        """Write an archive in a thread."""
        from engine.archive import ArchiveError, export_archive  # needed only for exports

        def write_archive() -> "ExportResult":
            self._feed.check_same_file()
            return export_archive(self._path, target)

        self._messages.say("… exporting", "muted")
        errors = (ArchiveError, StoreError, OSError)
        self._background.run_in_thread(write_archive, self.announce_export, errors, "not exported: ")

    def announce_export(self, done: "ExportResult") -> None:
        """Say what was exported, and where it is."""
        self._messages.say(f"✓ exported as of seq {done.seq:,} to {done.path}, {size(done.bytes)}", "busy")

    def plan_import(self, archive: Path, receive: "Callable[[ImportPlan | str], None]") -> None:
        """Plan an import in a thread; pass the plan, or a one-line error, to `receive`."""
        from engine.archive import ArchiveError, plan_import  # needed only for imports
        from engine.trusted_code.trust import user_list

        def make_plan() -> "ImportPlan | str":
            try:
                return plan_import(archive, self._path, user_list())
            except (ArchiveError, CoreError, StoreError, OSError) as error:
                return str(error).split("\n", 1)[0]

        self._background.run_in_thread(make_plan, receive, ())

    def ask_upload(self) -> None:
        """Ask the browser to upload a file."""

    def fork(self, target: Path, seq: int) -> None:
        """Create a database that continues from an event of this one."""
        from engine.history.forking import fork  # needed only for forks

        def announce(new_fork: "Fork") -> None:
            self.has_forked = True
            outcome = describe_fork(asked_seq=seq, at_seq=new_fork.at_seq, runs=new_fork.runs, tasks=new_fork.tasks)
            self._messages.say(f"{outcome} · {self.hand_over(new_fork.path)}", "busy")

        def write_fork() -> "Fork":
            self._feed.check_same_file()
            return fork(self._path, target, at_seq=seq)

        self._messages.say("… forking", "muted")
        errors = (StoreError, CoreError, OSError)
        self._background.run_in_thread(write_fork, announce, errors, "not forked: ")

    def hand_over(self, fork: Path) -> str:
        """Return how to open a new fork."""
        return f"9, then enter on {fork.name} opens it"
