"""From what a person wrote to what the engine takes."""

from collections.abc import Iterator

from engine.core.commands import SupervisorSpec
from engine.core.limits import Limits
from engine.core.options import Preempt, SupervisorOptions
from engine.core.spec import (
    AgentSpec,
    Circuit,
    Pool,
    Restart,
)
from engine.teamfile.bounds import AmountsBlock
from engine.teamfile.meaning import teams_of, type_of
from engine.teamfile.policies import policy_of
from engine.teamfile.schema import AgentBlock, TeamBlock, TeamDocument


def supervisor_spec(block: TeamBlock) -> SupervisorSpec:
    """Return a supervisor with everything under it, its members in order."""
    chief = block.supervisor
    members: dict[str, AgentSpec | SupervisorSpec] = {agent.name: agent_spec(agent) for agent in block.agents}
    members |= {team.supervisor.name: supervisor_spec(team) for team in block.teams}
    first = chief.order or chief.participants or []
    return SupervisorSpec(
        name=chief.name,
        mode=chief.strategy,
        aggregation=chief.aggregation,
        aggregator=chief.aggregator,
        participants=chief.participants,
        auto_discover=chief.auto_discover,
        max_matches=chief.max_matches,
        default_agent=chief.default_agent,
        max_parallel=chief.max_parallel,
        max_agents=chief.max_agents,
        options=_options(block),
        members=[members[name] for name in dict.fromkeys([*first, *members])],
    )


def agent_spec(block: AgentBlock) -> AgentSpec:
    """Return the spec of one agent."""
    options = dict(block.options)
    if block.script is not None:
        options["script"] = block.script
    return AgentSpec(
        name=block.name,
        agent_type=type_of(block),
        description=block.description,
        specialties=block.specialties,
        tools=block.tools,
        run=block.run,
        model=block.model,
        instructions=block.instructions,
        category=block.category,
        weight=block.weight,
        max_concurrency=block.max_concurrency,
        timeout_s=block.timeout_s,
        on_failure=[policy_of(policy) for policy in block.on_failure],
        run_in=block.run_in,
        options=options,
        step_timeout_s=block.step_timeout_s,
        pool=None if block.pool is None else Pool(**block.pool.model_dump()),
        limits=_limits(block.limits),
        task_limits=None if block.limits is None else _limits(block.limits.task),
        circuit=None if block.circuit is None else Circuit(**block.circuit.model_dump()),
    )


def _options(block: TeamBlock) -> SupervisorOptions:
    chief, limits = block.supervisor, block.limits
    return SupervisorOptions(
        lead=chief.lead,
        settings=chief.settings,
        strategies=block.strategies,
        on_failure=[policy_of(policy) for policy in chief.on_failure],
        limits=_limits(limits),
        run_limits=None if limits is None else _limits(limits.run),
        task_limits=None if limits is None else _limits(limits.task),
        agent_limits=None if limits is None else _limits(limits.agent),
        max_total=chief.max_total,
        processes=chief.processes,
        balance=chief.balance,
        ageing_s=chief.ageing_s,
        preempt=None if chief.preempt is None else Preempt(**chief.preempt.model_dump()),
        restart=None if chief.restart is None else Restart(**chief.restart.model_dump()),
        circuit=None if chief.circuit is None else Circuit(**chief.circuit.model_dump()),
        grace_s=chief.grace_s,
    )


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
    """Return every reference that the file makes to code, each once, in the order of the file."""
    found = [reference for agent in agents_of(team) for reference in (agent.run, *agent.tools) if reference is not None]
    return list(dict.fromkeys(found))


def agents_of(team: TeamDocument) -> Iterator[AgentBlock]:
    """Yield every agent of the file and every spec of its registry."""
    for _, block in teams_of(team):
        yield from block.agents
    yield from team.registry
