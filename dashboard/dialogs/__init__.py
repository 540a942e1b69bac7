"""Dialogs that confirm a change, a file for each subject, loaded on first use: `dialogs.swap.SwapDialog`."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from engine.platform.strategies_plugins import installed_strategies

if TYPE_CHECKING:
    from dashboard.dialogs import (
        answer,
        bulk,
        dialog,
        edit,
        engine,
        entry,
        files,
        fork,
        jump,
        line,
        members,
        request,
        strategy,
        swap,
    )

_FILES = sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))


def __getattr__(name: str) -> ModuleType:
    if name not in _FILES:
        raise AttributeError(name)
    installed_strategies()  # dialogs offer plugins, too
    return import_module(f"{__name__}.{name}")


def load() -> None:
    """Load all dialogs in advance, so that the first one opens at once."""
    for name in _FILES:
        __getattr__(name)
