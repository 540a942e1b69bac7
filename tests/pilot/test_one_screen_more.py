"""A new screen is one file in `views`, one in `screens` and its test: nothing else is touched."""

from pathlib import Path

from tests.copies import run_on_copy

VIEW = '''"""How long the names of agents are."""

from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, matches
from engine.core.state import State

LONG = 10
_COLUMNS = (
    Column("AGENT", 20, grow=1, meaning="an agent by its name"),
    Column("LETTERS", 7, right=True, meaning="how many letters a name has"),
)


def lengths(state: State, *, only_long: bool, needle: str) -> Listing:
    """Return the agents with the lengths of their names, the shortest first."""
    names = {
        agent.id: agent.name
        for agent in sorted(state.agents.values(), key=lambda agent: len(agent.name))
        if matches(needle, agent.name) and (len(agent.name) >= LONG or not only_long)
    }
    return Listing(
        _COLUMNS,
        [*names],
        lambda key: (Cell(names[key]), Cell(str(len(names[key])))),
        empty=empty_message(needle, "agent", "no agent is here"),
        total=len(state.agents),
    )
'''
SCREEN = '''"""How long the names of agents are."""

from textual.binding import Binding

from dashboard.frame.table_screen import TableScreen
from dashboard.views.view_state import ViewState
from dashboard.views.lengths import lengths
from dashboard.views.drawing.rows import Listing


class LengthsScreen(TableScreen):
    """How long the names of agents are."""

    PLACE = "lengths"
    KEYS = (
        ("enter", "open"),
        ("w", "only long", "show only the agents with a long name, or all of them"),
        "swap", ("/", "filter"),
    )  # fmt: skip
    OPENS = "agent"
    BINDINGS = [Binding("w", "only_long", "only long", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._only_long = False

    def listing(self, view: ViewState) -> Listing:
        return lengths(view.state, only_long=self._only_long, needle=self.finding.needle)

    def action_only_long(self) -> None:
        self._only_long = not self._only_long
        self.update_view(self.deck.view)


SCREEN = LengthsScreen
'''
WHAT_HOLDS_OF_EVERY_SCREEN = ("tests/unit/test_actions.py",)


def test_two_new_files_are_a_screen_with_a_key_a_word_its_help_and_an_address(tmp_path: Path) -> None:
    def add_screen(product: Path) -> None:
        (product / "dashboard" / "views" / "lengths.py").write_text(VIEW)
        (product / "dashboard" / "screens" / "lengths.py").write_text(SCREEN)

    run_on_copy(tmp_path, add_screen, "tests/pilot/one_screen_more.py", *WHAT_HOLDS_OF_EVERY_SCREEN)
