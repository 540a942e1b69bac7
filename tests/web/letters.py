"""The letters on a terminal: what a tab draws, without its colours."""

import re

import pyte

_COLOURS = re.compile(rb"\x1b\[[0-9;:]*m")
_BEGUN = re.compile(rb"\x1b(\[[0-9;:]*)?\Z")


class Letters:
    """A terminal that drops colours before it parses what is drawn: parsing them took most of its time."""

    def __init__(self, columns: int, lines: int) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._begun = b""
        """A sequence whose end has not come."""
        self._lines = [""] * lines

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        return self._screen.columns, self._screen.lines

    def resize(self, columns: int, lines: int) -> None:
        """Read what comes from now on as of another size."""
        self._screen.resize(lines, columns)
        self._lines = [""] * lines
        self._screen.dirty.intersection_update(range(lines))

    def feed(self, data: bytes) -> None:
        """Draw what comes."""
        data = self._begun + data
        begun = _BEGUN.search(data)
        end = begun.start() if begun is not None else len(data)
        self._begun = data[end:]
        self._stream.feed(_COLOURS.sub(b"", data[:end]))

    @property
    def lines(self) -> list[str]:
        """The lines of the screen; only those that have changed are put together anew."""
        for y in self._screen.dirty:
            line = self._screen.buffer[y]
            self._lines[y] = "".join(line[x].data for x in range(self._screen.columns))
        self._screen.dirty.clear()
        return self._lines

    @property
    def text(self) -> str:
        """The whole screen."""
        return "\n".join(self.lines)
