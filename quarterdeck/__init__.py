"""The public names of Quarterdeck: `from quarterdeck import DynamicSupervisor, AgentSpec`.

They are those of `engine.__all__`, each loaded on first use. `python -m quarterdeck` is the command line. No
other package here imports this one.
"""

import sys
from typing import TYPE_CHECKING, Any

from quarterdeck.shadowing import describe_shadowing

if _conflict := describe_shadowing("engine", "store"):
    if sys.argv[:1] == ["-m"]:  # `python -m` imports the package before it runs `__main__`, which could say it better
        sys.exit(f"quarterdeck: {_conflict}")
    raise ImportError(_conflict)

import engine

if TYPE_CHECKING:
    from engine import *  # noqa: F403  # what is exported is said by __all__, which checkers follow

__all__: list[str] = []
__all__ += engine.__all__


if not TYPE_CHECKING:  # a checker that sees it takes every misspelt name for Any

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        public_object = globals()[name] = getattr(engine, name)
        return public_object


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
