"""Tools by which an agent manages the members of its team, and when a person is asked before."""

from collections.abc import Mapping
from enum import StrEnum

from engine.core.records.records import JsonValue


class AgentManagementTools(StrEnum):
    """Tools by which a lead manages its members; `may=[*AgentManagementTools]` gives all of them."""

    FIND_AGENTS = "find_agents"
    ADD_AGENT = "add_agent"
    REMOVE_AGENT = "remove_agent"
    PAUSE_AGENT = "pause_agent"
    RESUME_AGENT = "resume_agent"
    SWAP_AGENT = "swap_agent"


_ASKED_FIRST = frozenset(
    {AgentManagementTools.ADD_AGENT, AgentManagementTools.REMOVE_AGENT, AgentManagementTools.SWAP_AGENT}
)


def management_rule(approve: Mapping[str, JsonValue], tool: str) -> JsonValue:
    """Return when a person is asked before a tool changes the team: by the rules of the agent, or by default."""
    return approve.get(tool, "always" if tool in _ASKED_FIRST else "never")
