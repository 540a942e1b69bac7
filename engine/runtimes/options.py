"""The `options` of an agent's spec, read as a model of pydantic; what is wrong is said in one line."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable

M = TypeVar("M", bound=BaseModel)


def options_in(spec: AgentSpec, kind: type[M]) -> M:
    """Return the options of a spec.

    Raises:
        Unusable: If they do not fit; the message names the place.
    """
    try:
        return kind.model_validate(dict(spec.options))
    except ValidationError as error:
        raise Unusable(f"agent {spec.name!r}: {first_fault(error, 'options')}") from error


def first_fault(error: ValidationError, *under: str | int) -> str:
    """Return the first fault with its place, which is `under` what these keys and places name."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in (*under, *first["loc"]))
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"
