"""The callables of a program, their references in the journal, and checks of their usability.

A bound reference is valid in the whole process, so that a state of one supervisor works in another. It contains a
random part, so that a reference of an ended process never names something else.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from engine.core.queries.team.code import is_imported, references_of
from engine.core.records.records import copy_with
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.runtimes.base import Runtime
from engine.runtimes.catalogue import built_in, factory_for
from engine.runtimes.code import Code
from engine.runtimes.functions.processes import Processes
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from engine.trusted_code.references import Origin, is_bound, reference_of, resolve

Call: TypeAlias = Callable[..., Any]

_OF_THIS_PROCESS: WeakValueDictionary[str, Call] = WeakValueDictionary()
"""Callables given to any supervisor of this process, while they are alive."""
_NUMBER = re.compile(r"#[^#]*$")
_PROCESS = secrets.token_hex(3)
"""Distinguishes bound references of this process from those of other processes in a file or a state."""


class Callables:
    """Callables of one supervisor and everything under it."""

    def __init__(self) -> None:
        self.by_reference: dict[str, Call] = {}
        self._references: dict[Call, str] = {}

    def with_references(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with references in place of callables; raises Unusable if something in it cannot be called."""
        return _change_code(spec, self._reference)

    def with_toolsets(self, options: SupervisorOptions, present: SupervisorOptions | None) -> SupervisorOptions:
        """Return settings with references in place of the callables in their toolsets, as `rebind` does."""
        toolsets: dict[str, list[Any]] = {}
        for name, tools in options.toolsets.items():
            new_references: list[Any] = [*map(self._reference, tools)]
            references = [*present.toolsets.get(name, ())] if present is not None else []
            if [*map(_strip_number, new_references)] == [*map(_strip_number, references)]:
                self._rebind_all(new_references, references)
                toolsets[name] = references
            else:
                toolsets[name] = new_references
        return copy_with(options, toolsets=toolsets) if toolsets else options

    def with_callables(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables that this program passed in place of their references."""
        return _change_code(
            spec, lambda value: self.by_reference.get(value, value) if isinstance(value, str) else value
        )

    def rebind(self, spec: AgentSpec, present: AgentSpec) -> AgentSpec:
        """Return `spec` with references; or `present`, if only the numbers of bound callables differ.

        In that case the callables of `spec` replace those of the ended process, and no swap is needed.
        """
        new_spec = self.with_references(spec)
        if _change_code(new_spec, _strip_number) != _change_code(present, _strip_number):
            return new_spec
        self._rebind_all((new_spec.run, *new_spec.tools), (present.run, *present.tools))
        return present

    def _rebind_all(self, new_references: Sequence[Any], references: Sequence[Any]) -> None:
        for new_reference, reference in zip(new_references, references, strict=True):
            if new_reference != reference:
                self._bind(str(reference), self.by_reference[str(new_reference)])

    def adopt(self, reference: str) -> bool:
        """Adopt a callable of another supervisor of this process; return False if there is none."""
        call = _OF_THIS_PROCESS.get(reference)
        if call is not None:
            self._bind(reference, call)
        return reference in self.by_reference

    def adopt_all(self, other: "Callables") -> None:
        """Adopt all callables of `other`."""
        for reference, call in other.by_reference.items():
            self._bind(reference, call)

    # A running team puts an agent that cannot work into error and waits for a person; a program gets the error at once.

    def check_kind(self, spec: AgentSpec) -> None:
        """Check all of a spec that can be checked without waiting.

        Raises:
            UnknownRuntime: If nothing is registered for its agent type.
            Unusable: If its runtime cannot take it.
        """
        self._runtime(self.with_references(spec), Threads())

    def check_code(self, spec: AgentSpec) -> None:
        """Import the code of a spec, except code for child processes; raises Unusable if it cannot be called."""
        for reference in references_of(self.with_references(spec)) if spec.run_in != "process" else ():
            if reference not in self.by_reference and is_imported(reference):
                resolve(Origin(reference, Path.cwd()))

    async def check_usable(self, spec: AgentSpec, processes: Processes | None = None) -> None:
        """Check a spec and its code; code for child processes is imported in one of `processes`.

        Raises:
            UnknownRuntime, Unusable: As `check_kind`, and where the code is not there or cannot be called as an agent.
        """
        with closing(Threads()) as threads:
            await self._runtime(spec, threads, processes).check()

    def _runtime(self, spec: AgentSpec, threads: Threads, processes: Processes | None = None) -> Runtime:
        code = Code(
            bound=self.by_reference,
            sources=lambda reference: None,
            folder=Path.cwd(),
            threads=threads,
            processes=processes or Processes(),
            programs=Programs(),
        )
        return factory_for(spec.agent_type or "", built_in())(spec, code)

    def _reference(self, value: str | Call) -> str:
        if isinstance(value, str):
            return value
        earlier_reference = self._references.get(value) if _is_hashable(value) else None
        if earlier_reference is not None:
            return earlier_reference
        reference = reference_of(value)
        if is_bound(reference):
            reference = f"{reference}-{_PROCESS}"
        self._bind(reference, value)
        return reference

    def _bind(self, reference: str, call: Call) -> None:
        self.by_reference[reference] = call
        if _is_hashable(call):
            self._references[call] = reference
        with suppress(TypeError):  # some callables cannot be referred to weakly
            _OF_THIS_PROCESS[reference] = call


def _change_code(spec: AgentSpec, change: Callable[[Any], Any]) -> AgentSpec:
    """Return `spec` with each of its callables or references changed."""
    return copy_with(spec, run=None if spec.run is None else change(spec.run), tools=tuple(map(change, spec.tools)))


def _strip_number(value: Any) -> Any:
    return _NUMBER.sub("", value) if isinstance(value, str) and is_bound(value) else value


def _is_hashable(call: Call) -> bool:
    try:
        hash(call)
    except TypeError:
        return False
    return True
