"""A line to write on, behind its label."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static


class Field(Horizontal):
    """A label and an `Input`."""

    DEFAULT_CSS = """
    Field {
        height: 1;
        & > Static { width: 14; padding-left: 1; color: $tone-muted; }
        & > Input, & > Input:focus { border: none; height: 1; margin: 0 1 0 0; padding: 0 1; width: 1fr; }
    }
    """

    def __init__(self, label: str, *, id: str, placeholder: str = "", text: str = "") -> None:
        super().__init__(id=f"{id}-field")
        self._named, self._input, self._placeholder, self._begins = label, id, placeholder, text

    def compose(self) -> ComposeResult:
        yield Static(self._named, markup=False)
        yield Input(self._begins, placeholder=self._placeholder, id=self._input, select_on_focus=False)

    @property
    def value(self) -> str:
        """What stands there."""
        return self.query_one(Input).value.strip()
