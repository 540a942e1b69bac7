"""A scratch copy of the state, for commands that make several changes: all of them happen, or none.

Each change is decided on the state that the changes before it lead to.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Literal, TypeVar

from typing_extensions import override

from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import stamp
from engine.core.events import Event
from engine.core.fold import apply
from engine.core.queries.targets import member_with
from engine.core.queries.team.declared import as_json
from engine.core.queries.team.team_plan import ChangeKind, FieldDifference, MemberChange
from engine.core.queries.team.tree import lineage_of, parent_of
from engine.core.records.records import Entity, Tally, field_names
from engine.core.specs.spec import AgentSpec
from engine.core.state import State

T = TypeVar("T")


class Scratch:
    """The events decided so far, and a copy of the state with these folded into it."""

    def __init__(self, state: State, ctx: DecisionContext) -> None:
        self.state = scratch_of(state)
        self.events: list[Event] = []
        self._ctx = ctx

    def take(self, events: Sequence[Event]) -> None:
        """Fold events into the copy."""
        for event in stamp(self.state, events, self._ctx.now_ms):
            apply(self.state, event)
        self.events += events


def scratch_of(state: State) -> State:
    """Return a copy of `state` that can be folded on.

    Entities are copied on first access: a swap of two agents among ten thousand tasks copies few of them.
    """
    scratch = State()
    for name in field_names(State):
        value = getattr(state, name)
        if isinstance(value, OrderedDict | list):  # ids, summaries and outcomes: their elements never change in place
            value = type(value)(value)
        else:
            value = _Copies(value) if isinstance(value, dict) else _copy_value(value)
        setattr(scratch, name, value)
    return scratch


class _Copies(dict[str, T]):
    """Entities of another state, copied on first access."""

    __slots__ = ("_shared",)

    def __init__(self, originals: dict[str, T]) -> None:
        super().__init__(dict.items(originals))
        self._shared = set(originals)

    @override
    def __getitem__(self, key: str) -> T:
        if key in self._shared:
            self[key] = _copy_value(super().__getitem__(key))
        return super().__getitem__(key)

    @override
    def __setitem__(self, key: str, value: T) -> None:
        self._shared.discard(key)
        super().__setitem__(key, value)

    @override
    def __delitem__(self, key: str) -> None:
        self._shared.discard(key)
        super().__delitem__(key)

    @override
    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401  # this is `get`

    @override
    def pop(self, key: str, *default: Any) -> Any:
        self.get(key)
        self._shared.discard(key)
        return super().pop(key, *default)

    @override
    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    @override
    def values(self) -> Iterator[T]:  # type: ignore[override]  # all that its callers use of a view
        return (self[key] for key in list(self))

    @override
    def items(self) -> Iterator[tuple[str, T]]:  # type: ignore[override]
        return ((key, self[key]) for key in list(self))


_IMMUTABLE = (int, str, tuple, type(None))
"""Types that never change in place: a container whose first element is one of them is copied shallowly."""


def _copy_value(value: Any) -> Any:
    """Return a copy of `value` that shares no mutable part with it."""
    kind = type(value)
    if kind is dict or kind is OrderedDict:
        is_plain = isinstance(next(iter(value.values()), None), _IMMUTABLE)
        return kind(value) if is_plain else kind((key, _copy_value(each)) for key, each in value.items())
    if kind is list:
        return list(value) if isinstance(next(iter(value), None), _IMMUTABLE) else [_copy_value(each) for each in value]
    if not isinstance(value, Entity | Tally):
        return value
    clone = copy(value)
    for name in field_names(kind):
        setattr(clone, name, _copy_value(getattr(value, name)))
    return clone


class ReportingScratch(Scratch):
    """A scratch state that also notes for a person what changes, and what differs and is left as it is."""

    def __init__(self, state: State, ctx: DecisionContext) -> None:
        super().__init__(state, ctx)
        self.changes: list[MemberChange] = []

    def note(
        self,
        change: ChangeKind,
        member_id: str | None,
        *,
        path: str | None = None,
        to: str | None = None,
        fields: Sequence[FieldDifference] = (),
        since: Literal["declared", "current"] | None = None,
        subject: Literal["agent", "supervisor"] | None = None,
    ) -> None:
        """Note a change of a member, or of one that is not added, named by `path` and `subject`."""
        is_agent = member_id in self.state.agents
        self.changes.append(
            MemberChange(
                change=change,
                subject=subject or ("agent" if is_agent else "supervisor"),
                id=member_id,
                path=path or self.path_of(member_id or ""),
                to=to,
                fields=list(fields),
                since=since,
            )
        )

    def path_of(self, member_id: str) -> str:
        """Return the names from the root down to a member."""
        member = member_with(self.state, member_id)
        parent = parent_of(self.state, member)
        names = [] if parent is None else [supervisor.name for supervisor in lineage_of(self.state, parent)]
        return "/".join([member.name, *names][::-1])


def differences(was: AgentSpec, now: AgentSpec) -> list[FieldDifference]:
    """Return the fields in which two specs differ, besides the name."""
    return [
        FieldDifference(field=name, was=as_json(getattr(was, name)), now=as_json(getattr(now, name)))
        for name in field_names(AgentSpec)
        if name != "name" and getattr(was, name) != getattr(now, name)
    ]
