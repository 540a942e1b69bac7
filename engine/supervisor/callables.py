"""The callables that a program passes, and the references that stand for them in the journal.

A reference that is bound to this process means the same everywhere in it: a state that one supervisor gave out works
in another. One of a process that has ended never comes to mean something else.
"""

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from engine.core.spec import AgentSpec
from engine.references import is_bound, reference_of

Call: TypeAlias = Callable[..., Any]

_OF_THIS_PROCESS: WeakValueDictionary[str, Call] = WeakValueDictionary()
"""What any supervisor of this process was given, for as long as somebody holds it."""
_NUMBER = re.compile(r"#[^#]*$")
_PROCESS = secrets.token_hex(3)
"""Tells bound references of this process from those that another one left in a file or a state."""


def given_here(reference: str) -> Call | None:
    """Return the callable that a program of this process passed under `reference`; None if there was none."""
    return _OF_THIS_PROCESS.get(reference)


class Callables:
    """What one supervisor, with everything under it, was given."""

    def __init__(self) -> None:
        self.by_reference: dict[str, Call] = {}
        self._references: dict[Call, str] = {}

    def referred(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with references in place of callables.

        Raises:
            Unusable: If something in it cannot be called.
        """
        tools = tuple(self._reference(tool) for tool in spec.tools)
        return replace(spec, run=None if spec.run is None else self._reference(spec.run), tools=tools)

    def in_place_of(self, spec: AgentSpec, present: AgentSpec) -> AgentSpec:
        """Return `spec` with references; or `present` itself, where only the numbers of bound callables differ.

        Then the callables of `spec` take the places of those that ended with their process.
        """
        wanted = self.referred(spec)
        if _unnumbered(wanted) != _unnumbered(present):
            return wanted
        for mine, theirs in zip(references_of(wanted), references_of(present), strict=True):
            if mine != theirs:
                self._bind(theirs, self.by_reference[mine])
        return present

    def restored(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables that this program passed in place of their references."""
        return replace(spec, run=self._restored(spec.run), tools=tuple(self._restored(tool) for tool in spec.tools))

    def adopt(self, reference: str) -> bool:
        """Take over a callable that another supervisor of this process was given; False if there is none."""
        call = given_here(reference)
        if call is not None:
            self._bind(reference, call)
        return call is not None or reference in self.by_reference

    def take_over(self, other: "Callables") -> None:
        """Know all that `other` knows."""
        for reference, call in other.by_reference.items():
            self._bind(reference, call)

    def _reference(self, value: str | Call) -> str:
        if isinstance(value, str):
            return value
        known = self._references.get(value) if _is_hashable(value) else None
        if known is not None:
            return known
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

    def _restored(self, value: Any) -> Any:
        return self.by_reference.get(value, value) if isinstance(value, str) else value


def references_of(spec: AgentSpec) -> Iterator[str]:
    """Yield every reference of a spec that holds no callables, `run` first."""
    if isinstance(spec.run, str):
        yield spec.run
    yield from (tool for tool in spec.tools if isinstance(tool, str))


def _unnumbered(spec: AgentSpec) -> AgentSpec:
    def plain(value: Any) -> Any:
        return _NUMBER.sub("", value) if isinstance(value, str) and is_bound(value) else value

    return replace(spec, run=plain(spec.run), tools=tuple(map(plain, spec.tools)))


def _is_hashable(call: Call) -> bool:
    try:
        hash(call)
    except TypeError:
        return False
    return True
