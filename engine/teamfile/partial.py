"""What is right of a team file that has faults, so that its other faults can be told in the same go.

One rule holds inside: list items keep their places, because places name the faults.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine.teamfile.faults import place_of
from engine.teamfile.problems import Loc
from engine.teamfile.schema import TeamDocument

_ROUNDS = 20
"""A fault that is taken out may uncover another one in the same block: a name that was wrong is missing next."""


def right_part(value: Any, errors: Iterable[ErrorDetails]) -> tuple[TeamDocument | None, list[Loc]]:
    """Return a team without the faults of its shape, and the places from which something was taken out.

    Args:
        value: What stands in the file; left as it is.
        errors: What validation says of it.

    Returns:
        The team; None where too little of it is right.
    """
    part, faulty = _copied(value), []
    names = (f"unnamed-{number}" for number in count(1))
    for _ in range(_ROUNDS):
        for error in errors:
            loc = place_of(part, error["loc"])
            faulty.append(loc)
            _take_out(part, loc, names, is_missing=error["type"] == "missing")
        try:
            return TeamDocument.model_validate(part), faulty
        except ValidationError as error:
            errors = error.errors(include_url=False)
    return None, faulty


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _take_out(part: Any, loc: Loc, names: Iterable[str], *, is_missing: bool) -> None:
    """Delete what stands at a place; put in what a team cannot do without."""
    if not loc:
        return
    *above, last = loc
    block = _at(part, tuple(above))
    if block is None:
        return  # taken out with what it stood in
    if isinstance(last, int):
        filler = _filler(str(above[-1]) if above else "", names)
        if filler is None:
            _take_out(part, tuple(above), names, is_missing=False)
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
        _take_out(part, tuple(above), names, is_missing=False)


def _filler(key: str, names: Iterable[str]) -> dict[str, Any] | None:
    """Return what may stand in a list in the place of an item; None where the list can do without all of it."""
    if key in ("agents", "registry"):
        return {"name": next(iter(names)), "run": "nothing:nothing"}
    return {"supervisor": {"name": next(iter(names))}} if key == "teams" else None


def _at(part: Any, loc: Loc) -> Any:
    for step in loc:
        try:
            part = part[step]
        except (KeyError, IndexError, TypeError):
            return None
    return part if isinstance(part, dict | list) else None
