"""Modules of a team's folder, under names of their own and from the bytes that were looked at before.

A folder's modules live in a package that is named nowhere else, so a `code.py` beside a team file is found by the team
and shadows no module of the standard library, and modules of one name in two folders do not conflict. Only the files
that were listed are loaded, each compiled from bytes with the hash that it was listed with. Of the engine and of its
child processes alike: it imports the standard library and nothing else, and children load this file by its path.
"""

import builtins
import hashlib
import importlib
import itertools
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, NamedTuple


class Source(NamedTuple):
    """Where a module is loaded from."""

    path: str
    """Its file; the folder of a package that has no `__init__.py`."""
    sha256: str
    """Of the file's bytes; empty for such a folder."""
    is_package: bool


Sources = Mapping[str, Source]
"""Modules of a folder by the names that its own code calls them by."""

_numbers = itertools.count(1)
_guard = threading.Lock()
_of_folder: dict[str, list["_Namespace"]] = {}
_of_prefix: dict[str, "_Namespace"] = {}


def load(module: str, folder: str, sources: Sources) -> ModuleType:
    """Return a module of a folder, imported with what it imports from there.

    Modules are shared by all who load them from the same bytes; where a file has changed since, all of `sources` are
    loaded anew beside those that are at work.

    Args:
        module: One of `sources`.
        folder: The folder.
        sources: The module with every module of the folder that it imports.

    Raises:
        ImportError: If a file is not as it was listed.
        Exception: Whatever its code raises.
    """
    with _guard:
        known = _of_folder.setdefault(folder, [])
        namespace = next((one for one in reversed(known) if one.fits(sources)), None)
        if namespace is None:
            namespace = _Namespace(folder)
            known.append(namespace)
        namespace.sources.update(sources)
    return importlib.import_module(f"{namespace.prefix}.{module}")


class _Namespace:
    """The modules of one folder as of one moment."""

    def __init__(self, folder: str) -> None:
        self.sources: dict[str, Source] = {}
        self.prefix = f"team_folder_{next(_numbers)}"
        package = ModuleType(self.prefix, f"Modules of {folder}.")
        package.__path__ = []
        sys.modules[self.prefix] = package
        _of_prefix[self.prefix] = self
        self.builtins = {**vars(builtins), "__import__": self._import}

    def fits(self, sources: Sources) -> bool:
        """Return whether nothing of `sources` was loaded from other bytes."""
        return all(self.sources.get(name, source) == source for name, source in sources.items())

    def spec(self, fullname: str, source: Source) -> ModuleSpec | None:
        """Return how a module is loaded; a package has no path in which other finders could look for more."""
        if not source.sha256:
            return ModuleSpec(fullname, None, is_package=True)
        if source.path.endswith(tuple(EXTENSION_SUFFIXES)):
            _checked(source)
            return spec_from_file_location(fullname, source.path, loader=ExtensionFileLoader(fullname, source.path))
        loader = _Loader(fullname, source, self.builtins)
        spec = spec_from_file_location(fullname, source.path, loader=loader)
        if spec is not None and source.is_package:
            spec.submodule_search_locations = []
        return spec

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Be `__import__` for the modules of the folder: what is of the folder comes from there."""
        top = name.partition(".")[0]
        if level or top not in self.sources:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        try:
            module = builtins.__import__(f"{self.prefix}.{name}", globals, locals, fromlist or (), 0)
        except ModuleNotFoundError as error:
            missing = (error.name or "").removeprefix(f"{self.prefix}.")
            if missing == error.name:
                raise
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing) from None
        return module if fromlist else sys.modules[f"{self.prefix}.{top}"]


class _Loader(SourceFileLoader):
    """Loads one module from bytes with a known hash, and never from a cache."""

    def __init__(self, fullname: str, source: Source, names: dict[str, Any]) -> None:
        super().__init__(fullname, source.path)
        self._source = source
        self._builtins = names

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the bytes that were looked at."""
        code: CodeType = compile(_checked(self._source), self._source.path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run it with the imports of its folder."""
        vars(module)["__builtins__"] = self._builtins
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds what stands in a namespace, and nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module of a team's folder; None for every other."""
        prefix, _, name = fullname.partition(".")
        namespace = _of_prefix.get(prefix)
        source = namespace.sources.get(name) if namespace is not None else None
        return namespace.spec(fullname, source) if namespace is not None and source is not None else None


def _checked(source: Source) -> bytes:
    """Return the bytes of a file.

    Raises:
        ImportError: If they are not those that were looked at.
    """
    with open(source.path, "rb") as file:  # noqa: PTH123 - what a child needs is as little as can be
        content = file.read()
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise ImportError(f"{source.path} has changed since it was looked at", path=source.path)
    return content


sys.meta_path.append(_Finder())
