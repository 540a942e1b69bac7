"""The schema of a function, made by pydantic from its signature, and the check of arguments against it.

A function without a schema is refused with the name of the parameter that is at fault. See docs/reference/tools.md.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.errors import Unusable
from engine.models.records import ToolSchema
from engine.runtimes.functions.tools import KEY, options_of
from engine.runtimes.toolbox.calling import MAX_FAULTS, BadArguments

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Pattern of tool names that every provider accepts."""
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY,)
_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    kind: Any
    hint: Any
    default: Any
    description: str


class FunctionSchema:
    """The schema of a function for models.

    Raises:
        Unusable: If there is none; the message names the tool and the parameter.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        if NAME.fullmatch(name) is None:
            raise Unusable(
                f"tool {name!r:.80}: a model can only call names of letters, digits, '_' and '-', up to 64;"
                " give it another with @tool(name=...)"
            )
        from engine.runtimes.toolbox.docstrings import docstring_of  # docstring_parser: most programs have no tools

        docstring = docstring_of(_unwrap(function))
        self._parameters = list(_parameters(name, function, docstring.parameters))
        self._model, parameters = _model(name, self._parameters)
        self.schema = ToolSchema(name=name, description=docstring.text or name.replace("_", " "), parameters=parameters)

    @cached_property
    def runs_code(self) -> bool:
        """Whether a check of arguments runs user code: validators, default factories, `__post_init__`."""
        return _runs_code(self._model.__pydantic_core_schema__)

    def bind(self, arguments: Mapping[str, JsonValue]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments for the function, converted to the types of its parameters.

        Raises:
            BadArguments: If they do not fit the schema.
        """
        try:
            values = self._model.model_validate_json(json.dumps(arguments), strict=True)
        except ValidationError as error:
            raise BadArguments(self._describe_faults(error)) from None
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for at, parameter in enumerate(self._parameters):
            if parameter.kind in _POSITIONAL:
                positional.append(getattr(values, f"p{at}"))
            elif f"p{at}" in values.model_fields_set or not _is_plain(parameter.default):
                named[parameter.name] = getattr(values, f"p{at}")
        return positional, named

    def _describe_faults(self, error: Any) -> str:
        faults = error.errors(include_url=False, include_context=False)
        lines = []
        for fault in faults[:MAX_FAULTS]:
            place = ".".join(str(part) for part in fault["loc"]) or "the arguments"
            if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
                names = ", ".join(parameter.name for parameter in self._parameters) or "no arguments"
                lines.append(f"{place}: is not an argument of it; it takes {names}")
            else:
                lines.append(f"{place}: {fault['msg']}")
        more = f"; and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
        return f"wrong arguments of {self._name}: {'; '.join(lines)}{more}"


def _parameters(name: str, function: Callable[..., Any], descriptions: Mapping[str, str]) -> Iterator[_Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise Unusable(f"tool {name!r}: it does not say what it takes; write a function that calls it") from None
    hints = _hints(name, function)
    for parameter in signature.parameters.values():
        if parameter.name == KEY and options_of(function).idempotent:
            continue
        if parameter.kind in _COLLECTING:
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise Unusable(
                f"tool {name!r}: its parameter {stars}{parameter.name} takes any arguments, which cannot be described;"
                " give each a name, or take one list or dict"
            )
        if parameter.annotation is parameter.empty:
            raise Unusable(
                f"tool {name!r}: its parameter {parameter.name!r} has no type; write {parameter.name}: str, say"
            )
        yield _Parameter(
            parameter.name,
            parameter.kind,
            hints.get(parameter.name, parameter.annotation),
            parameter.default,
            descriptions.get(parameter.name, ""),
        )


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the parameters, without that of the result, which need not be readable."""
    target = _unwrap(function)
    annotations = {key: hint for key, hint in getattr(target, "__annotations__", {}).items() if key != "return"}
    return {key: _hint(name, target, key, hint) for key, hint in annotations.items()}


def _hint(name: str, target: Callable[..., Any], parameter: str, hint: Any) -> Any:
    holder = type("Holder", (), {"__annotations__": {parameter: hint}})
    try:
        return get_type_hints(holder, getattr(target, "__globals__", {}), include_extras=True)[parameter]
    except Exception as error:  # annotations may be any text, and evaluating them may raise anything
        raise Unusable(
            f"tool {name!r}: the type of its parameter {parameter!r} cannot be read ({type(error).__name__}: {error});"
            " import what it names where the function is defined"
        ) from error


def _unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that has the annotations and the docstring of a callable."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isclass(function):
        return function.__init__
    if inspect.isroutine(function):
        routine: Callable[..., Any] = inspect.unwrap(function)
        return routine
    call: Callable[..., Any] = type(function).__call__
    return call


def _model(name: str, parameters: list[_Parameter]) -> tuple[type[BaseModel], dict[str, JsonValue]]:
    """Return a pydantic model of parameters, and its schema."""
    try:
        return _build_model(parameters)
    except Exception:  # find the parameter at fault
        for parameter in parameters:
            try:
                _build_model([parameter])
            except Exception as error:  # pydantic raises many classes for unsupported types
                reason = next(iter(str(error).splitlines()), type(error).__name__).partition(". Set `arbitrary")[0]
                raise Unusable(
                    f"tool {name!r}: its parameter {parameter.name!r} of type {_type_name(parameter.hint)} cannot be"
                    f" described to a model ({reason[:200]}); take str, int, float, bool, a list, a dict, a Literal,"
                    " a dataclass or a pydantic model"
                ) from error
        raise


def _build_model(parameters: list[_Parameter]) -> tuple[type[BaseModel], dict[str, JsonValue]]:
    """Return a model with a field for each parameter, under names that cannot clash with pydantic's."""
    fields: dict[str, Any] = {f"p{at}": _field(parameter) for at, parameter in enumerate(parameters)}
    model: type[BaseModel] = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    schema: dict[str, JsonValue] = model.model_json_schema(schema_generator=_Generator)
    schema.pop("title", None)
    return model, {"type": "object", "properties": {}, **schema}


def _runs_code(schema: Any) -> bool:
    """Return whether a schema of pydantic's core calls any function."""
    if isinstance(schema, Mapping):
        calls = any(schema.get(key) for key in ("function", "default_factory", "custom_init", "post_init", "missing"))
        return calls or any(map(_runs_code, schema.values()))
    return isinstance(schema, list | tuple) and any(map(_runs_code, schema))


def _field(parameter: _Parameter) -> tuple[Any, Any]:
    field_options: dict[str, Any] = {"alias": parameter.name}
    if parameter.description and not _has_description(parameter):
        field_options["description"] = parameter.description
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    return Annotated[parameter.hint, Field(**field_options)], default


def _has_description(parameter: _Parameter) -> bool:
    marks = [parameter.default, *getattr(parameter.hint, "__metadata__", ())]
    return any(getattr(mark, "description", None) for mark in marks)


def _is_plain(default: Any) -> bool:
    """Return whether the function itself has the default; a `Field` is only known to pydantic."""
    return not isinstance(default, FieldInfo)


class _Generator(GenerateJsonSchema):
    """Omits titles, which repeat names, and warnings about defaults that JSON cannot represent."""

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    @override
    def emit_warning(self, kind: Any, detail: str) -> None:
        return None


def _type_name(hint: Any) -> str:
    is_class = isinstance(hint, type) and not hasattr(hint, "__args__")
    return hint.__name__ if is_class else str(hint).replace("typing.", "").replace("collections.abc.", "")[:80]
