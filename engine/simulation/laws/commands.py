"""Commands: each has one outcome, and one that is applied has done what it asks for."""

from collections.abc import Callable
from typing import Any

from engine.core import events
from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Answer,
    Cancel,
    ChangeCapabilities,
    ChangeSupervisor,
    LoadTeam,
    Move,
    Pause,
    Reassign,
    RegisterSpec,
    RemoveMember,
    ReplaceTeam,
    Resume,
    RetryWork,
    Rollback,
    SetDeadline,
    SetPriority,
    Submit,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
    SwitchStrategy,
    UnregisterSpec,
)
from engine.core.declared import OPTIONS
from engine.core.options import DEFAULT_PRIORITY, SupervisorOptions
from engine.core.spec import AgentSpec
from engine.simulation.chronicle import Chronicle
from engine.simulation.laws.registry import law
from engine.simulation.ledger.team import AgentEntry, SupervisorEntry


@law(events.CommandApplied, events.CommandRefused)
def a_command_has_one_outcome(books: Chronicle, event: events.CommandApplied | events.CommandRefused) -> str | None:
    """Each command has one outcome, however often it is sent."""
    seq = books.commands.get(event.command_id)
    return None if seq is None else f"{event.command_id} was decided at seq {seq} and is decided again"


@law(events.CommandRefused, events.SignalDropped)
def no_message_runs_into_a_defect(books: Chronicle, event: events.CommandRefused | events.SignalDropped) -> str | None:
    """No message makes the engine fail."""
    if isinstance(event, events.SignalDropped):
        return f"{event.signal}: {event.error}"
    return event.reason if event.code == "defect" else None


@law(events.CommandApplied)
def an_applied_command_has_done_what_it_asks(books: Chronicle, event: events.CommandApplied) -> str | None:
    """A command that is applied has done what it asks for by then."""
    command = books.sent.get(event.command_id)
    check = _DONE.get(type(command))
    if command is None or check is None:
        return None
    wrong = check(books, command, event)
    return None if wrong is None else f"{event.command_id} ({event.command}, {event.summary!r:.80}): {wrong}"


def _means(books: Chronicle, target: str, one: AgentEntry | SupervisorEntry) -> bool:
    """Tell whether a target may name a member: by its id with or without an @, its name, or the end of its path."""
    if target.startswith("@"):
        return target[1:] == one.id
    *above, name = [word for word in target.split("/") if word]
    place = one.supervisor_id if isinstance(one, AgentEntry) else one.parent_id
    path = [each.name for each in books.team.up(place)]
    return (name == one.name and above[::-1] == path[: len(above)]) or target == one.id


def _work_id(target: str) -> str:
    return target.removeprefix("@")


def _paused(books: Chronicle, command: Pause | Resume, event: events.CommandApplied) -> str | None:
    wanted = isinstance(command, Pause)
    runs = [one for one in books.work.runs.values() if one.id == _work_id(command.target)]
    members: list[Any] = [*books.team.agents.values(), *books.team.supervisors.values()]
    found = [one for one in members if _means(books, command.target, one)]
    shut = [one.id for one in found if not wanted and books.failures.circuit(one.id).stands != "closed"]
    if shut and len(found) == 1:
        return f"the circuit of {shut[0]} is still open"
    failed = [one.id for one in found if not wanted and isinstance(one, SupervisorEntry) and one.error is not None]
    if failed and len(found) == 1:
        return f"{failed[0]} takes no requests: it has failed"
    is_so = any(one.paused == wanted for one in (*runs, *found))
    return None if is_so else f"nothing that {command.target} may name is {'not ' * (not wanted)}paused"


def _cancelled(books: Chronicle, command: Cancel, event: events.CommandApplied) -> str | None:
    work = books.work
    target = _work_id(command.target)
    is_run = target in work.runs
    task_id = None if is_run else target
    run_id = target if is_run else work.jobs[target].run_id
    for job in work.open_under(run_id, task_id):
        if not work.is_over(job) or (job.attempt is not None and "cancel" not in job.attempt.asked):
            return f"{job.id} goes on"
    return None


def _submitted(books: Chronicle, command: Submit, event: events.CommandApplied) -> str | None:
    run = books.work.runs.get(str(event.result["run_id"]))
    if run is None or run.request != command.request:
        return "there is no run with this request"
    priority = DEFAULT_PRIORITY if command.priority is None else command.priority
    if (run.priority, run.on_failure, run.limits) != (priority, command.on_failure, command.limits):
        return f"{run.id} has other settings than it was given"
    if not set(run.after) <= set(command.after) or {one for one in command.after if one in books.work.runs} - {
        *run.after
    }:
        return f"{run.id} waits for {run.after}, and was told to wait for {command.after}"
    supervisor = books.team.supervisors[run.supervisor_id]
    if command.supervisor is not None and not _means(books, command.supervisor, supervisor):
        return f"{run.id} went to {supervisor.name}"
    if command.supervisor is None and supervisor.parent_id is not None:
        return f"{run.id} went to {supervisor.id}, which is no root"
    failed = [above.id for above in books.team.up(supervisor.id) if above.error is not None]
    if failed:
        return f"{run.id} went to {supervisor.id}, and {failed[0]} has failed"
    return _wrong_deadline(books, command, event)


def _wrong_deadline(books: Chronicle, command: Submit, event: events.CommandApplied) -> str | None:
    run = books.work.runs[str(event.result["run_id"])]
    given = [command.deadline_s, None if command.limits is None else command.limits.run_s]
    for above in books.team.up(run.supervisor_id):
        given += [None if one is None else one.run_s for one in (above.options.limits, above.options.run_limits)]
    earliest_s = min((one for one in given if one is not None), default=None)
    wanted = None if earliest_s is None else event.at_ms + max(1, round(earliest_s * 1000))
    return None if run.deadline_ms == wanted else f"{run.id} has to have ended by {run.deadline_ms}, not {wanted}"


def _retried(books: Chronicle, command: RetryWork, event: events.CommandApplied) -> str | None:
    if "run_id" in event.result:
        return None if event.result["run_id"] in books.work.runs else "there is no new run"
    job = books.work.jobs[_work_id(command.target)]
    is_open = job.outcome is None and job.retrying_until_ms is None
    return None if is_open else f"{job.id} is {job.outcome}, or still backs off"


def _priority(books: Chronicle, command: SetPriority, event: events.CommandApplied) -> str | None:
    target = _work_id(command.target)
    task_id = target if target in books.work.jobs else None
    run_id = target if task_id is None else books.work.jobs[task_id].run_id
    for job in books.work.open_under(run_id, task_id):
        if books.state.tasks[job.id].priority != command.priority:
            return f"{job.id} has priority {books.state.tasks[job.id].priority}"
    is_run = task_id is None
    return None if not is_run or books.state.runs[run_id].priority == command.priority else f"{run_id} has not"


def _deadline(books: Chronicle, command: SetDeadline, event: events.CommandApplied) -> str | None:
    target = _work_id(command.target)
    job = books.work.jobs.get(target)
    is_root = job is not None and job.parent_id is None
    subject: Any = job if job is not None and not is_root else books.work.runs[job.run_id if job else target]
    wanted = None if command.deadline_s is None else event.at_ms + max(1, round(command.deadline_s * 1000))
    return None if subject.deadline_ms == wanted else f"{subject.id} has to have ended by {subject.deadline_ms}"


def _reassigned(books: Chronicle, command: Reassign, event: events.CommandApplied) -> str | None:
    job, agent = books.work.jobs[_work_id(command.task)], books.team.agents[str(event.result["agent_id"])]
    state = books.state.tasks[job.id]
    if not _means(books, command.agent, agent):
        return f"{job.id} went to {agent.name}"
    return None if state.queue == f"agent:{agent.id}" == job.queue else f"{job.id} waits in {state.queue}"


def _answered(books: Chronicle, command: Answer, event: events.CommandApplied) -> str | None:
    question = str(event.result["escalation_id"])
    return f"{question} still waits" if question in books.work.questions else None


def _switched(books: Chronicle, command: SwitchStrategy, event: events.CommandApplied) -> str | None:
    supervisor = books.state.supervisors[str(event.result["supervisor_id"])]
    if command.scope == "run":
        return None
    for name in ("mode", "aggregation", "aggregator"):
        wanted = getattr(command, name)
        if wanted is not None and getattr(supervisor, name) != wanted:
            return f"{name} of {supervisor.id} is {getattr(supervisor, name)}"
    if command.lead is not None and supervisor.options.lead != command.lead:
        return f"{supervisor.options.lead} leads"
    is_set = command.settings is None or dict(supervisor.options.settings) == command.settings
    return None if is_set else f"{supervisor.id} has the settings {supervisor.options.settings}"


# The team


def _added_agent(books: Chronicle, command: AddAgent, event: events.CommandApplied) -> str | None:
    agent = books.team.agents.get(str(event.result["agent_id"]))
    if agent is None:
        return "it is not there"
    if command.spec is not None and (agent.spec != command.spec or agent.name != (command.name or command.spec.name)):
        return f"{agent.id} is {agent.name}, {agent.spec}"
    if "evicted" in event.result:
        return None  # its supervisor may have had too many before
    full = [one for one in books.team.agents.values() if one.supervisor_id == agent.supervisor_id]
    most = books.team.supervisors[agent.supervisor_id].max_agents
    return f"{agent.supervisor_id} has {len(full)} of {most} agents" if len(full) > most else None


def _added_supervisor(books: Chronicle, command: AddSupervisor, event: events.CommandApplied) -> str | None:
    supervisor = books.team.supervisors[str(event.result["supervisor_id"])]
    above = books.team.supervisors.get(supervisor.parent_id or "")
    if (command.parent is None) != (above is None):
        return f"{supervisor.id} stands under {supervisor.parent_id}"
    return _unlike(books, supervisor, command.team)


def _missing(team: SupervisorSpec) -> str | None:
    """Return what is wrong with a description that names members that it does not have."""
    names = {one.name for one in team.members}
    named = (team.default_agent, team.aggregator, team.options.lead, *(team.participants or ()))
    missing = [one for one in named if one is not None and one not in names]
    below = (_missing(one) for one in team.members if isinstance(one, SupervisorSpec))
    return f"{team.name} names {missing[0]}, who is not there" if missing else next((one for one in below if one), None)


def _loaded(books: Chronicle, command: LoadTeam, event: events.CommandApplied) -> str | None:
    if (missing := _missing(command.team)) is not None:
        return missing
    roots = (one for one in books.team.supervisors.values() if one.parent_id is None)
    return None if any(one.name == command.team.name for one in roots) else "it is not there"


def _replaced(books: Chronicle, command: ReplaceTeam, event: events.CommandApplied) -> str | None:
    supervisor = books.team.supervisors[str(event.result["supervisor_id"])]
    return _unlike(books, supervisor, command.team)


def _unlike(books: Chronicle, supervisor: SupervisorEntry, team: SupervisorSpec) -> str | None:
    """Return where a supervisor and what is under it differ from a description."""
    state = books.state.supervisors[supervisor.id]
    for name in ("mode", "aggregation", "participants", "auto_discover", "max_matches", "default_agent"):
        if getattr(state, name) != getattr(team, name):
            return f"{name} of {supervisor.id} is {getattr(state, name)}"
    if (supervisor.max_parallel, supervisor.max_agents) != (team.max_parallel, team.max_agents):
        return f"{supervisor.id} has other limits"
    differs = [name for name in OPTIONS if _of(state.options, name) != _of(team.options, name)]
    if differs:
        return f"{supervisor.id} has other options: {differs}"
    everybody: dict[str, AgentEntry | SupervisorEntry] = {**books.team.agents, **books.team.supervisors}
    there = {everybody[one].name: everybody[one] for one in supervisor.members if not _goes(everybody[one])}
    for member in team.members:
        found = there.pop(member.name, None)
        if isinstance(member, AgentSpec):
            if not isinstance(found, AgentEntry) or found.spec != member:
                return f"{member.name} under {supervisor.id} is not like its description"
        elif not isinstance(found, SupervisorEntry):
            return f"there is no supervisor {member.name} under {supervisor.id}"
        elif (wrong := _unlike(books, found, member)) is not None:
            return wrong
    return f"{sorted(there)} stay under {supervisor.id}" if there else None


def _of(options: SupervisorOptions, name: str) -> Any:
    value = getattr(options, name)
    return value or None if isinstance(value, tuple | dict) else value


def _goes(member: AgentEntry | SupervisorEntry) -> bool:
    return (member.removing if isinstance(member, AgentEntry) else member.leaving) is not None


def _registered(books: Chronicle, command: RegisterSpec, event: events.CommandApplied) -> str | None:
    key = books.state.registry.get(command.spec.name)
    return None if key is not None and books.state.specs[key] == command.spec else "the registry has not"


def _unregistered(books: Chronicle, command: UnregisterSpec, event: events.CommandApplied) -> str | None:
    return "the registry has it" if command.name in books.state.registry else None


def _removed(books: Chronicle, command: RemoveMember, event: events.CommandApplied) -> str | None:
    agent = books.team.agents.get(str(event.result.get("agent_id")))
    if agent is None:
        return f"{command.target} is there" if _work_id(command.target) in books.team.supervisors else None
    if agent.removing != (command.mode or "drain"):
        return f"{agent.id} is being removed: {agent.removing}"
    for job in books.work.at_work(agent.id):
        if agent.removing != "drain" and job.attempt is not None and not job.attempt.asked:
            return f"{job.id} goes on"
    return None


def _swapped(books: Chronicle, command: SwapAgent, event: events.CommandApplied) -> str | None:
    return _not_swapped(books, command, str(event.result["agent_id"]))


def _swapped_all(books: Chronicle, command: SwapAgents, event: events.CommandApplied) -> str | None:
    results: Any = event.result["agents"]
    for swap, result in zip(command.swaps, results, strict=True):
        if (wrong := _not_swapped(books, swap, result["agent_id"])) is not None:
            return wrong
    return None


def _not_swapped(books: Chronicle, swap: SwapAgent, agent_id: str) -> str | None:
    agent = books.team.agents[agent_id]
    if not _means(books, swap.agent, agent):
        return f"{agent.name} was swapped"
    if swap.spec is not None and agent.spec != swap.spec:
        return f"{agent.id} has another spec"
    for job in books.work.at_work(agent_id):
        attempt = job.attempt
        old = attempt is not None and attempt.generation == agent.generation - 1
        if old and attempt is not None and swap.mode != "drain" and not attempt.asked:
            return f"{job.id} stays on the generation before"
        if old and attempt is not None and swap.mode == "drain" and attempt.asked & {"migrate", "restart"}:
            return None  # it was asked by an earlier swap
    return None


def _rolled_back(books: Chronicle, command: Rollback, event: events.CommandApplied) -> str | None:
    agent = books.team.agents[str(event.result["agent_id"])]
    return None if agent.generation == event.result["generation"] else f"{agent.id} is at g{agent.generation}"


def _capable(books: Chronicle, command: ChangeCapabilities, event: events.CommandApplied) -> str | None:
    agent = books.team.agents[str(event.result["agent_id"])]
    skills = {word.casefold() for word in agent.spec.specialties}
    add = {" ".join(word.split()).casefold() for word in command.add}
    remove = {" ".join(word.split()).casefold() for word in command.remove}
    return None if add <= skills and not remove & skills else f"{agent.id} has {sorted(skills)}"


def _moved(books: Chronicle, command: Move, event: events.CommandApplied) -> str | None:
    member_id, parent_id = str(event.result["id"]), str(event.result["parent_id"])
    parent = books.team.supervisors[parent_id]
    if not _means(books, command.parent, parent) or member_id not in parent.members:
        return f"{member_id} is not under {command.parent}"
    return None if all(above.id != member_id for above in books.team.up(parent_id)) else f"{member_id} is above itself"


def _changed(books: Chronicle, command: ChangeSupervisor, event: events.CommandApplied) -> str | None:
    supervisor = books.team.supervisors[str(event.result["supervisor_id"])]
    for name in ("max_parallel", "max_agents"):
        wanted = getattr(command, name)
        if wanted is not None and getattr(supervisor, name) != wanted:
            return f"{name} of {supervisor.id} is {getattr(supervisor, name)}"
    for name in OPTIONS if command.options is not None else ():
        wanted = _of(command.options, name) if command.options is not None else None
        if wanted is not None and getattr(supervisor.options, name) != wanted:
            return f"{name} of {supervisor.id} is {getattr(supervisor.options, name)}"
    return None


_DONE: dict[type, Callable[[Chronicle, Any, events.CommandApplied], str | None]] = {
    Submit: _submitted,
    Cancel: _cancelled,
    RetryWork: _retried,
    SetPriority: _priority,
    SetDeadline: _deadline,
    Reassign: _reassigned,
    Answer: _answered,
    SwitchStrategy: _switched,
    AddAgent: _added_agent,
    AddSupervisor: _added_supervisor,
    LoadTeam: _loaded,
    ReplaceTeam: _replaced,
    RegisterSpec: _registered,
    UnregisterSpec: _unregistered,
    RemoveMember: _removed,
    SwapAgent: _swapped,
    SwapAgents: _swapped_all,
    Rollback: _rolled_back,
    ChangeCapabilities: _capable,
    Move: _moved,
    ChangeSupervisor: _changed,
    Pause: _paused,
    Resume: _paused,
}
"""What has to hold when a command was applied, by its class; those that are missing change nothing that lasts."""
