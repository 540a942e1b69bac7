"""Commands about agents and their specs: add, register, pause, resume. Swaps: `swapping`."""

from engine.core.commands import (
    AddAgent,
    Pause,
    RegisterSpec,
    Resume,
    UnregisterSpec,
)
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.evicting import room_for_one
from engine.core.decide.find import able_queues_for, find_spec, left_behind, member_name
from engine.core.decide.mending import mended
from engine.core.decide.mint import Mint
from engine.core.decide.trust import trust
from engine.core.errors import DuplicateName, Refused
from engine.core.events import (
    AgentAdded,
    AgentPaused,
    AgentRemoved,
    AgentResumed,
    RunPaused,
    RunResumed,
    SpecRegistered,
    SpecUnregistered,
    SupervisorPaused,
    SupervisorResumed,
)
from engine.core.fact import JsonValue
from engine.core.queries.targets import find_any, find_supervisor
from engine.core.spec import AgentSpec
from engine.core.state import Agent, Run, State, Supervisor


def add_agent(state: State, command: AddAgent, ctx: Context) -> Applied:
    """Add one agent, from a spec or from the registry."""
    supervisor = find_supervisor(state, command.supervisor)
    spec = wanted(state, command.spec, command.registered)
    name = command.name or spec.name
    events = trust(state, [spec], ctx)
    gone = room_for_one(state, supervisor, evict=command.evict)
    if gone is None or gone.name != name:
        name_is_free(state, supervisor, name)
    if gone is not None:
        evicted = AgentRemoved(agent_id=gone.id, evicted=True)
        events += [evicted, *left_behind(state, gone, ())]
    agent_id = Mint(state)("a")
    events.append(
        AgentAdded(
            agent_id=agent_id,
            name=name,
            supervisor_id=supervisor.id,
            spec=spec,
            queues=able_queues_for(state, supervisor.id, spec, name, but=gone),
            declared=command.declared,
        )
    )
    said = "" if gone is None else f" in the place of {gone.name}"
    result: dict[str, JsonValue] = (
        {"agent_id": agent_id} if gone is None else {"agent_id": agent_id, "evicted": gone.id}
    )
    return Applied(events=events, summary=f"added {name} under {supervisor.name}{said}", result=result)


def register_spec(state: State, command: RegisterSpec, ctx: Context) -> Applied:
    """Put a spec into the registry."""
    events = trust(state, [command.spec], ctx)
    events.append(SpecRegistered(spec=command.spec))
    return Applied(events=events, summary=f"registered {command.spec.name}")


def unregister_spec(state: State, command: UnregisterSpec, ctx: Context) -> Applied:
    """Take a name out of the registry."""
    find_spec(state, command.name)
    return Applied(events=[SpecUnregistered(name=command.name)], summary=f"unregistered {command.name}")


def pause(state: State, command: Pause, ctx: Context) -> Applied:
    """Pause a run, a supervisor or an agent, whichever has that id or name."""
    found = _pausable(state, command.target)
    if isinstance(found, Run):
        must(not found.paused, f"run {found.id} is paused already")
        return Applied(events=[RunPaused(run_id=found.id)], summary=f"paused run {found.id}")
    must(not found.paused, f"{found.name} is paused already")
    if isinstance(found, Agent):
        return Applied(events=[AgentPaused(agent_id=found.id)], summary=f"paused {found.name}")
    return Applied(events=[SupervisorPaused(supervisor_id=found.id)], summary=f"paused {found.name}")


def resume(state: State, command: Resume, ctx: Context) -> Applied:
    """Let go on what was paused; what failed is tried again."""
    found = _pausable(state, command.target)
    if isinstance(found, Run):
        must(found.paused, f"run {found.id} is not paused")
        return Applied(events=[RunResumed(run_id=found.id)], summary=f"resumed run {found.id}")
    events = mended(found)
    must(found.paused or bool(events), f"{found.name} is not paused")
    if found.paused and isinstance(found, Agent):
        events.append(AgentResumed(agent_id=found.id))
    elif found.paused:
        events.append(SupervisorResumed(supervisor_id=found.id))
    return Applied(events=events, summary=f"resumed {found.name}")


def _pausable(state: State, target: str) -> Agent | Supervisor | Run:
    found = find_any(state, target)
    if isinstance(found, Agent | Supervisor | Run):
        return found
    raise Refused(f"{found.id} cannot be paused; an agent, a supervisor or an open run can")


def wanted(state: State, spec: AgentSpec | None, registered: str | None) -> AgentSpec:
    """Return the spec that a command gives, itself or by its name in the registry.

    Raises:
        Refused: If it gives neither, or both, or there is none of that name.
    """
    if spec is not None and registered is None:
        return spec
    if registered is not None and spec is None:
        return find_spec(state, registered)
    raise Refused("give either a spec or the name of one in the registry")


def name_is_free(state: State, supervisor: Supervisor, name: str) -> None:
    """Refuse a name that a member of `supervisor` has, and every name while that is being removed.

    Raises:
        DuplicateName: If one has it.
        Refused: If the supervisor is being removed.
    """
    must(supervisor.leaving is None, f"supervisor {supervisor.name!r} is being removed; nothing can go under it")
    if any(member_name(state, member_id) == name for member_id in supervisor.members):
        raise DuplicateName(name, f"supervisor {supervisor.name!r}")


def must(condition: bool, otherwise: str) -> None:
    """Refuse with the reason `otherwise` where the condition does not hold."""
    if not condition:
        raise Refused(otherwise)
