"""The pool of runtimes: one for each spec in use, created when it is first needed."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from engine.core.effects import CheckAgent, StartAttempt
from engine.core.signals import AgentUnusable
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.errors import BoundElsewhere, CodeChanged, Unusable
from engine.host.trusting import Trusting
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.base import Factory, Runtime
from engine.runtimes.catalogue import factory_for, is_loaded, load
from engine.runtimes.code import Code
from engine.runtimes.functions.processes import Processes
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.toolbox.tool_cache import ToolCache
from engine.runtimes.values import with_class

MAX_UNUSED_RUNTIMES = 64
"""Runtimes of unused specs that may gather before they are dropped together."""
_path = lru_cache(maxsize=8)(Path)
"""Cached: every attempt needs the folder, and building a path is slow."""


class RuntimePool:
    """Runtimes, keyed by the content hash of their spec.

    Args:
        runtimes: Runtime factories by agent type.
        bound: Callables of this process, by reference; may grow.
        state: Returns the present state.
        folder: Folder of the agents if no team file sets it.
        trusting: Decides what may be imported.
        threads: Threads for blocking code.
        processes: Child processes for `run_in: process`.
        programs: External programs.
        start: Starts a task that outlives the attempts that wait for a runtime.
    """

    def __init__(
        self,
        *,
        runtimes: Mapping[str, Factory],
        bound: Mapping[str, Callable[..., Any]],
        state: Callable[[], State],
        folder: Path | None,
        trusting: Trusting,
        threads: Threads,
        processes: Processes,
        programs: Programs,
        start: Callable[..., object],
    ) -> None:
        self._factories = runtimes
        self._bound = bound
        self._state = state
        self._folder = folder
        self._trusting = trusting
        self._threads = threads
        self._processes = processes
        self._programs = programs
        self._start = start
        self._tool_cache = ToolCache(start)
        self._ready: dict[str, Runtime] = {}
        self._waiting: dict[str, list[Pending[Runtime]]] = {}
        """Waiters for runtimes that are being made."""

    @property
    def folder(self) -> Path | None:
        """The team's folder."""
        team = self._state().team
        return _path(team.folder) if team is not None else self._folder

    def spec(self, spec_hash: str) -> AgentSpec:
        """Return the spec with a content hash; raises Unusable if the spec is no longer in use."""
        spec = self._state().specs.get(spec_hash)
        if spec is None:
            raise Unusable("its spec is not in use any more")
        return spec

    @property
    def bindings(self) -> int:
        """Number of registered callables of this process."""
        return len(self._bound)

    def ready(self, spec_hash: str) -> Runtime | None:
        """Return the runtime of a spec if it exists already."""
        return self._ready.get(spec_hash)

    def forget(self, spec_hashes: Iterable[str]) -> None:
        """Drop runtimes: later attempts get new ones, attempts at work keep theirs."""
        for spec_hash in spec_hashes:
            self._ready.pop(spec_hash, None)
            # A runtime in the making counts as old as well: `_end_wait` finds its list gone and does not publish it.
            self._waiting.pop(spec_hash, None)

    async def prepare(self, spec_hash: str, spec: AgentSpec | None = None) -> Runtime:
        """Return the runtime of a spec, creating it if necessary; concurrent callers share one creation.

        Args:
            spec_hash: Content hash of the spec.
            spec: The spec itself, if it may no longer be in the state; None looks it up.

        Raises:
            Unusable: If it cannot be created, in one line. The next call tries again.
        """
        if spec_hash in self._ready:
            return self._ready[spec_hash]
        spec = spec or self.spec(spec_hash)
        if spec_hash not in self._waiting:
            self._waiting[spec_hash] = []
            # In a task of its own: a caller may be cancelled while others wait for the same runtime.
            self._start(self._make, spec_hash, spec, self._waiting[spec_hash])
        pending: Pending[Runtime] = Pending()
        self._waiting[spec_hash].append(pending)
        return await pending.wait()

    async def _make(self, spec_hash: str, spec: AgentSpec, waiting: list[Pending[Runtime]]) -> None:
        bindings = self.bindings
        try:
            runtime = await self._make_runtime(spec)
        except Unusable as unusable:
            if self.bindings != bindings:  # the program has bound more callables meanwhile
                await self._make(spec_hash, spec, waiting)
                return
            self._end_wait(spec_hash, waiting)
            for pending in waiting:
                pending.fail(unusable)
            return
        if self._end_wait(spec_hash, waiting):
            self._sweep()
            self._ready[spec_hash] = runtime
        for pending in waiting:
            pending.put(runtime)

    def _end_wait(self, spec_hash: str, waiting: list[Pending[Runtime]]) -> bool:
        """End the wait for a runtime; False if the runtime was dropped while it was being created."""
        is_current = self._waiting.get(spec_hash) is waiting
        if is_current:
            del self._waiting[spec_hash]
        return is_current

    async def _make_runtime(self, spec: AgentSpec) -> Runtime:
        agent_type = spec.agent_type or ""
        try:
            # In a thread: the import of the first agent of a kind would keep the loop from everything else.
            if not is_loaded(agent_type):
                await self._threads.run(partial(load, agent_type))
            runtime = factory_for(agent_type, self._factories)(spec, self._code())
            await runtime.check()
        except Unusable:
            raise
        except Exception as error:  # a runtime of the user's own may raise anything
            raise Unusable(with_class(error)) from error
        return runtime

    def _code(self) -> Code:
        return Code(
            bound=self._bound,
            sources=self._trusting.sources,
            folder=self._trusting.folder,
            threads=self._threads,
            processes=self._processes,
            programs=self._programs,
            tool_cache=self._tool_cache,
        )

    def _sweep(self) -> None:
        specs = self._state().specs
        if len(self._ready) > len(specs) + MAX_UNUSED_RUNTIMES:
            self._ready = {spec: runtime for spec, runtime in self._ready.items() if spec in specs}


def unusable_agent(effect: CheckAgent | StartAttempt, unusable: Unusable) -> AgentUnusable:
    """Return the signal that the runtime of an agent could not be created."""
    return AgentUnusable(
        agent_id=effect.agent_id,
        generation=effect.generation,
        error=unusable.reason,
        away=isinstance(unusable, BoundElsewhere | CodeChanged),
    )
