"""The code of a team's agents, imported ahead by an engine that stands by.

What is trusted is imported, in a thread that nobody waits for: a module that hangs must not keep the team without an
engine. Where a file of the team has changed by the time the turn comes, all of its modules are imported anew.
"""

import importlib
import sys
import threading
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from engine.core.state import State
from engine.errors import Unusable
from engine.references import is_bound, resolve

Stamp: TypeAlias = tuple[int, int]
"""When a file was written, and its size."""
_OURS = ("dashboard", "engine", "quarterdeck", "store")


class Preloading:
    """Imports what it has not imported yet, each time it is told what there is."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._folders: set[Path] = set()
        self._stamps: dict[Path, Stamp | None] = {}
        self._thread: threading.Thread | None = None

    def follow(self, references: Set[str], folder: Path | None) -> None:
        """Begin to import what of `references` is new; returns at once.

        Args:
            references: To trusted code.
            folder: The team's, searched after what is installed.
        """
        if self._thread is not None and self._thread.is_alive():
            return
        new = references - self._seen
        if new:
            self._seen |= new
            self._thread = threading.Thread(target=self._load, args=(sorted(new), folder), daemon=True)
            self._thread.start()

    def forget_changed(self) -> None:
        """Have modules of the team imported anew where a file of one is not as it was."""
        if all(_stamp(path) == stamp for path, stamp in self._stamps.items()):
            return
        for name in [name for name, path in _modules(self._folders).items() if path in self._stamps]:
            sys.modules.pop(name, None)
        self._stamps.clear()
        importlib.invalidate_caches()

    def wait(self, timeout_s: float) -> bool:
        """Return True once what was begun is imported."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _load(self, references: list[str], folder: Path | None) -> None:
        before = set() if folder is None else set(_modules({folder}))
        for reference in references:
            # Said by the engine that needs it.
            with suppress(Unusable):
                resolve(reference, folder)
        if folder is not None:
            self._folders.add(folder)
            loaded = {path for name, path in _modules({folder}).items() if name not in before}
            self._stamps |= {path: _stamp(path) for path in loaded}


def loadable(state: State) -> Set[str]:
    """Return the references of what a team runs in the engine's own process, as far as it is trusted."""
    named = {one for spec in state.specs.values() if spec.run_in != "process" for one in (spec.run, *spec.tools)}
    return {one for one in named if isinstance(one, str) and one in state.trusted and not is_bound(one)}


def _modules(folders: set[Path]) -> dict[str, Path]:
    """Modules of the team that were loaded from any of some folders, by name; not what is installed, nor ours."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name.partition(".")[0] in _OURS:
            continue
        path = Path(file)
        if "site-packages" not in path.parts and any(folder in path.parents for folder in folders):
            found[name] = path
    return found


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
