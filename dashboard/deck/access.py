"""What the operator of a dashboard may do: change the team, use files and programs of this machine."""

from pathlib import Path

from dashboard.deck.messages import Messages
from dashboard.deck.time_travel import TimeTravel
from dashboard.reading.feed import Feed
from dashboard.views.past import PAST_REFUSAL
from dashboard.views.words.keyed import fill_keys
from store import can_command
from store.errors import FileLost, ReadRowsLost

READ_ONLY = "refused: this dashboard is read-only; open it without --readonly to change the team"
READ_ONLY_FILE = "refused: you may read this team, not change it; its owner lets you write {}"
READ_ONLY_TAB = "refused: this tab is read-only; `quarterdeck serve --role operator` allows changes"


class Access:
    """Rights on the file of a team, and on this machine."""

    def __init__(
        self, path: Path, feed: Feed, messages: Messages, past: TimeTravel, *, readonly: bool, in_browser: bool
    ) -> None:
        self._path, self._feed, self._messages, self._past = path, feed, messages, past
        self._may_command = can_command(path)
        self.readonly = readonly or not self._may_command
        self.in_browser = in_browser
        """Whether the operator uses a browser, without access to paths, programs, trust and engines of this machine."""

    def can_write(self) -> bool:
        """Return whether changes are allowed; if not, warn why."""
        if self._past.is_shown:
            refusal = fill_keys(PAST_REFUSAL)
        else:
            refusal = self._explain_read_only() if self.readonly else self._explain_file_loss()
        if refusal:
            self._messages.say(refusal, "warn")
        return not refusal

    def _explain_file_loss(self) -> str:
        """Return why the file cannot be changed, if it was deleted or replaced; else an empty text."""
        try:
            self._feed.check_same_file()
        except (FileLost, ReadRowsLost):
            return f"refused: {self._feed.trouble}"
        return ""

    def _explain_read_only(self) -> str:
        if not self._may_command:
            return READ_ONLY_FILE.format(f"{self._path}-inbox")
        return READ_ONLY_TAB if self.in_browser else READ_ONLY

    def has_local_access(self, request: str) -> bool:
        """Return whether files and programs of this machine may be used; if not, warn why.

        Args:
            request: The request, and its alternative, such as `a path; <export:x> exports to the browser`.
        """
        if self.in_browser:
            self._messages.say(f"not in a browser: {fill_keys(request)}", "warn")
        return not self.in_browser
