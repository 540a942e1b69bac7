"""The process of one tab: the dashboard, confined; the server starts it as `python -P -m dashboard.web.tab_process`."""

import gc
import os
import sys
from pathlib import Path

from engine.platform.garbage import collect_rarely, keep_memory_small
from store import Reader, StoreError


def main(db: str, role: str, folder: str, place: str) -> int:
    """Run the dashboard of one tab until it is left.

    Args:
        role: viewer or operator.
        folder: Folder that only this tab uses, for what it sends and receives.
        place: Where it opens, as `--open` writes it; empty opens the first screen.
    """
    os.umask(0o077)
    gc.set_threshold(
        250_000
    )  # as in `dashboard.__main__`: imported objects stay, so do not look at them again and again

    from dashboard.app.navigation import read_place
    from dashboard.web.confinement import confine
    from dashboard.web.tab import TabApp

    sys.dont_write_bytecode = True
    confine(Path(folder), viewer=role != "operator")
    collect_rarely(is_manual=True)
    keep_memory_small()
    try:
        with Reader(db):
            pass
    except StoreError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        requested_place = read_place(place) if place else None
    except ValueError:
        requested_place = None  # of another version, or typed by hand: the first screen is better than none
    app = TabApp(Path(db), viewer=role != "operator", folder=Path(folder), place=requested_place)
    status = app.run() or app.return_code or 0
    if app.defect:  # printed last: the server shows this line in the browser, and Textual would wrap it
        sys.stderr.write(f"{app.defect}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
