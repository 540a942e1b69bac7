"""The code of a team's agents, imported ahead by an engine that stands by.

What is trusted is imported, in a thread that nobody waits for: a module that hangs must not keep the team without an
engine. Modules of the team's folder are known by the bytes that they were loaded from, so those of a file that has
changed by the time the turn comes are loaded anew by whoever needs them.
"""

import threading
from collections.abc import Set
from contextlib import suppress

from engine.core.code import references_of
from engine.core.state import State
from engine.errors import Unusable
from engine.host.trusting import Trusting
from engine.references import Origin, resolve
from engine.trust import TrustError


class Preloading:
    """Imports what it has not imported yet, each time it is told what there is.

    Args:
        trusting: What may be imported.
    """

    def __init__(self, trusting: Trusting) -> None:
        self._trusting = trusting
        self._seen: set[str] = set()
        self._thread: threading.Thread | None = None

    def follow(self, references: Set[str]) -> None:
        """Begin to import what of `references` is new; returns at once."""
        if self._thread is not None and self._thread.is_alive():
            return
        new = references - self._seen
        if new:
            self._seen |= new
            self._thread = threading.Thread(target=self._load, args=(sorted(new),), daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Return True once what was begun is imported."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _load(self, references: list[str]) -> None:
        for reference in references:
            # Said by the engine that needs it.
            with suppress(Unusable, TrustError):
                resolve(Origin(reference, self._trusting.folder, self._trusting.sources(reference)))


def loadable(state: State) -> Set[str]:
    """Return the references of what a team runs in the engine's own process, as far as it is trusted."""
    named = {one for spec in state.specs.values() if spec.run_in != "process" for one in references_of(spec)}
    return {one for one in named if one in state.trusted}
