"""What a spec lets an agent do that another agent cannot do: nobody gives more than it has without a person."""

from collections.abc import Collection, Iterator, Mapping

from engine.core.records.records import JsonValue, fact
from engine.core.specs.limits import Limits
from engine.core.specs.management import AgentManagementTools, management_rule
from engine.core.specs.spec import AgentSpec

_AMOUNTS = ("attempts", "time_s", "tokens", "cost_usd")


@fact
class OwnTool:
    """A function that an agent may call."""

    reference: str
    approve: JsonValue
    """When a person is asked, by its author; the rules of a spec come first."""


def rights_beyond(own: AgentSpec, spec: AgentSpec, *, tools: Mapping[str, OwnTool]) -> list[str]:
    """Return what an agent of `spec` could do beyond a model agent of spec `own`, without models; empty if nothing.

    Args:
        own: The spec of the agent that wants to add the other.
        tools: Its functions, by the names that approval rules have.
    """
    return [*_code_beyond(own, spec), *_rules_beyond(own, spec, tools), *_budget_beyond(own.limits, spec.limits)]


def models_beyond(own: Collection[str], models: Collection[str]) -> list[str]:
    """Return the models among `models` that are not among `own`, in words."""
    return [f"the model {name}" for name in models if name not in own]


def _code_beyond(own: AgentSpec, spec: AgentSpec) -> Iterator[str]:
    if not spec.is_played_by_model:
        yield f"code of its own: {spec.run or spec.agent_type}"
    yield from (f"the tool {tool}" for tool in spec.tools if tool not in own.tools)
    servers = {name for name in own.mcp if "/" not in name}
    yield from (f"the server {name}" for name in spec.mcp if name not in own.mcp and name.split("/")[0] not in servers)
    yield from (f"the right {right}" for right in spec.may if right not in own.may)
    params = spec.options.get("params")
    if params and params != own.options.get("params"):
        yield "parameters of its own for the provider"


def _rules_beyond(own: AgentSpec, spec: AgentSpec, tools: Mapping[str, OwnTool]) -> Iterator[str]:
    """Yield the tools that `own` calls only after a person was asked, or may have to, and `spec` more freely."""
    for name in dict.fromkeys([*tools, *own.approve, *spec.approve, *AgentManagementTools]):
        if name in tools:
            has_tool = tools[name].reference in spec.tools
            own_rule, rule = (each.approve.get(name, tools[name].approve) for each in (own, spec))
        elif name in spec.may:
            has_tool = True
            own_rule, rule = (management_rule(each.approve, name) for each in (own, spec))
        else:  # of a server, whose own rule nobody knows before it runs
            has_tool = _has_server_tool(spec, name)
            own_rule, rule = own.approve.get(name), spec.approve.get(name)
        if has_tool and own_rule != "never" and rule not in ("always", own_rule):
            yield f"calls of {name} without a question"


def _has_server_tool(spec: AgentSpec, name: str) -> bool:
    server, slash, _ = name.partition("/")
    return bool(slash) and (server in spec.mcp or name in spec.mcp)


def _budget_beyond(own: Limits | None, limits: Limits | None) -> Iterator[str]:
    for name in _AMOUNTS if own is not None else ():
        most, amount = getattr(own, name), None if limits is None else getattr(limits, name)
        if most is not None and (amount is None or amount > most):
            yield f"more than {most:,} of the budget {name}"
