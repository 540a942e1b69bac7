"""What a spec lets an agent do beyond another: nothing is missed, and nothing is held against it."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from engine.core.queries.team.rights import OwnTool, models_beyond, rights_beyond
from engine.core.records.records import JsonValue
from engine.core.specs.limits import Limits
from engine.core.specs.management import AgentManagementTools
from engine.core.specs.spec import AgentSpec
from engine.runtimes.model.options import options_of

TOOLS = {"read": "crew:read", "write": "crew:write"}
SERVERS = ("web/get", "web/put")
RIGHTS = ("ask_human", "add_agent", "pause_agent")
RULED = (*TOOLS, *SERVERS, "add_agent", "pause_agent")
GUARD: JsonValue = {"contains": "x"}
RULES: st.SearchStrategy[Mapping[str, JsonValue]] = st.dictionaries(
    st.sampled_from(RULED), st.sampled_from(["never", "always", GUARD])
)


@st.composite
def specs(draw: st.DrawFn) -> AgentSpec:
    tools = draw(st.sets(st.sampled_from([*TOOLS.values()])))
    mcp = draw(st.sets(st.sampled_from([*SERVERS, "web"])))
    may = draw(st.sets(st.sampled_from(RIGHTS)))
    tokens = draw(st.sampled_from([None, 10, 20]))
    return AgentSpec(
        name="ada", agent_type="ReactAgent", tools=sorted(tools), mcp=sorted(mcp), may=sorted(may),  # type: ignore[arg-type]
        approve=draw(RULES), limits=None if tokens is None else Limits(tokens=tokens),
    )  # fmt: skip


def rule_of(spec: AgentSpec, name: str, authors: Mapping[str, JsonValue]) -> JsonValue:
    """Return the rule of a call; None for a tool of a server without one, whose own rule nobody knows."""
    if name not in RIGHTS and name not in TOOLS:
        return spec.approve.get(name)
    return spec.approve.get(name, "always" if name == "add_agent" else authors.get(name, "never"))


def calls(spec: AgentSpec, name: str) -> bool:
    is_of_server = name in SERVERS and "web" in spec.mcp
    return is_of_server or TOOLS.get(name) in spec.tools or name in spec.may or name in spec.mcp


def is_freer(rule: JsonValue, own_rule: JsonValue) -> bool:
    """Return whether some call may go on without a question under a rule and not under the other."""
    return own_rule != "never" and rule != "always" and rule != own_rule


@given(specs(), specs(), st.dictionaries(st.sampled_from([*TOOLS]), st.sampled_from(["always", "never"])))
def test_rights_are_beyond_where_some_call_is_freer_or_the_budget_larger(
    own: AgentSpec, spec: AgentSpec, authors: dict[str, JsonValue]
) -> None:
    names = (*TOOLS, *SERVERS, *RIGHTS)
    freer = [
        name
        for name in names
        if calls(spec, name)
        and (not calls(own, name) or is_freer(rule_of(spec, name, authors), rule_of(own, name, authors)))
    ]
    most = None if own.limits is None else own.limits.tokens
    has_more = most is not None and (spec.limits is None or (spec.limits.tokens or 0) > most)
    whole_server = "web" in spec.mcp and "web" not in own.mcp  # it may offer more tools than those named

    assert bool(rights_beyond(own, spec, tools=known(authors))) == bool(freer or has_more or whole_server)


def known(authors: Mapping[str, JsonValue]) -> dict[str, OwnTool]:
    return {name: OwnTool(reference=tool, approve=authors.get(name, "never")) for name, tool in TOOLS.items()}


@given(specs())
def test_nobody_goes_beyond_itself(own: AgentSpec) -> None:
    assert rights_beyond(own, own, tools=known({"read": "always"})) == []


def test_models_and_parameters_of_the_provider_are_rights_too() -> None:
    own = AgentSpec(name="ada", agent_type="ReactAgent", options={"params": {"top_p": 1}})
    other = AgentSpec(name="bob", agent_type="ReactAgent", options={"params": {"api_base": "http://example.org"}})

    assert rights_beyond(own, other, tools={}) == ["parameters of its own for the provider"]
    assert models_beyond(["fast"], ["fast", "big"]) == ["the model big"]


def test_a_management_tool_may_have_another_name() -> None:
    names = {tool.value: f"my_{tool.value}" for tool in AgentManagementTools}
    options = options_of(AgentSpec(name="ada", agent_type="ReactAgent", options={"tool_names": names}))

    assert options.name_of("add_agent") == "my_add_agent"
