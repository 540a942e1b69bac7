"""From what a person wrote to what the engine takes."""

from collections.abc import Iterator

from engine.core.commands import SupervisorSpec
from engine.core.spec import AgentSpec, FailurePolicy, Retry, Skip
from engine.teamfile.meaning import teams_of, type_of
from engine.teamfile.schema import AgentBlock, Policy, RetryPolicy, TeamBlock, TeamDocument


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
        on_failure=[_failure_policy(policy) for policy in block.on_failure],
        run_in=block.run_in,
        options=options,
    )


def references_of(team: TeamDocument) -> list[str]:
    """Return every reference that the file makes to code, each once, in the order of the file."""
    found = [reference for agent in agents_of(team) for reference in (agent.run, *agent.tools) if reference is not None]
    return list(dict.fromkeys(found))


def agents_of(team: TeamDocument) -> Iterator[AgentBlock]:
    """Yield every agent of the file and every spec of its registry."""
    for _, block in teams_of(team):
        yield from block.agents
    yield from team.registry


def _failure_policy(policy: Policy) -> FailurePolicy:
    if isinstance(policy, RetryPolicy):
        block = policy.retry
        return Retry(retries=block.retries, base_s=block.base_s, cap_s=block.cap_s)
    return Skip()
