"""Symbolic references: from a callable to `module:qualname`, and back.

A spec in the journal names code and never holds it. A callable that no other process can import (a lambda, a nested
function, a function of `__main__`) is *bound to this process*: it works until the process ends.
"""

import importlib
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.core.queries.team.code import function_name
from engine.core.specs.spec import BOUND
from engine.errors import BoundElsewhere, NotImported, Unusable
from engine.runtimes.functions.child import removed_code_hint
from engine.runtimes.functions.isolated import Sources, load

_numbers = itertools.count(1)


def reference_of(target: Callable[..., object]) -> str:
    """Return `module:qualname` if importing that gives `target` again, else a new reference bound to this process.

    Raises:
        Unusable: If it cannot be called.
    """
    if not callable(target):
        raise Unusable(f"{target!r:.80} cannot be called; give a function or its reference 'module:name'")
    module = getattr(target, "__module__", None) or ""
    qualname = getattr(target, "__qualname__", None) or ""
    # The name alone proves nothing: a decorated or replaced function has the name of another object.
    if module not in ("", "__main__") and qualname and _get_nested(sys.modules.get(module), qualname) is target:
        return f"{module}:{qualname}"
    name = (qualname or type(target).__name__).rpartition(".")[2].strip("<>")
    return f"{BOUND}{name}#{next(_numbers)}"


def is_bound(reference: str) -> bool:
    """Return True when `reference` is valid in one process only."""
    return reference.startswith(BOUND)


@dataclass(frozen=True, slots=True)
class Origin:
    """A reference, and the folder that it is imported from."""

    reference: str
    """`module:qualname`, of a trusted source."""
    folder: Path | None
    """Searched for code in addition to installed packages."""
    sources: Sources | None = None
    """The modules of `folder` that may be loaded: they take precedence over installed ones for this reference only.
    With None the folder is searched last, as for a program whose own code it is."""


def resolve(origin: Origin) -> Callable[..., Any]:
    """Import the callable of a reference. Blocks, and runs its module.

    Raises:
        BoundElsewhere: If it is bound to another program.
        NotImported: If its module is missing or fails; one line.
        Unusable: If it does not exist, cannot be imported or is not callable; one line.
    """
    reference, folder, sources = origin.reference, origin.folder, origin.sources
    if is_bound(reference):
        raise BoundElsewhere(function_name(reference))
    module_name, colon, qualname = reference.partition(":")
    if not colon or not module_name or not qualname:
        raise Unusable(f"{reference!r} is not a reference; write it as 'module:name'")
    if sources is None and folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
        importlib.invalidate_caches()
    module = _import_module(module_name, reference, folder, sources or {})
    target = _get_nested(module, qualname)
    if target is None:
        where = getattr(module, "__file__", None) or f"the module {module_name!r}"
        raise Unusable(f"{reference!r}: {where} has no {qualname!r}{removed_code_hint(module_name)}")
    if not callable(target):
        raise Unusable(f"{reference!r} is {_kind(target)}, which cannot be called")
    function: Callable[..., Any] = target
    return function


def _import_module(name: str, reference: str, folder: Path | None, sources: Sources) -> object:
    try:
        return load(name, str(folder), sources) if name in sources else importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            hint = removed_code_hint(error.name, "install it or put it beside the team")
            raise NotImported(f"{reference!r}: no module {error.name!r}{hint}") from error
        raise NotImported(f"{reference!r}: its import needs {error.name!r}, which is not installed") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module is the user's code: it may raise anything, SystemExit too
        first = (str(error).splitlines() or [""])[0][:200]
        raise NotImported(f"{reference!r}: its import failed: {type(error).__name__}: {first}") from error


def _get_nested(module: object, qualname: str) -> Any:
    target = module
    for name in qualname.split("."):
        target = getattr(target, name, None)
        if target is None:
            return None
    return target


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
