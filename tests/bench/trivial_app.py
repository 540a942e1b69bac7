"""The least that a Textual app can be: the floor of the dashboard's first frame and of a key."""

from textual.app import App, ComposeResult
from textual.widgets import Input, Static


class Trivial(App[None]):
    """One line of text and one line to type into."""

    def compose(self) -> ComposeResult:
        yield Static("nothing else", markup=False)
        yield Input()


if __name__ == "__main__":
    Trivial().run()
