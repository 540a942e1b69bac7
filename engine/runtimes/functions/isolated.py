"""Imports modules of a team's folder in a namespace of their own, from bytes with a known hash.

A folder's modules live in a package with a unique name: a `code.py` beside a team file shadows no module of the
standard library, and equal names in two folders do not conflict. Only listed files are loaded, each compiled from bytes
with the listed hash. Child processes load this file by its path, so it imports only the standard library.
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

from typing_extensions import override


class Source(NamedTuple):
    """The file of a module, and its hash."""

    path: str
    """Its file; the folder of a package that has no `__init__.py`."""
    sha256: str
    """Hash of the file's bytes; empty for a folder without `__init__.py`."""
    is_package: bool


Sources = Mapping[str, Source]
"""Modules of a folder, by the names under which its own code imports them."""

MAX_LOADED_VERSIONS = 20
"""Versions of a folder that stay loaded: each edit of its code makes another one."""

_numbers = itertools.count(1)
_guard = threading.Lock()
_by_folder: dict[str, list["_Namespace"]] = {}
_by_prefix: dict[str, "_Namespace"] = {}


def load(module: str, folder: str, sources: Sources) -> ModuleType:
    """Import a module of a folder, with everything that it imports from there.

    Modules loaded from the same bytes are shared. If a file has changed since, all of `sources` are loaded again beside
    the old modules, which attempts may still use. Only the newest `MAX_LOADED_VERSIONS` can import further modules.

    Args:
        module: One of `sources`.
        sources: The module with every module of the folder that it imports.

    Raises:
        ImportError: If a file does not have the listed hash.
        Exception: Whatever its code raises.
    """
    with _guard:
        namespaces = _by_folder.setdefault(folder, [])
        namespace = next((candidate for candidate in reversed(namespaces) if candidate.matches(sources)), None)
        if namespace is None:
            namespace = _Namespace(folder)
            namespaces.append(namespace)
            while len(namespaces) > MAX_LOADED_VERSIONS:
                namespaces.pop(0).unload()
        namespace.sources.update(sources)
    return importlib.import_module(f"{namespace.prefix}.{module}")


class _Namespace:
    """The modules of one version of a folder."""

    def __init__(self, folder: str) -> None:
        self.sources: dict[str, Source] = {}
        self.prefix = f"team_folder_{next(_numbers)}"
        package = ModuleType(self.prefix, f"Modules of {folder}.")
        package.__path__ = []
        sys.modules[self.prefix] = package
        _by_prefix[self.prefix] = self
        # Modules look up `__import__` in their builtins: replacing it there affects the folder's code and nothing else.
        self.builtins = {**vars(builtins), "__import__": self._import}

    def matches(self, sources: Sources) -> bool:
        """Return whether no module of `sources` was loaded from other bytes."""
        return all(self.sources.get(name, source) == source for name, source in sources.items())

    def unload(self) -> None:
        """Drop the modules; code that still runs keeps what it has imported."""
        del _by_prefix[self.prefix]
        for name in [module for module in list(sys.modules) if module.partition(".")[0] == self.prefix]:
            del sys.modules[name]

    def spec(self, fullname: str, source: Source) -> ModuleSpec | None:
        """Return the import spec of a module; packages have an empty path, so other finders find nothing in them."""
        if not source.sha256:
            return ModuleSpec(fullname, None, is_package=True)
        if source.path.endswith(tuple(EXTENSION_SUFFIXES)):
            _read_checked(source)
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
        """Replace `__import__` for the modules of the folder: names of the folder are imported from there."""
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

    @override
    def get_code(self, fullname: str) -> CodeType:
        """Compile the bytes with the listed hash; cached bytecode is ignored, because nobody has checked it."""
        code: CodeType = compile(_read_checked(self._source), self._source.path, "exec", dont_inherit=True)
        return code

    @override
    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with the imports of its folder."""
        vars(module)["__builtins__"] = self._builtins
        super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds the modules of all namespaces, and nothing else."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import spec of a module of a team's folder; None for all others."""
        prefix, _, name = fullname.partition(".")
        namespace = _by_prefix.get(prefix)
        source = namespace.sources.get(name) if namespace is not None else None
        return namespace.spec(fullname, source) if namespace is not None and source is not None else None


def _read_checked(source: Source) -> bytes:
    """Return the bytes of a file.

    Raises:
        ImportError: If they do not have the listed hash.
    """
    with open(source.path, "rb") as file:  # noqa: PTH123 - child processes import as little as possible
        content = file.read()
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise ImportError(f"{source.path} has changed since it was looked at", path=source.path)
    return content


sys.meta_path.append(_Finder())
