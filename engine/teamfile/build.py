"""Converts the blocks of a team file to commands and specs of the core."""

from collections.abc import Iterable
from typing import Any

from engine.core.commands import SupervisorSpec
from engine.core.queries.team import code
from engine.core.queries.team.code import program_of, specs_in, supervisors_in
from engine.core.records.records import copy_with, field_names
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, lead_spec
from engine.teamfile.blocks import Block
from engine.teamfile.meaning import agents_of, type_of
from engine.teamfile.schema import AgentBlock, AmountsBlock, TeamBlock, TeamDocument


def supervisor_spec(block: TeamBlock) -> SupervisorSpec:
    """Return a supervisor with everything under it, its members in order."""
    supervisor = block.supervisor
    members: dict[str, AgentSpec | SupervisorSpec] = {agent.name: agent_spec(agent) for agent in block.agents}
    lead_options: dict[str, Any] = {}
    if supervisor.model is not None:
        members = {supervisor.name: lead_spec(supervisor.name, supervisor.model, supervisor.instructions), **members}
        lead_options = {"lead": supervisor.name}
    members |= {team.supervisor.name: supervisor_spec(team) for team in block.teams}
    first_names = supervisor.order or supervisor.participants or []
    return SupervisorSpec(
        **_values(SupervisorSpec, supervisor),
        mode="delegate" if lead_options else supervisor.strategy,
        options=copy_with(_options(block), **lead_options),
        members=[members[name] for name in dict.fromkeys([*first_names, *members])],
    )


def agent_spec(block: AgentBlock) -> AgentSpec:
    """Return the spec of one agent."""
    limits = {"limits": _limits(block.limits), "task_limits": _limits(block.limits and block.limits.task)}
    script = {} if block.script is None else {"script": block.script}
    values = _values(AgentSpec, block) | limits | {"options": {**block.options, **script}}
    return AgentSpec(agent_type=type_of(block), **values)


def _options(block: TeamBlock) -> SupervisorOptions:
    limits = {"limits": _limits(block.limits)}
    for part in ("run", "task", "agent"):
        limits[f"{part}_limits"] = _limits(block.limits and getattr(block.limits, part))
    return SupervisorOptions(**_values(SupervisorOptions, block, block.supervisor) | limits)


def _values(record: Any, *blocks: Block) -> dict[str, Any]:
    """Return the fields of a record that blocks have under the same name."""
    blocks_by_key = {key: block for block in blocks for key in type(block).model_fields}
    return {name: getattr(blocks_by_key[name], name) for name in field_names(record) if name in blocks_by_key}


def _limits(block: AmountsBlock | None) -> Limits | None:
    """Return a budget; None if the block sets no amount."""
    if block is None:
        return None
    limits = Limits(**_values(Limits, block))
    return None if limits == Limits(warn_at=limits.warn_at, then=limits.then) else limits


def references_of(team: TeamDocument) -> list[str]:
    """Return the external references of the file, each once: code of its agents in order, then addresses."""
    root = supervisor_spec(team)
    references = [reference for _, agent in agents_of(team) for reference in _code_of(agent)]
    for spec in [*specs_in(root), *(agent_spec(block) for block in team.registry)]:
        references += code.references_of(spec)
    for supervisor in supervisors_in(root):
        references += code.references_in_options(supervisor.options)
    return list(dict.fromkeys(references))


def _code_of(agent: AgentBlock) -> Iterable[str]:
    functions = (agent.run, *agent.tools)
    return [*(function for function in functions if function is not None), *program_of(agent.type, agent.options)]
