"""The import closure of a reference in a folder: the files that it imports, found by reading code, never running it.

Every import statement of a file counts, also inside functions: `import a.b`, `from . import c`. The folder is searched
before installed packages. Files outside the folder, and files that code loads in other ways, are not in the closure.
For a program (`exec:`) the closure is the files of the folder that its arguments name, not what these read or run.
"""

import ast
import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

from engine.core.queries.team.code import EXEC, is_imported
from engine.errors import Unusable
from engine.runtimes.functions.isolated import Source, Sources

SUFFIXES = (".py", *EXTENSION_SUFFIXES)
MAX_FILES = 2_000
MAX_FILE_BYTES = 10_000_000


def module_of(reference: str) -> str:
    """Return the module name of a reference."""
    return reference.partition(":")[0]


class Folder:
    """A snapshot of a folder with code: each file is read once. Blocks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._modules: dict[str, tuple[Source, list[str]]] = {}
        """Each module that was read, with the names of the modules that it may import."""
        self._chains: dict[str, list[str]] = {}

    def sources(self, *references: str) -> Sources:
        """Return the modules that references import, transitively; raises Unusable if too many, or unreadable."""
        sources = {name: source for reference in references for name, source in self._named_files(reference)}
        waiting = [module_of(reference) for reference in references if is_imported(reference)]
        queued_modules = set(waiting)
        while waiting:
            for name in self._chain(waiting.pop()):
                if name in sources:
                    continue
                sources[name], imported = self._modules[name]
                waiting += [module for module in imported if module not in queued_modules]
                queued_modules.update(imported)
        return sources

    def lacks(self, reference: str) -> bool:
        """Return True when a reference is neither in the folder nor installed; runs no code.

        A function that a module may define dynamically counts as found.

        Raises:
            Unusable: If a file cannot be read, or there are too many.
        """
        if not is_imported(reference):
            return False
        module, _, qualname = reference.partition(":")
        chain = self._chain(module)
        if not chain:
            try:
                return find_spec(module.partition(".")[0]) is None
            except (ImportError, ValueError):  # not a valid module name
                return True
        path = Path(self._modules[chain[-1]][0].path)
        if chain[-1] != module or path.suffix != ".py":
            return chain[-1] != module
        name = re.escape(qualname.partition(".")[0])
        return re.search(rf"\b{name}\b|import \*|__getattr__".encode(), _bytes_of(path)) is None

    def _named_files(self, reference: str) -> Iterator[tuple[str, Source]]:
        """Yield the files of the folder that a program's command line names, by their relative paths."""
        if not reference.startswith(EXEC):
            return
        words = shlex.split(reference.removeprefix(EXEC))
        places = [self.path]
        if "[cwd" in words:
            places.append(self.path / words[-1].removesuffix("]"))
        for path in dict.fromkeys(Path(os.path.normpath(place / word)) for place in places for word in words):
            if path.is_relative_to(self.path) and _is_file(path):
                yield path.relative_to(self.path).as_posix(), Source(str(path), _sha256(path), False)

    def _chain(self, name: str) -> list[str]:
        """Return the packages around a module, and the module, as far as they are in the folder."""
        if name not in self._chains:
            located = list(_locate(name, self.path))
            for module, path in located:
                self._read(module, path)
            self._chains[name] = [module for module, _ in located]
        return self._chains[name]

    def _read(self, name: str, path: Path) -> None:
        if name in self._modules:
            return
        if len(self._modules) >= MAX_FILES:
            raise Unusable(f"the code in {self.path} is more than {MAX_FILES:,} files; import less of it")
        if path.is_dir():
            self._modules[name] = Source(str(path), "", True), []
            return
        content = _bytes_of(path)
        is_package = path.stem == "__init__"
        package = name if is_package else name.rpartition(".")[0]
        imported = list(_imported_modules(content, package, self.path)) if path.suffix == ".py" else []
        self._modules[name] = Source(str(path), hashlib.sha256(content).hexdigest(), is_package), imported


def digest_of(sources: Sources) -> str:
    """Return one hash for the code of all these modules, 32 hex digits; empty without modules."""
    lines = [f"{name}\0{source.sha256}\0{source.is_package}\n" for name, source in sorted(sources.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32] if lines else ""


def files_of(sources: Sources, folder: Path) -> dict[str, str]:
    """Return the hash of each file, by its relative path."""
    return {
        Path(source.path).relative_to(folder).as_posix(): source.sha256 for source in sources.values() if source.sha256
    }


def _locate(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the packages around a module, and the module, as far as they are in the folder, with their files.

    A folder without `__init__.py` counts as a package only if a module below it is found.
    """
    pending: list[tuple[str, Path]] = []
    directory, parts = folder, name.split(".")
    for index, part in enumerate(parts, 1):
        if not part.isidentifier():
            return
        module = ".".join(parts[:index])
        init = directory / part / "__init__.py"
        candidates = (init, *(directory / f"{part}{suffix}" for suffix in SUFFIXES))
        file = next((path for path in candidates if path.is_file()), None)
        if file is not None:
            yield from [*pending, (module, file)]
            pending = []
            if file is not init:
                return
        elif (directory / part).is_dir():
            pending.append((module, directory / part))
        else:
            return
        directory /= part


def _imported_modules(content: bytes, package: str, folder: Path) -> Iterator[str]:
    """Yield the names of the modules that a file may import, relative to its folder."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the import itself reports the error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base_module(node, package)
            for alias in node.names:
                yield from _submodules(base, folder) if alias.name == "*" else (f"{base}.{alias.name}".lstrip("."),)
            if base:
                yield base


def _base_module(node: ast.ImportFrom, package: str) -> str:
    """Return the absolute name of the module that names are imported from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    base_parts = parts[: len(parts) - node.level + 1]
    return ".".join([*base_parts, *([node.module] if node.module else [])])


def _submodules(base: str, folder: Path) -> Iterator[str]:
    """Yield the modules that `from base import *` may import besides `base`."""
    path = folder.joinpath(*base.split(".")) if base else folder
    if base and path.is_dir():
        names = {entry.name.partition(".")[0] for entry in path.iterdir()}
        yield from (f"{base}.{name}" for name in sorted(names) if name.isidentifier())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # an argument can be longer than a name
        return False


def _sha256(path: Path) -> str:
    """Return the hash of a file of any size."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror})") from error


def _bytes_of(path: Path) -> bytes:
    """Return the content of a regular file; a pipe or a device is refused before it can block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unusable(f"{path} is not a regular file")
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Unusable(f"{path} cannot be read ({error.strerror})") from error
    if len(content) > MAX_FILE_BYTES:
        raise Unusable(f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
    return content
