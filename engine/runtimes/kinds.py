"""What a kind of agent takes: its options, and the keys of a spec that it has no use for.

Rule: an accepted key has an effect. Each runtime declares its kinds in the file that `catalogue` names; keys that no
kind lists are handled by the engine for every agent. `tests/contract/test_accepted_keys.py` names a test of the effect
of each key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable

if TYPE_CHECKING:
    from pydantic import BaseModel

Place: TypeAlias = tuple[str | int, ...]


class SpecBlock(Protocol):
    """A spec, or the block of a team file for one."""

    run: Any
    run_in: Any
    model: Any
    instructions: str
    approve: Any
    mcp: Any
    options: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKind:
    """The declaration of a kind of agent, beside its runtime."""

    words: str
    """The kind as messages name it, such as `a scripted agent`."""
    factory: str
    """The function that makes its runtime, as `module:function`; imported when the first such agent is made."""
    options: "type[BaseModel] | None" = None
    """The record of its `options`; None if they are data of the agent's author."""
    options_hint: str = ""
    """What to write where it has no options and cannot do without."""
    unused: tuple[str, ...] = ()
    """Keys of a spec without effect."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """What to do instead of giving such a key."""
    unused_by_others: Callable[[SpecBlock], Iterable[tuple[Place, str]]] | None = None
    """Yields what has no effect because of other keys, as `unused_keys` does."""

    def unused_keys(self, keys: SpecBlock) -> Iterator[tuple[Place, str]]:
        """Yield the place and the fault of each given key that would have no effect.

        Args:
            keys: The spec of an agent, or its block of a team file.
        """
        for key in self.unused:
            if getattr(keys, key) not in (getattr(_default_spec(), key), []):
                hint = f", or {self.hints[key]}" if key in self.hints else ""
                yield (key,), f"does nothing for {self.words}; leave it out{hint}"
        if self.unused_by_others is not None:
            yield from self.unused_by_others(keys)

    def check_keys(self, spec: AgentSpec) -> None:
        """Refuse a spec with a key that would have no effect.

        Raises:
            Unusable: The first such key, in one line.
        """
        for place, text in self.unused_keys(spec):
            raise Unusable(f"agent {spec.name!r}: {'.'.join(map(str, place))} {text}")


@cache
def _default_spec() -> AgentSpec:
    return AgentSpec(name="none")
