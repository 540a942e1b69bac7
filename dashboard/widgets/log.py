"""The table of events: it follows the newest one until a person goes elsewhere."""

from dashboard.views.rows import Rows
from dashboard.widgets.table import Table


class Log(Table):
    """Show the journal."""

    DEFAULT_CSS = """
    Log { height: 1fr; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.following = True
        """True while the cursor stays on the newest event."""

    @property
    def top(self) -> int:
        """The first row that is visible."""
        return self.scroll_offset.y

    def show(self, listing: Rows, now_ms: int) -> None:
        super().show(listing, now_ms)
        if self.following and len(listing.keys):
            self.to_end()

    def to_end(self) -> None:
        """Go to the newest event and stay there."""
        self.following = True
        last = len(self.rows.keys) - 1
        if last != self.line or self.scroll_offset.y != max(0, last + 1 - self.room):
            self.go_to(last)

    def action_move(self, by: int) -> None:
        super().action_move(by)
        self._settle()

    def action_page(self, by: int) -> None:
        super().action_page(by)
        self._settle()

    def action_edge(self, towards: int) -> None:
        super().action_edge(towards)
        self._settle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        # By wheel or scrollbar: who looks at older lines does not want to be pulled away.
        if new_value < old_value and round(new_value) + self.room < len(self.rows.keys):
            self.following = False

    def _settle(self) -> None:
        self.following = self.line >= len(self.rows.keys) - 1
