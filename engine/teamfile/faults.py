"""Turns validation errors into messages with line and field, and extracts the valid part of a faulty file.

The valid part is checked further, so that all faults are reported in one run. List items keep their indices, by which
faults are located.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from engine.core.errors import BadValue
from engine.core.validation.rules import InvalidValue
from engine.teamfile.blocks import blocks_in
from engine.teamfile.document import MAX_PROBLEMS, FileFault, Loc, YamlDocument, describe_value, printable, suggest
from engine.teamfile.schema import LATER_KEYS, TeamDocument

_WRONG_TYPE = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list, such as [a, b]",
    "tuple_type": "a list, such as [a, b]",
    "dict_type": "a block of keys",
    "model_type": "a block of keys",
    "model_attributes_type": "a block of keys",
}

_VARIABLE = "{0,199}"
_SHAPES = {
    "https?": "write an address that begins with http:// or https://",
    ":": "write module:function, such as crew:survey",
    _VARIABLE: "write the name of an environment variable",
    "x00-": "leave out control characters",
    "x00": "leave out characters with the number 0",
    "{0,63}": "use an ASCII letter, then up to 63 of these, digits, '_' or '-'",
}
"""Advice on the form of a value, by a part of its pattern."""

_MAX_ROUNDS = 20
"""Rounds of removing faults: a removal may uncover another fault, such as a missing name after a wrong one."""


def problems_of(
    errors: Iterable[ErrorDetails],
    document: YamlDocument,
    *,
    under: Loc = (),
    model: type[BaseModel] = TeamDocument,
) -> list[FileFault]:
    """Return the faults of one validation, at most one for each location, and up to `MAX_PROBLEMS`.

    Args:
        document: The document that contains the validated value.
        under: Path of the validated value.
        model: The model that it was validated as.
    """
    problems: dict[tuple[Loc, str], FileFault] = {}
    for error in errors:
        if len(problems) >= MAX_PROBLEMS:
            break
        loc, text = place_of(document.value, (*under, *error["loc"])), ""
        refusal = error.get("ctx", {}).get("error")
        if isinstance(refusal, BadValue | InvalidValue):  # from a record, with a path inside its block
            loc, text = (*loc, *refusal.path), refusal.text
        elif error["type"] == "extra_forbidden" and loc[-1] not in LATER_KEYS:
            text = f"is not a key here; {suggest(str(loc[-1]), _keys_at(model, loc[len(under) : -1]))}"
        else:
            text = _text(error, loc)
        key = (loc, "" if _is_choice(error) else text)
        problems.setdefault(key, FileFault(document.line(loc), field(document, loc), text))
    return list(problems.values())


def field(document: YamlDocument, loc: Loc) -> str:
    """Return the path of a value for people: `agents[scout].timeout_s`."""
    path = ""
    value: Any = document.value
    for part in loc:
        value = _step(value, part)
        if isinstance(part, str):
            path += f".{part}" if path else part
        else:
            path += f"[{_item_name(value) or part + 1}]"
    return printable(path, 120)


def _item_name(value: Any) -> str | None:
    """Return the name of an agent or a team in a list; items without names are numbered from 1."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("supervisor"), dict):
        value = value["supervisor"]
    name = value.get("name")
    return name if isinstance(name, str) else None


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def place_of(value: Any, loc: tuple[int | str, ...]) -> Loc:
    """Return the location of a fault in `value`, without the names of union branches; a missing key comes last."""
    parts: list[str | int] = []
    for at, part in enumerate(loc):
        inside = isinstance(value, dict) and part in value
        if inside or (isinstance(value, list) and isinstance(part, int)):
            parts.append(part)
            value = _step(value, part)
        elif isinstance(value, dict) and at == len(loc) - 1 and isinstance(part, str) and part.isidentifier():
            parts.append(part)
    return tuple(parts)


def _is_choice(error: ErrorDetails) -> bool:
    """Return whether an error belongs to one branch of a union; all branches together are one fault."""
    return error["type"] in _WRONG_TYPE or error["type"] == "literal_error"


def _text(error: ErrorDetails, loc: Loc) -> str:
    kind, value, bounds = error["type"], error["input"], error.get("ctx", {})
    last = loc[-1] if loc else ""
    if kind == "missing":
        if loc == ("version",):
            return "is missing; a team file begins with 'version: 1'"
        return f"is missing{'; every supervisor and agent has one' if last == 'name' else ''}"
    if kind == "extra_forbidden":
        return "is not supported yet; remove it"
    if kind in _WRONG_TYPE:
        type_words = "a name or a list of names" if last == "model" else _WRONG_TYPE[kind]
        return f"must be {type_words}, not {describe_value(value)}"
    if kind == "literal_error":
        expected = str(bounds.get("expected")).replace("'", "")
        return f"must be {expected}, not {describe_value(value)}"
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
        return f"must be {' and '.join(f'{words[name]} {bound:,.15g}' for name, bound in bounds.items())}, not {value}"
    if kind == "string_pattern_mismatch":
        pattern = str(bounds.get("pattern"))
        shape = next((words for part, words in _SHAPES.items() if part in pattern), _SHAPES["{0,63}"])
        if _VARIABLE in pattern:  # the wrong value is often the key itself, which must not appear in logs
            return f"is not allowed; {shape}, not a key"
        return f"{describe_value(value)} is not allowed; {shape}"
    if kind in ("too_long", "string_too_long"):
        return f"is too long; at most {bounds['max_length']:,} {'entries' if kind == 'too_long' else 'characters'}"
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    return printable(error["msg"].removeprefix("Value error, "))


def _keys_at(model: type[BaseModel], path: Loc) -> list[str]:
    """Return the keys that are allowed in a block, by its path in a value of a model."""
    blocks = [model]
    for part in path:
        keys = [block.model_fields[part] for block in blocks if part in block.model_fields]
        blocks = [block for key in keys for block in blocks_in(key.annotation)] or blocks
    return list(dict.fromkeys(key for block in blocks for key in block.model_fields))


def valid_part(value: Any, errors: Iterable[ErrorDetails]) -> tuple[TeamDocument | None, list[Loc]]:
    """Return the valid part of a team, and the locations from which faulty values were removed.

    Args:
        value: The content of the file; not changed.

    Returns:
        The team; None if too little of it is valid.
    """
    part, faulty = msgspec.to_builtins(value), []  # a copy, in which no aliases share their values
    names = (f"unnamed-{number}" for number in count(1))
    for _ in range(_MAX_ROUNDS):
        for error in errors:
            loc = place_of(part, error["loc"])
            faulty.append(loc)
            _remove(part, loc, names, is_missing=error["type"] == "missing")
        try:
            return TeamDocument.model_validate(part), faulty
        except ValidationError as error:
            errors = error.errors(include_url=False)
    return None, faulty


def _remove(part: Any, loc: Loc, names: Iterable[str], *, is_missing: bool) -> None:
    """Delete the value at a location; fill in what a team requires."""
    if not loc:
        return
    *parent, last = loc
    block = _container_at(part, tuple(parent))
    if block is None:
        return  # removed with its container
    if isinstance(last, int):
        filler = _filler(str(parent[-1]) if parent else "", names)
        if filler is None:
            _remove(part, tuple(parent), names, is_missing=False)
        else:
            block[last] = filler
    elif not is_missing:
        block.pop(last, None)
    elif last == "version":
        block[last] = 1
    elif last in ("name", "supervisor"):
        name = next(iter(names))
        block[last] = name if last == "name" else {"name": name}
    else:
        _remove(part, tuple(parent), names, is_missing=False)


def _filler(key: str, names: Iterable[str]) -> dict[str, Any] | None:
    """Return a placeholder for an item of a list; None if the whole list may be dropped."""
    if key in ("agents", "registry"):
        return {"name": next(iter(names)), "run": "nothing:nothing"}
    return {"supervisor": {"name": next(iter(names))}} if key == "teams" else None


def _container_at(part: Any, loc: Loc) -> Any:
    for step in loc:
        part = _step(part, step)
    return part if isinstance(part, dict | list) else None
