"""Reads and opens places of the dashboard: for `--open`, and for a browser that reconnects.

The places are those of `dashboard.deck.places`; `agent/ID`, `task/ID` and so on are the pages of one object.
"""

from typing import TYPE_CHECKING

from dashboard.clean import clean
from dashboard.deck.places import HOME, pages, places
from dashboard.frame.frame import Frame
from dashboard.frame.table_screen import TableScreen
from dashboard.views.changes.targets import find_target
from dashboard.views.words.absent import is_issued
from dashboard.views.words.place import NoPlace, Place
from engine.core.errors import Refused
from engine.core.state import State

if TYPE_CHECKING:
    from dashboard.deck.deck import Deck


class UnknownScreen(NoPlace):
    """A place names an unknown screen; the message lists the known ones."""

    def __init__(self, reason: str) -> None:
        ValueError.__init__(self, reason)


def read_place(text: str) -> Place:
    """Read a place of this dashboard.

    Raises:
        NoPlace: If it is none, or names a screen that is not there.
    """
    place = Place.parse(text)
    if place.screen not in places() and place.screen not in pages():
        screen_names = ", ".join([*places(), *(f"{page}/ID" for page in pages())])
        raise UnknownScreen(f"there is no screen {place.screen!r}; there are {screen_names}")
    if place.screen in pages() and not place.id:
        raise UnknownScreen(f"which {place.screen}? write {place.screen}/ID")
    return place


def visit(deck: "Deck", place: Place) -> None:
    """Go to a place; a message says if it does not exist any more."""
    if place.seq is not None:
        deck.past.goto_seq(place.seq)
    if place.screen in places():
        deck.action_go(place.screen, filtered=place.needle)
        if place.id:
            deck.call_after_refresh(_select, deck, _id_of(deck, place.id))
        return
    object_id, state = _id_of(deck, place.id), deck.view.state
    below = f"{place.screen}s"
    deck.action_go(below if below in places() else HOME, filtered=place.needle)
    if place.seq is None and not _is_known(state, place.screen, object_id):
        deck.messages.say(f"no {place.screen} {clean(place.id)} is here any more", "warn")
    else:
        deck.call_after_refresh(deck.open, place.screen, object_id)


def _is_known(state: State, kind: str, key: str) -> bool:
    """Return whether the object of a page exists; tasks that the state has dropped are in the journal."""
    if kind == "task":
        return key in state.tasks or (key.startswith("t") and is_issued(state, key))
    return kind != "agent" or key in state.agents


def _id_of(deck: "Deck", word: str) -> str:
    """Return the id that a word refers to, or the word itself if it is unknown."""
    try:
        return find_target(deck.view.state, word).id
    except Refused:
        return word


def _select(deck: "Deck", key: str) -> None:
    if isinstance(deck.screen, TableScreen):
        deck.screen.select_row(key)


def place_of(deck: "Deck") -> Place:
    """Return the current place of a dashboard, ignoring dialogs."""
    past = deck.view.past
    seq = past.seq if past is not None and not past.speed else None
    for screen in reversed(deck.screen_stack):
        if isinstance(screen, Frame) and not screen.PLACE and _kind_of(screen) in pages():
            return Place(_kind_of(screen), screen.subject_id, seq=seq)
        if isinstance(screen, Frame) and screen.PLACE:
            key = _selected_row(screen)
            return Place(screen.PLACE, "" if "?" in key else key, screen.finding.needle, seq)
    return Place(HOME, seq=seq)


def _kind_of(screen: Frame) -> str:
    """Return the kind of a page, which is the name of its file."""
    return type(screen).__module__.rpartition(".")[2]


def _selected_row(screen: Frame) -> str:
    """Return the row on which the operator has put the cursor, if any."""
    if not isinstance(screen, TableScreen) or not screen.is_mounted or not screen.table.placed:
        return ""
    return screen.table.selected or ""
