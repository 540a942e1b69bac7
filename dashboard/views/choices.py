"""What can be chosen in a dialog: one of a few, each with what it would do."""

from typing import NamedTuple


class Choice(NamedTuple):
    """One of them."""

    id: str
    name: str
    about: str = ""
    """What it would do."""
    tone: str = ""
