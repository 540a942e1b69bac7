"""The data folder of this user."""

import os
import sys
from pathlib import Path

from engine.errors import EngineError


class NoHome(EngineError):
    """This user has no home folder."""

    def __init__(self) -> None:
        super().__init__("this user has no home folder; set XDG_DATA_HOME")


def data_folder() -> Path:
    """Return the folder of this user's databases and trust list; it may not exist yet.

    Raises:
        NoHome: If nothing says where.
    """
    given = os.environ.get("XDG_DATA_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "quarterdeck"
    try:
        home = Path.home()
    except RuntimeError:
        raise NoHome from None
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "quarterdeck"
    return home / ".local" / "share" / "quarterdeck"
