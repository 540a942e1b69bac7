"""The data folder of this user."""

import os
import sys
from pathlib import Path

from engine.errors import EngineError

CATALOGUE_FILE = "catalogue.db"
"""The user's catalogue in that folder; all other databases there are of teams."""


class NoHome(EngineError):
    """This user has no home folder."""

    def __init__(self) -> None:
        super().__init__("this user has no home folder; set XDG_DATA_HOME")


def home_folder() -> Path:
    """Return the home folder of this user.

    Raises:
        NoHome: If there is none, or HOME is empty or relative, so that it would depend on the working folder.
    """
    if not Path(os.environ.get("HOME", os.sep)).is_absolute():
        raise NoHome
    try:
        return Path.home()
    except RuntimeError:
        raise NoHome from None


def data_folder() -> Path:
    """Return the folder of this user's databases and trust list; it may not exist yet.

    Raises:
        NoHome: If neither XDG_DATA_HOME nor a home folder is set.
    """
    xdg_folder = os.environ.get("XDG_DATA_HOME", "")
    if Path(xdg_folder).is_absolute():
        return Path(xdg_folder) / "quarterdeck"
    home = home_folder()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "quarterdeck"
    return home / ".local" / "share" / "quarterdeck"
