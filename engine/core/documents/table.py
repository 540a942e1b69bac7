"""Entities of one kind as a table, so that checks of a document can run over columns, which is fast."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, get_args

import msgspec
from msgspec.structs import astuple

from engine.core.records.records import field_names, fields
from engine.core.state import State


@dataclass(frozen=True, slots=True)
class EntityTable:
    """The entities of one class, by column."""

    kind: Any
    """Their class."""
    entities: list[Any]
    cells: list[Any] | None = None
    """The values of all fields, entity by entity."""

    @staticmethod
    def of(state: State, kind_name: str) -> "EntityTable":
        """Return the table of a field of the state that maps ids to entities, or lists them."""
        entities = getattr(state, kind_name)
        return EntityTable(_class_of(kind_name), [*(entities.values() if isinstance(entities, dict) else entities)])

    def with_all_cells(self) -> "EntityTable":
        """Return the table with all fields read at once, which is faster if most of them are needed."""
        return EntityTable(self.kind, self.entities, [*chain.from_iterable(map(astuple, self.entities))])

    def column(self, name: str) -> list[Any]:
        """Return the values of a field, in the order of the entities."""
        if self.cells is None:
            return [*map(attrgetter(name), self.entities)]
        column_names = field_names(self.kind)
        return self.cells[column_names.index(name) :: len(column_names)]

    def reset(self, derived: Iterable[str]) -> None:
        """Set the given fields to their defaults."""
        for name, entities in self.non_defaults(derived):
            default, make = _defaults(self.kind)[name]
            for entity in entities:
                setattr(entity, name, default if make is msgspec.NODEFAULT else make())

    def non_defaults(self, derived: Iterable[str]) -> Iterator[tuple[str, list[Any]]]:
        """Yield the given fields that differ from their default, with the entities that do."""
        for name in derived:
            default, column = default_of(self.kind, name), self.column(name)
            if column.count(default) < len(column):
                yield name, [entity for entity, value in zip(self.entities, column, strict=True) if value != default]


@cache
def _class_of(kind: str) -> Any:
    hint = next(field.type for field in fields(State) if field.name == kind)
    return get_args(hint)[-1]


def default_of(record: type, name: str) -> Any:
    """Return the default of a field of a record."""
    default, make = _defaults(record)[name]
    return default if make is msgspec.NODEFAULT else make()


@cache
def _defaults(record: type) -> dict[str, tuple[Any, Any]]:
    return {field.name: (field.default, field.default_factory) for field in fields(record)}
