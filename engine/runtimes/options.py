"""Parses the `options` of an agent's spec by a pydantic model; a fault is reported in one line."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable

M = TypeVar("M", bound=BaseModel)


def options_in(spec: AgentSpec, kind: type[M]) -> M:
    """Return the options of a spec as an instance of `kind`.

    Raises:
        Unusable: If they are invalid; the message names the place.
    """
    try:
        return kind.model_validate(dict(spec.options))
    except ValidationError as error:
        raise Unusable(f"agent {spec.name!r}: {first_fault(error, 'options')}") from error


def first_fault(error: ValidationError, *under: str | int) -> str:
    """Return the first fault with its place; `under` is the path of the validated value."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in (*under, *first["loc"]))
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"
