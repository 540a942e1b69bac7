"""Writes an agent spec as YAML that the reader of team files turns into the same spec.

The YAML is what a person would write: defaults are left out, short forms used, and long texts written as blocks.
`inexpressible_fields` returns the fields that the format cannot express, so that they are not lost silently.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import yaml
from pydantic import ValidationError
from typing_extensions import override

from engine.core.documents.table import default_of
from engine.core.records.records import field_names
from engine.core.specs.failure_policies import Policy, Retry
from engine.core.specs.limits import Limits
from engine.core.specs.spec import AgentSpec, Pool
from engine.teamfile.build import agent_spec
from engine.teamfile.document import plain_value
from engine.teamfile.meaning import implied_type
from engine.teamfile.policies import short_setting
from engine.teamfile.schema import AgentBlock, AmountsBlock

_NO_BLOCK = re.compile(r"[^\S\n]$|\n\n\Z|\A\n\Z", re.MULTILINE)
"""Texts with blanks or empty lines at the end: as a block, the first do not return and the others end the document."""
_LINE_WIDTH = 10**6
"""Line width for YAML, so large that text for people to edit is never folded."""


def agent_yaml(spec: AgentSpec) -> str:
    """Return the YAML of one agent, without the team around it."""
    return values_yaml(_block(spec), in_one_line=False)


def values_yaml(values: Mapping[str, Any], *, in_one_line: bool) -> str:
    """Return the YAML of plain values, which a reader returns as the same values."""
    node: Any = _Writer(default_flow_style=None, sort_keys=False).represent_data(values)  # type: ignore[arg-type]
    node.flow_style = in_one_line
    text = str(yaml.serialize(node, Dumper=yaml.SafeDumper, width=_LINE_WIDTH, allow_unicode=True))
    # Such characters occur only in double quotes, where YAML has escapes for them.
    return "".join(
        character if character.isprintable() or character == "\n" else f"\\U{ord(character):08x}" for character in text
    )


def inexpressible_fields(spec: AgentSpec) -> list[str]:
    """Return the fields of a spec that a team file cannot express, and that would be lost in its YAML."""
    try:
        again = agent_spec(AgentBlock.model_validate(_block(spec)))
    except ValidationError as error:  # such as code of a running program, which no file can name
        return list(dict.fromkeys(str(error_details["loc"][0]) for error_details in error.errors()))
    return [name for name in field_names(AgentSpec) if getattr(again, name) != getattr(spec, name)]


def _block(spec: AgentSpec) -> dict[str, Any]:
    """Return the values to write by key, in the order of the format."""
    values = {**_fields(spec), "limits": _limits(spec)}
    if spec.agent_type == "scripted" and "script" in spec.options:
        values["script"] = spec.options["script"]
        values["options"] = {key: value for key, value in spec.options.items() if key != "script"}
    if values["type"] == implied_type(values):
        values["type"] = None
    ordered = {name: values.get(name) for name in AgentBlock.model_fields}
    return {name: _to_plain(value) for name, value in ordered.items() if name == "name" or not _is_default(name, value)}


def _fields(spec: AgentSpec) -> dict[str, Any]:
    values = {name: getattr(spec, name) for name in field_names(AgentSpec) if name in AgentBlock.model_fields}
    chain = [_policy(policy) for policy in spec.on_failure]
    return {**values, "type": spec.agent_type, "on_failure": chain, "pool": _pool(spec.pool)}


def _is_default(name: str, value: Any) -> bool:
    default = AgentBlock.model_fields[name].default
    return value is None or value == default or (value in ((), [], {}, "") and name != "output")


def _policy(policy: Policy) -> Any:
    """Return a policy in its shortest form: `skip`, `{retry: 3}`, or with all settings that are not the default."""
    own = own_values(policy, field_names(policy))
    if not own:
        return {"retry": policy.retries} if isinstance(policy, Retry) else policy.type
    short = short_setting(type(policy))
    return {policy.type: own[short] if [*own] == [short] else own}


def _pool(pool: Pool | None) -> Any:
    if pool is None:
        return None
    is_range = pool == Pool(min=pool.min, max=pool.max)
    return f"{pool.min}..{pool.max}" if is_range else {name: getattr(pool, name) for name in field_names(Pool)}


def _limits(spec: AgentSpec) -> dict[str, Any] | None:
    task = {"task": _amounts(spec.task_limits)} if spec.task_limits else {}
    return _amounts(spec.limits) | task or None


def _amounts(limits: Limits | None) -> dict[str, Any]:
    return {} if limits is None else own_values(limits, AmountsBlock.model_fields)


def own_values(record: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Return the values of a record that differ from the default."""
    return {key: getattr(record, key) for key in keys if getattr(record, key) != default_of(type(record), key)}


def _to_plain(value: Any) -> Any:
    """Return a value as plain lists, dicts, texts and numbers."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, msgspec.Struct):
        return {name: _to_plain(getattr(value, name)) for name in field_names(type(value))}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_to_plain(item) for item in value]
    if isinstance(value, Decimal):
        return float(value) if Decimal(str(float(value))) == value else str(value)
    return value


class _Writer(yaml.representer.SafeRepresenter):
    """Writes texts so that the reader returns the same texts."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        style = None
        if not all(character.isprintable() or character == "\n" for character in data) or plain_value(data) is not data:
            style = '"'
        elif "\n" in data:
            style = "|" if not _NO_BLOCK.search(data) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Writer.add_representer(str, _Writer.text)
