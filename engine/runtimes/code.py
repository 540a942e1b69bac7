"""Loads the code that specs refer to, if it is trusted, and offers the means to run it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engine.core.errors import Refused
from engine.core.specs.approval import check_ruled_tools
from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.runtimes.functions.isolated import Sources
from engine.runtimes.functions.processes import Processes
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.tool_cache import ToolCache
from engine.trusted_code.references import Origin, is_bound, resolve


class Code:
    """Loads callables by reference: bound by the program, or imported.

    Args:
        bound: Callables of this process, by reference.
        sources: Returns the sources that a reference is imported from, or None for an ordinary import; raises
            `Unusable` if the reference is not trusted. Blocks.
        folder: Folder that is searched for code besides installed packages.
        threads: Threads for imports and plain functions.
        processes: Child processes for `run_in: process`.
        programs: External programs.
        tool_cache: The engine's cache of tools; None starts an empty one, which cannot start servers.
    """

    def __init__(
        self,
        *,
        bound: Mapping[str, Callable[..., Any]],
        sources: Callable[[str], Sources | None],
        folder: Path | None,
        threads: Threads,
        processes: Processes,
        programs: Programs,
        tool_cache: ToolCache | None = None,
    ) -> None:
        self._bound = bound
        self._sources = sources
        self.folder = folder or Path.cwd()
        """Folder in which files that specs name are searched."""
        self._folder = folder
        self.threads = threads
        self.processes = processes
        self.programs = programs
        self._tool_cache = tool_cache or ToolCache(_start_nothing)
        self.servers = self._tool_cache.servers

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

    async def load_tools(self, spec: AgentSpec, *, described: bool = False) -> dict[str, FunctionTool]:
        """Return the tools of a spec by name; entries that are not references are skipped.

        Args:
            spec: The spec that names them.
            described: Also build their schemas, for a model.

        Raises:
            Unusable: As `load`; if two tools have the same name; if a tool cannot be described.
        """
        tools: dict[str, FunctionTool] = {}
        for reference in spec.tools:
            if not isinstance(reference, str) or ":" not in reference:
                continue
            tool = self._tool_cache.tool(reference, await self.load(reference))
            if tool.name in tools:
                raise Unusable(
                    f"agent {spec.name!r} has two tools named {tool.name!r}; give one another with @tool(name=...)"
                )
            tools[tool.name] = tool
        _check_approvals(spec, tools)
        if described:
            await self.threads.run(partial(_describe, list(tools.values())))
        return tools


def _start_nothing(function: Callable[..., Any], /, *args: object) -> None:
    """Refuse to start a server: without an engine, code is only inspected."""


def _check_approvals(spec: AgentSpec, tools: Mapping[str, FunctionTool]) -> None:
    try:
        check_ruled_tools(spec.approve, tools, spec.mcp, spec.may)
    except Refused as refused:
        raise Unusable(f"agent {spec.name!r}: {refused.reason}") from refused


def _describe(tools: list[FunctionTool]) -> None:
    for tool in tools:
        tool.describe()
