"""The code that specs refer to: found where it may be used, and the means to run it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engine.core.spec import AgentSpec
from engine.errors import Unusable
from engine.references import name_of, resolve
from engine.runtimes.processes import Processes
from engine.runtimes.threads import Threads


class Code:
    """Loads callables by reference: those that the program passed, and those that the operator trusts.

    Args:
        bound: Callables of this process, by reference.
        is_trusted: Tells whether a reference may be imported.
        folder: Searched after the installed packages.
        threads: For imports, and for plain functions.
        processes: For functions that compute.
    """

    def __init__(
        self,
        *,
        bound: Mapping[str, Callable[..., Any]],
        is_trusted: Callable[[str], bool],
        folder: Path | None,
        threads: Threads,
        processes: Processes,
    ) -> None:
        self._bound = bound
        self._is_trusted = is_trusted
        self.folder = folder
        self.threads = threads
        self.processes = processes

    def allow(self, reference: str) -> None:
        """Pass where `reference` may be used.

        Raises:
            Unusable: If the operator has not allowed it.
        """
        if reference not in self._bound and not reference.startswith("bound:") and not self._is_trusted(reference):
            raise Unusable(f"{reference!r} is not trusted; allow it with: quarterdeck trust, or --trust")

    async def load(self, reference: str) -> Callable[..., Any]:
        """Return the callable; its module is imported in a thread.

        Raises:
            Unusable: If it is not trusted, not there or not callable; one line.
        """
        if reference in self._bound:
            return self._bound[reference]
        self.allow(reference)
        return await self.threads.run(partial(resolve, reference, self.folder))

    async def load_tools(self, spec: AgentSpec) -> dict[str, Callable[..., Any]]:
        """Return the tools of a spec by the names they are called by; what is a mere name has no code here.

        Raises:
            Unusable: As `load`, and where two tools have one name.
        """
        tools: dict[str, Callable[..., Any]] = {}
        for reference in spec.tools:
            if not isinstance(reference, str) or ":" not in reference:
                continue
            name = name_of(reference)
            if name in tools:
                raise Unusable(f"agent {spec.name!r} has two tools named {name!r}")
            tools[name] = await self.load(reference)
        return tools
