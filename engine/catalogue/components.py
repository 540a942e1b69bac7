"""Packs of installed Python packages, by their entry points in the group `quarterdeck.agents`; nothing is imported.

[project.entry-points."quarterdeck.agents"]
tides = "tides:agents.yaml"
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path

from engine.catalogue.entries import Pack, TrustedKey
from engine.catalogue.pack_files import read_pack
from engine.core.errors import did_you_mean
from engine.errors import CatalogueError

GROUP = "quarterdeck.agents"


def component_names() -> list[str]:
    """Return the names of the packs that installed packages bring."""
    return sorted({point.name for point in _points()})


def read_component(name: str, keys: Iterable[TrustedKey] = ()) -> Pack:
    """Read the pack of an entry point, of name `name`; raises as `read_packs`."""
    points = [point for point in _points() if point.name == name]
    if not points:
        hint = did_you_mean([], f"installed are: {', '.join(component_names()) or 'none'}")
        raise CatalogueError(f"no installed package has agents named {name!r:.60}; {hint}")
    if len(points) > 1:
        packages = ", ".join(sorted(str(point.dist.name) for point in points if point.dist is not None))
        raise CatalogueError(f"several packages have agents named {name!r}: {packages}; uninstall all but one")
    return read_pack(_file_of(points[0]), keys, source="entry_point")


def _points() -> EntryPoints:
    try:
        return entry_points(group=GROUP)
    except (ValueError, OSError) as error:  # one damaged package is enough
        raise CatalogueError(f"what is installed cannot be read ({error}); look for it with: pip check") from error


def _file_of(point: EntryPoint) -> Path:
    """Return the file of an entry point `package:file.yaml`, among the installed files of its own distribution."""
    package, _, file = point.value.partition(":")
    wanted = f"{package.strip().replace('.', '/')}/{file.strip()}"
    if point.dist is not None:
        for installed in point.dist.files or ():
            if installed.as_posix() == wanted:
                return Path(str(installed.locate()))
    owner = "its package" if point.dist is None else point.dist.name
    raise CatalogueError(f"{wanted} is not among the files of {owner}; ask its author, or install it as a wheel")
