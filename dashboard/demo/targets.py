"""What a request means: which part of the folder is to be audited. The rest of the machine is out of reach."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from dashboard.demo.source import name_text, os_name
from dashboard.demo.walk import walk

_FILLERS = frozenset(
    (
        "the",
        "package",
        "folder",
        "module",
        "directory",
        "file",
        "please",
        "of",
        "all",
        "everything",
        "again",
        "only",
        "just",
    )
)


class RequestRefused(Exception):
    """A request that the crew does not understand or must not follow; the message says what it takes instead."""


class NoSuchTarget(RequestRefused):
    """Nothing in the folder has the name that was asked for; some have a name that is near."""

    def __init__(self, asked: str, near: list[str]) -> None:
        hint = f"; near: {', '.join(near)}" if near else ""
        super().__init__(f"nothing named {asked!r} in this folder{hint}")
        self.asked = asked
        self.near = near


class OutsideFolder(RequestRefused):
    """A path that leaves the audited folder."""

    def __init__(self, asked: str) -> None:
        super().__init__(f"{asked!r} is outside the folder of this crew; start `quarterdeck demo` there")


@dataclass(slots=True, frozen=True)
class Target:
    """What to audit."""

    folder: Path
    """The crew's folder, absolute, links resolved."""
    under: str
    """Folder or file inside it, relative; empty for all."""

    @property
    def folder_text(self) -> str:
        """The folder in the form of `name_text`."""
        return name_text(str(self.folder))


def target_of(request: str, folder: str) -> Target:
    """Find what a request asks to audit in the crew's folder; blocking.

    It is `audit`, or `audit NAME` with a path inside the folder, a dotted module or just a name; else it is refused.
    """
    root = Path(os.path.realpath(folder))
    verb, _, rest = request.strip().partition(" ")
    if verb and verb.lower() != "audit":
        raise RequestRefused(f"the crew audits: say `audit` or `audit PATH`, not {verb[:40]!r}")
    words = rest.strip().strip("\"'")
    plain = " ".join(word for word in words.split() if word.lower() not in _FILLERS)
    for asked in (words, plain):
        path = root if "\0" in asked else Path(os.path.realpath(root / asked))
        if "\0" in asked or not path.is_relative_to(root):
            raise OutsideFolder(asked[:200])
        if path.exists():
            return Target(root, str(path.relative_to(root)) if path != root else "")
    return Target(root, _best_match(root, plain))


def _best_match(root: Path, asked: str) -> str:
    """The folder or file of that name that is nearest to the top; folders before files."""
    listing = walk(root)
    places = [*listing.folders, *listing.names()]
    wanted = asked.replace(".", "/") if "/" not in asked and not asked.endswith(".py") else asked
    wanted = wanted.strip("/").lower()
    matches = [
        place
        for place in places
        if f"/{_stem(place)}".endswith(f"/{wanted}") or f"/{place.lower()}".endswith(f"/{asked.lower()}")
    ]
    if not matches or not wanted:
        stems = {_stem(place).rpartition("/")[2]: place for place in reversed(places)}
        near = difflib.get_close_matches(wanted.rpartition("/")[2], stems, n=3, cutoff=0.5)
        raise NoSuchTarget(asked[:200], [stems[name] for name in near])
    return os_name(min(matches, key=lambda place: (place.count("/"), place not in listing.folders, place)))


def _stem(place: str) -> str:
    return place.lower().removesuffix(".py")
