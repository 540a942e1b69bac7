"""Converts the blocks of a team file that are no records yet to the records of the core."""

from collections.abc import Iterable
from typing import Any

from engine.core.commands import SupervisorSpec
from engine.core.queries.team import code
from engine.core.queries.team.code import program_of, specs_in, supervisors_in
from engine.core.records.records import copy_with, names
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, lead_spec
from engine.teamfile.blocks import Block
from engine.teamfile.meaning import agents_of, type_of
from engine.teamfile.schema import AgentBlock, AmountsBlock, TeamBlock, TeamDocument


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
        **_values(SupervisorSpec, chief),
        mode="delegate" if leads else chief.strategy,
        options=copy_with(_options(block), **leads),
        members=[members[name] for name in dict.fromkeys([*first, *members])],
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
    keys = {key: block for block in blocks for key in type(block).model_fields}
    return {name: getattr(keys[name], name) for name in names(record) if name in keys}


def _limits(block: AmountsBlock | None) -> Limits | None:
    """Return a budget; None where the block sets no amount of its own."""
    if block is None:
        return None
    limits = Limits(**_values(Limits, block))
    return None if limits == Limits(warn_at=limits.warn_at, then=limits.then) else limits


def references_of(team: TeamDocument) -> list[str]:
    """Return what the file refers to outside of it, each once: what its agents are in their order, then addresses."""
    whole = supervisor_spec(team)
    specs = [*specs_in(whole), *(agent_spec(block) for block in team.registry)]
    return list(
        dict.fromkeys(
            [
                *(reference for _, agent in agents_of(team) for reference in _code_of(agent)),
                *(reference for spec in specs for reference in code.references_of(spec)),
                *(
                    reference
                    for each in supervisors_in(whole)
                    for reference in code.references_in_options(each.options)
                ),
            ]
        )
    )


def _code_of(agent: AgentBlock) -> Iterable[str]:
    functions = (agent.run, *agent.tools)
    return [*(function for function in functions if function is not None), *program_of(agent.type, agent.options)]
