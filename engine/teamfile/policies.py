"""The form of failure policies in a team file: `skip`, `{retry: 3}`, `{retry: {retries: 3, base_s: 0.5}}`.

It is derived from the records: a policy has the name of its class, and a number in place of its settings is the first.
"""

from functools import reduce
from operator import attrgetter, or_
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag, create_model
from pydantic_core import PydanticCustomError

from engine.core.records.records import field_names
from engine.core.specs.failure_policies import FailurePolicy
from engine.teamfile.blocks import Block, as_record, block_of

_RECORDS: dict[str, Any] = {policy.__name__.lower(): policy for policy in get_args(FailurePolicy)}
BLOCKS = {name: block_of(policy) for name, policy in _RECORDS.items() if field_names(policy)}
"""The blocks of policies that have settings."""
_ALLOWED = f"must be one of {', '.join(_RECORDS)}, such as {{retry: 3}}"
_ONE_POLICY = "must be one policy, its settings in a block of their own, such as {retry: {retries: 3, base_s: 0.5}}"


def short_setting(policy: Any) -> str:
    """Return the name of the setting that a single number sets; empty if the policy has no settings."""
    return next(iter(field_names(policy)), "")


def _with_settings(name: str) -> type[Block]:
    """Make the block of one key, `{retry: …}`."""
    policy = _RECORDS[name]
    short = short_setting(policy)

    def in_full(value: Any) -> Any:
        return {short: value} if isinstance(value, int | float) and not isinstance(value, bool) else value

    settings: Any = Annotated[as_record(policy), BeforeValidator(in_full, json_schema_input_type=Any)]
    setting_names = ", ".join(f"{setting}: …" for setting in field_names(policy))
    text = f"`{{{name}: {{{setting_names}}}}}`; `{{{name}: 3}}` sets {short}."
    keys: dict[str, Any] = {name: (settings, ...)}
    return create_model(f"{policy.__name__}Policy", __base__=Block, __module__=__name__, __doc__=text, **keys)


def _form(name: str) -> Any:
    """Return the type of a policy in a team file, which is converted to its record."""
    if name in _WITH_SETTINGS:
        shape = _WITH_SETTINGS[name]
        record = AfterValidator(attrgetter(name))
    else:
        shape = _literal[name]
        record = AfterValidator(lambda _: _RECORDS[name]())
    return Annotated[shape, record, Tag(_tag(name))]


def _check_shape(value: Any) -> Any:
    name = next(iter(value), None) if isinstance(value, dict) else value
    if not isinstance(name, str) or name not in (BLOCKS if isinstance(value, dict) else _RECORDS):
        raise PydanticCustomError("policy", _ALLOWED)
    if isinstance(value, dict) and len(value) > 1:
        raise PydanticCustomError("policy", _ONE_POLICY)
    return {name: {}} if isinstance(value, str) and value in BLOCKS else value


def _tag(value: Any) -> str:
    """Return the tag of a policy; it differs from its key in a file, because tags appear in the paths of errors."""
    name = str(next(iter(value), "")) if isinstance(value, dict) else str(value)
    return name.capitalize()


_literal: Any = Literal
_WITH_SETTINGS: dict[str, Any] = {name: _with_settings(name) for name in BLOCKS}
POLICY: Any = Annotated[
    reduce(or_, map(_form, _RECORDS)),
    Discriminator(_tag),
    BeforeValidator(
        _check_shape, json_schema_input_type=reduce(or_, _WITH_SETTINGS.values(), _literal[tuple(_RECORDS)])
    ),
]
"""The type of a failure policy in a team file."""
