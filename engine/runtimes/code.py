"""The code that specs refer to: found where it may be used, and the means to run it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engine.core.spec import AgentSpec
from engine.errors import Unusable
from engine.references import Origin, is_bound, name_of, resolve
from engine.runtimes.isolated import Sources
from engine.runtimes.processes import Processes
from engine.runtimes.programs.watched import Watched
from engine.runtimes.threads import Threads


class Code:
    """Loads callables by reference: those that the program passed, and those that may be imported.

    Args:
        bound: Callables of this process, by reference.
        sources: Returns the modules that a reference may be imported from, or None where the interpreter finds it as
            it finds the program's own; raises `Unusable` where it may not be imported. Blocks.
        folder: Where code stands besides what is installed.
        threads: For imports, and for plain functions.
        processes: For functions that compute.
        programs: For programs of others.
    """

    def __init__(
        self,
        *,
        bound: Mapping[str, Callable[..., Any]],
        sources: Callable[[str], Sources | None],
        folder: Path | None,
        threads: Threads,
        processes: Processes,
        programs: Watched,
    ) -> None:
        self._bound = bound
        self._sources = sources
        self.folder = folder or Path.cwd()
        """Where what the team's specs name is looked for."""
        self._folder = folder
        self.threads = threads
        self.processes = processes
        self.programs = programs

    async def locate(self, reference: str) -> Origin:
        """Return where a reference is imported from.

        Raises:
            Unusable: If it may not be imported; one line.
        """
        sources = None if is_bound(reference) else await self.threads.run(partial(self._sources, reference))
        return Origin(reference, self._folder, sources)

    async def load(self, reference: str) -> Callable[..., Any]:
        """Return the callable; its module is imported in a thread.

        Raises:
            Unusable: If it may not be imported, is not there or not callable; one line.
        """
        if reference in self._bound:
            return self._bound[reference]
        return await self.threads.run(partial(resolve, await self.locate(reference)))

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
