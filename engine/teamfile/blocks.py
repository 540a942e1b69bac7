"""Makes the blocks of a team file from the records of the core, with the same keys, types, bounds and defaults.

A block of one record is converted to that record, whose refusals become errors of the block. Differences between file
and record are declared in `policies` and `schema`.
"""

import inspect
import types
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache, partial, reduce
from operator import or_
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import NODEFAULT
from msgspec.structs import FieldInfo
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, StringConstraints, create_model
from pydantic.fields import FieldInfo as KeyInfo

from engine.core.records.records import JsonValue, field_names, fields
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Means, rule_for
from engine.platform.field_docstrings import field_docstrings

REFERENCE_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"

Reference = Annotated[str, StringConstraints(pattern=REFERENCE_PATTERN, max_length=500)]
"""`module:qualname`."""
FILE_TYPES: dict[Any, Any] = {}
"""Type in a team file of a record or a union of records, if it is not simply a block of the same keys."""


def _describe(schema: dict[str, Any], model: type["Block"]) -> None:
    """Describe the keys of a block by the docstrings of their fields."""
    for name, key in schema.get("properties", {}).items():
        if text := _descriptions(model).get(name):
            key["description"] = text


class Block(BaseModel):
    """A block of keys; unknown keys and other types are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, defer_build=True, json_schema_extra=_describe
    )
    records: ClassVar[tuple[type, ...]] = ()
    """The records whose fields are its keys."""

    if TYPE_CHECKING:  # type checkers do not know the keys that come from records

        def __getattr__(self, name: str) -> Any: ...


BlockT = TypeVar("BlockT", bound=Block)


def keys_of(
    *records: Any, leave: Container[str] = (), first: Iterable[str] = ()
) -> Callable[[type[BlockT]], type[BlockT]]:
    """Add the fields of records to a block as keys; keys that the block declares itself take precedence.

    Args:
        records: Classes of records.
        leave: Fields to leave out.
        first: Keys at the beginning of the block, in order; the others follow in the order of their declaration.
    """

    def with_keys(block: type[BlockT]) -> type[BlockT]:
        keys = {key: form for record in records for key, form in _keys(record, leave)}
        keys |= {key: (_file_type(hint), block.model_fields[key]) for key, hint in block.__annotations__.items()}
        ordered: Any = {key: keys[key] for key in dict.fromkeys([*first, *keys])}
        base = cast(type[BlockT], block.__base__)
        model = create_model(
            block.__name__, __base__=base, __module__=block.__module__, __doc__=block.__doc__, **ordered
        )
        model.records = records
        return model

    return with_keys


@cache
def block_of(record: Any) -> type[Block]:
    """Return the block that has the fields of a record as its keys."""
    text = inspect.cleandoc(record.__doc__ or "").partition("\n\n")[0]
    keys: Any = dict(_keys(record))
    name = f"{record.__name__.removesuffix('Spec')}Block"
    model = create_model(name, __base__=Block, __module__=__name__, __doc__=text, **keys)
    model.records = (record,)
    return model


def as_record(record: Any) -> Any:
    """Return the type in a team file for a record: its block, which is converted to the record."""
    return Annotated[block_of(record), AfterValidator(partial(_record_of, record))]


def _record_of(record: Any, block: Block) -> Any:
    return record(**{name: getattr(block, name) for name in field_names(record)})


def _keys(record: Any, leave: Container[str] = ()) -> Iterator[tuple[str, tuple[Any, KeyInfo]]]:
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        if field.name not in leave:
            yield field.name, (_file_type(hints[field.name]), _default(field))


def _default(field: FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return Field(default_factory=field.default_factory)
    if field.default == ():
        return Field(default_factory=list)
    return Field() if field.default is NODEFAULT else Field(default=field.default)


def _file_type(hint: Any) -> Any:
    """Return the type in a team file for the type of a field."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in FILE_TYPES:
        return FILE_TYPES[hint]
    if inspect.isclass(hint) and issubclass(hint, ValidatedRecord):
        return as_record(hint)
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return Literal[tuple(choice.value for choice in hint)]  # the record makes members of the texts
    if origin is Annotated and isinstance(args[1], Means):
        return Reference
    if hint is JsonValue:
        return Annotated[hint, AfterValidator(rule_for(hint).check)]
    if origin is Annotated and args[0] is Decimal:  # YAML has no decimals; pydantic would accept any number of digits
        return Annotated[hint, Strict(False), AfterValidator(rule_for(hint).check)]
    if origin is Annotated:
        return Annotated[(_file_type(args[0]), *args[1:])]
    if origin in (Sequence, tuple, list):
        return types.GenericAlias(list, (_file_type(args[0]),))
    if origin in (Mapping, dict):
        return types.GenericAlias(dict, (_file_type(args[0]), _file_type(args[1])))
    return reduce(or_, map(_file_type, args)) if origin in (Union, types.UnionType) else hint


def blocks_in(hint: Any) -> list[type[BaseModel]]:
    """Return the models of the blocks that a type allows, also in lists and mappings."""
    if inspect.isclass(hint) and issubclass(hint, BaseModel):
        return [hint]
    return [block for arg in get_args(hint) for block in blocks_in(arg)]


@cache
def _descriptions(block: type[Block]) -> dict[str, str]:
    """Return the docstrings of the keys of a block: its own, or those of its records."""
    texts: dict[str, str] = {}
    for base in (base for base in reversed(block.__mro__) if issubclass(base, Block)):
        for cls in (*vars(base).get("records", ()), base):
            texts |= field_docstrings(cls)
    return texts
