"""Control sequences beside the drawing: the title of the window, and notices that a person is needed."""

from collections.abc import Callable, Sequence

from dashboard.clean import clean

_SAVE_TITLE, _RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"
"""The terminal saves its previous title, and restores it at the end."""
_TITLE, _NOTICE, _BELL = "\x1b]0;{}\x07", "\x1b]9;{}\x07", "\x07"
_MAX_TITLE_CHARACTERS = 120


def window_title(team: str, needs: int, silent: int = 0) -> str:
    """Return the title of the window: the number of needs, that of silent agents beside, and the name of the team."""
    return clean(f"{f'⚑{needs} ' if needs else ''}{f'⋯{silent} ' if silent else ''}{team}")[:_MAX_TITLE_CHARACTERS]


class TerminalSignals:
    """Sets the title, and calls the operator when the number of needs, or of silent agents, grows.

    Args:
        write: Writes raw text to the terminal.
        call: `bell`, `desktop` (a notification, for terminals with OSC 9) or `off`.
    """

    def __init__(self, write: Callable[[str], None], call: str) -> None:
        self._write = write
        self._call = call
        self._title = ""
        self._needs: int | None = None
        self._silent = self._stuck = 0

    def update(self, team: str, needs: int, *, silent: Sequence[str] = (), stuck: Sequence[str] = ()) -> None:
        """Update the title; call the operator if there is more than at the last call.

        Args:
            team: Its name.
            needs: How much needs a person, stuck agents among it.
            silent: What is said of each silent agent.
            stuck: What is said of each stuck agent.
        """
        title = f"{window_title(team, needs, len(silent))} · quarterdeck"
        if title != self._title:
            self._write(("" if self._title else _SAVE_TITLE) + _TITLE.format(title))
            self._title = title
        notices = []
        if self._needs is not None and needs > self._needs:
            notices.append(f"{needs} {'needs' if needs == 1 else 'need'} you")
            notices += stuck[:1] if len(stuck) > self._stuck else ()
        if self._needs is not None and len(silent) > self._silent:
            notices.append(silent[0])
        if notices and self._call != "off":
            notice = clean(f"{team}: {', '.join(notices)}")[:_MAX_TITLE_CHARACTERS]
            self._write(_NOTICE.format(notice) if self._call == "desktop" else _BELL)
        self._needs, self._silent, self._stuck = needs, len(silent), len(stuck)

    def leave(self) -> None:
        """Restore the previous title."""
        if self._title:
            self._write(_RESTORE_TITLE)
