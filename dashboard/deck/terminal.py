"""What a terminal is told besides what it draws: its title, and that something needs a person."""

from collections.abc import Callable

from textual.driver import Driver

from dashboard.clean import clean

_KEEP_TITLE, _PUT_BACK = "\x1b[22;0t", "\x1b[23;0t"
"""The title that was there before is kept by the terminal, and put back at the end."""
_TITLE, _NOTICE, _BELL = "\x1b]0;{}\x07", "\x1b]9;{}\x07", "\x07"
_LONGEST = 120


def is_behind(driver: Driver | None) -> bool:
    """Tell whether a terminal has not taken yet what was drawn before, as over a slow link.

    Textual keeps thirty writes for it. Frames that wait there would come before the answer to the next key.
    """
    writer = getattr(driver, "_writer_thread", None)
    return writer is not None and not writer._queue.empty()


def titled(team: str, needs: int) -> str:
    """Return what the title of a window says of a team: how much needs a person, and its name."""
    return clean(f"{f'⚑{needs} ' if needs else ''}{team}")[:_LONGEST]


class Terminal:
    """Says the title, and calls when more needs a person than before.

    Args:
        write: Takes what goes to the terminal as it is.
        call: `bell`, `desktop` (a notification where the terminal knows OSC 9) or `off`.
    """

    def __init__(self, write: Callable[[str], None], call: str) -> None:
        self._write = write
        self._call = call
        self._title = ""
        self._needs: int | None = None

    def look(self, team: str, needs: int) -> None:
        """Bring the title up to date; call where `needs` has grown since the first look."""
        title = f"{titled(team, needs)} · quarterdeck"
        if title != self._title:
            self._write(("" if self._title else _KEEP_TITLE) + _TITLE.format(title))
            self._title = title
        if self._needs is not None and needs > self._needs and self._call != "off":
            notice = clean(f"{team}: {needs} {'needs' if needs == 1 else 'need'} you")[:_LONGEST]
            self._write(_NOTICE.format(notice) if self._call == "desktop" else _BELL)
        self._needs = needs

    def leave(self) -> None:
        """Put the title back that was there before."""
        if self._title:
            self._write(_PUT_BACK)
