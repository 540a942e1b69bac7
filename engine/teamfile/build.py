"""Converts the models of a team file to the records of the core."""

from typing import Any

from pydantic import BaseModel

from engine.core.commands import SupervisorSpec
from engine.core.queries.team import code
from engine.core.queries.team.code import program_of, specs_in, supervisors_in
from engine.core.records.records import changed, names
from engine.core.specs.limits import Limits
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.core.specs.spec import AgentSpec, Circuit, Pool, Restart, lead_spec
from engine.teamfile.meaning import agents_of, type_of
from engine.teamfile.policies import AmountsBlock, policy_of
from engine.teamfile.schema import AgentBlock, TeamBlock, TeamDocument, model_spec

_RECORDS = {"pool": Pool, "preempt": Preempt, "restart": Restart, "circuit": Circuit}
"""Record of the block under each of these keys."""


def supervisor_spec(block: TeamBlock) -> SupervisorSpec:
    """Return a supervisor with everything under it, its members in order."""
    chief = block.supervisor
    members: dict[str, AgentSpec | SupervisorSpec] = {agent.name: agent_spec(agent) for agent in block.agents}
    leads: dict[str, Any] = {}
    if chief.model is not None:
        members = {chief.name: lead_spec(chief.name, chief.model, chief.instructions), **members}
        leads = {"lead": chief.name}
    members |= {team.supervisor.name: supervisor_spec(team) for team in block.teams}
    first = chief.order or chief.participants or []
    return SupervisorSpec(
        **_values(chief, SupervisorSpec),
        mode="delegate" if leads else chief.strategy,
        options=changed(_options(block), **leads),
        members=[members[name] for name in dict.fromkeys([*first, *members])],
    )


def agent_spec(block: AgentBlock) -> AgentSpec:
    """Return the spec of one agent."""
    limits = {"limits": _limits(block.limits), "task_limits": _limits(block.limits and block.limits.task)}
    script = {} if block.script is None else {"script": block.script}
    return AgentSpec(
        **_values(block, AgentSpec) | limits, agent_type=type_of(block), options={**block.options, **script}
    )


def _options(block: TeamBlock) -> SupervisorOptions:
    limits = block.limits
    return SupervisorOptions(
        **_values(block.supervisor, SupervisorOptions),
        strategies=block.strategies,
        models={name: model_spec(model) for name, model in block.models.items()},
        mcp={name: McpSpec(**server.model_dump()) for name, server in block.mcp.items()},
        limits=_limits(limits),
        run_limits=_limits(limits and limits.run),
        task_limits=_limits(limits and limits.task),
        agent_limits=_limits(limits and limits.agent),
    )


def _values(block: BaseModel, record: Any) -> dict[str, Any]:
    """Return the fields of a record that a block has under the same name, without those computed elsewhere."""
    made = ("limits", "options")
    known = [name for name in names(record) if name in type(block).model_fields and name not in made]
    return {name: _value(name, getattr(block, name)) for name in known}


def _value(name: str, value: Any) -> Any:
    if name == "on_failure":
        return [policy_of(policy) for policy in value]
    return _RECORDS[name](**value.model_dump()) if name in _RECORDS and value is not None else value


def _limits(block: AmountsBlock | None) -> Limits | None:
    """Return a budget; None where the block sets no amount of its own."""
    if block is None:
        return None
    names = ("attempts", "time_s", "tokens", "cost_usd", "run_s", "depth")
    amounts = {name: getattr(block, name, None) for name in names}
    if all(amount is None for amount in amounts.values()):
        return None
    return Limits(**amounts, warn_at=block.warn_at, then=block.then)


def references_of(team: TeamDocument) -> list[str]:
    """Return what the file refers to outside of it, each once: what its agents are in their order, then addresses."""
    found: list[str] = []
    for _, agent in agents_of(team):
        found += [one for one in (agent.run, *agent.tools) if one is not None]
        found += program_of(agent.type, agent.options)
    whole = supervisor_spec(team)
    specs = [*specs_in(whole), *(agent_spec(block) for block in team.registry)]
    found += [one for spec in specs for one in code.references_of(spec)]
    found += [one for each in supervisors_in(whole) for one in code.references_set(each.options)]
    return list(dict.fromkeys(found))
