"""Checks that the packages to import are Quarterdeck's: a user's own `engine` or `store` could shadow them."""

import sys
from importlib.util import find_spec
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def describe_shadowing(*names: str) -> str | None:
    """Return one line about the first of our packages that another module hides; None where all are ours.

    Nothing is imported. A module that was imported before counts as what it is.
    """
    for name in names:
        place = _place(name)
        if place is None or Path(place).resolve() != _ROOT / name / "__init__.py":
            return (
                f"{place or f'something named {name!r}'} takes the place of quarterdeck's own package {name!r}; "
                "rename it, or take its folder off sys.path (PYTHONPATH, or the folder of the program)"
            )
    return None


def _place(name: str) -> str | None:
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    spec = find_spec(name)
    return spec.origin if spec is not None else None
