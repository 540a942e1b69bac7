"""Commands: each has one outcome, and an applied one has had its effect."""

from typing import Any

from engine.core import commands, events
from engine.core.commands import SupervisorSpec
from engine.core.queries.team.declared import OPTIONS
from engine.core.specs.options import DEFAULT_PRIORITY, SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.simulation.laws.registry import law
from engine.simulation.ledger.team import AgentEntry, SupervisorEntry
from engine.simulation.ledger.work import Job, RunEntry
from engine.simulation.shadow_ledger import ShadowLedger


@law(events.CommandApplied, events.CommandRefused)
def a_command_has_one_outcome(ledger: ShadowLedger, event: events.CommandApplied | events.CommandRefused) -> str | None:
    """Each command has one outcome, however often it is sent."""
    seq = ledger.outcome_seqs.get(event.command_id)
    return None if seq is None else f"{event.command_id} was decided at seq {seq} and is decided again"


@law(events.CommandRefused, events.SignalDropped)
def no_message_runs_into_a_defect(
    ledger: ShadowLedger, event: events.CommandRefused | events.SignalDropped
) -> str | None:
    """No message reveals a defect of the engine."""
    if isinstance(event, events.SignalDropped):
        return f"{event.signal}: {event.error}"
    return event.reason if event.code == "defect" else None


@law(events.CommandApplied)
def an_applied_command_has_done_what_it_asks(ledger: ShadowLedger, event: events.CommandApplied) -> str | None:
    """An applied command has had its effect."""
    command = ledger.sent.get(event.command_id)
    check = getattr(_AppliedCommand(ledger, event), f"_{event.command}", None)
    if command is None or check is None:
        return None
    wrong = check(command)
    return None if wrong is None else f"{event.command_id} ({event.command}, {event.summary!r:.80}): {wrong}"


class _AppliedCommand:
    """What an applied command has not done, by its type; types without a method change nothing that lasts."""

    def __init__(self, ledger: ShadowLedger, event: events.CommandApplied) -> None:
        self.work, self.team, self.state, self.failures = ledger.work, ledger.team, ledger.state, ledger.failures
        self.result: Any = event.result
        self.agent: Any = ledger.team.agents.get(str(self.result.get("agent_id")))
        self.supervisor: Any = ledger.team.supervisors.get(str(self.result.get("supervisor_id")))
        self.at_ms = event.at_ms

    def _is_target(self, target: str, member: AgentEntry | SupervisorEntry) -> bool:
        """Return whether a target may name a member: by its id with or without @, its name, or the end of its path."""
        if target.startswith("@"):
            return target[1:] == member.id
        *parent_names, name = [word for word in target.split("/") if word]
        path = [each.name for each in self.team.lineage(member.parent_id)]
        return (name == member.name and parent_names[::-1] == path[: len(parent_names)]) or target == member.id

    def _find_work(self, target: str) -> tuple[RunEntry | Job, list[Job]]:
        """Return the run or the task that a target names, and what of it is open."""
        target = target.removeprefix("@")
        job = self.work.jobs.get(target)
        run_id = target if job is None else job.run_id
        return job or self.work.runs[run_id], self.work.open_under(run_id, None if job is None else job.id)

    def _waiting_for(self, agent_id: str) -> list[Job]:
        """Return the open tasks without an attempt in queues that only one agent serves."""
        own = {key for key in self.team.queues_of(agent_id) if self.team.served.get(key, [agent_id]) == [agent_id]}
        return [job for job in self.work.jobs.values() if job.queue in own and not (job.outcome or job.attempt)]

    def _check_pause(self, command: commands.Pause | commands.Resume) -> str | None:
        should_be_paused = isinstance(command, commands.Pause)
        runs = [run for run in self.work.runs.values() if run.id == command.target.removeprefix("@")]
        members: list[Any] = [*self.team.agents.values(), *self.team.supervisors.values()]
        matching_members = [member for member in members if self._is_target(command.target, member)]
        open_circuits = [
            member.id
            for member in matching_members
            if not should_be_paused and self.failures.circuit(member.id).status != "closed"
        ]
        if open_circuits and len(matching_members) == 1:
            return f"the circuit of {open_circuits[0]} is still open"
        failed = [
            member.id
            for member in matching_members
            if not should_be_paused and isinstance(member, SupervisorEntry) and member.error is not None
        ]
        if failed and len(matching_members) == 1:
            return f"{failed[0]} takes no requests: it has failed"
        is_so = any(subject.paused == should_be_paused for subject in (*runs, *matching_members))
        return None if is_so else f"nothing that {command.target} may name is {'not ' * (not should_be_paused)}paused"

    _pause = _resume = _check_pause

    def _cancel(self, command: commands.Cancel) -> str | None:
        agents = [agent for agent in self.team.agents.values() if self._is_target(command.target, agent)]
        if agents:
            jobs = [*self.work.at_work(agents[0].id), *self._waiting_for(agents[0].id)]
        else:
            _, jobs = self._find_work(command.target)
        for job in jobs:
            if not self.work.is_over(job) or (job.attempt is not None and "cancel" not in job.attempt.stop_reasons):
                return f"{job.id} goes on"
        return None

    def _submit(self, command: commands.Submit) -> str | None:
        run = self.work.runs.get(self.result["run_id"])
        if run is None or run.request != command.request:
            return "there is no run with this request"
        priority = DEFAULT_PRIORITY if command.priority is None else command.priority
        if (run.priority, run.on_failure, run.limits) != (priority, command.on_failure, command.limits):
            return f"{run.id} has other settings than it was given"
        still_open = {run_id for run_id in command.after if run_id in self.work.runs}
        if not still_open <= set(run.after) <= set(command.after):
            return f"{run.id} waits for {run.after}, and was told to wait for {command.after}"
        supervisor = self.team.supervisors[run.supervisor_id]
        if command.supervisor is not None and not self._is_target(command.supervisor, supervisor):
            return f"{run.id} went to {supervisor.name}"
        if command.supervisor is None and supervisor.parent_id is not None:
            return f"{run.id} went to {supervisor.id}, which is not a root"
        failed = [ancestor.id for ancestor in self.team.lineage(supervisor.id) if ancestor.error is not None]
        if failed:
            return f"{run.id} went to {supervisor.id}, and {failed[0]} has failed"
        return self._check_deadline(command)

    def _check_deadline(self, command: commands.Submit) -> str | None:
        run = self.work.runs[self.result["run_id"]]
        durations_s = [command.deadline_s, None if command.limits is None else command.limits.run_s]
        for supervisor in self.team.lineage(run.supervisor_id):
            durations_s += [
                None if limits is None else limits.run_s
                for limits in (supervisor.options.limits, supervisor.options.run_limits)
            ]
        earliest_s = min((duration_s for duration_s in durations_s if duration_s is not None), default=None)
        expected_ms = None if earliest_s is None else self.at_ms + max(1, round(earliest_s * 1000))
        if run.deadline_ms == expected_ms:
            return None
        return f"{run.id} has to have ended by {run.deadline_ms}, not {expected_ms}"

    def _retry_work(self, command: commands.RetryWork) -> str | None:
        if "run_id" in self.result:
            return None if self.result["run_id"] in self.work.runs else "there is no new run"
        job: Any
        job, _ = self._find_work(command.target)
        is_open = job.outcome is None and job.retrying_until_ms is None
        return None if is_open else f"{job.id} is {job.outcome}, or still backs off"

    def _set_priority(self, command: commands.SetPriority) -> str | None:
        subject, jobs = self._find_work(command.target)
        run = self.state.runs.get(subject.id)
        entities: list[Any] = [*(self.state.tasks[job.id] for job in jobs), *([] if run is None else [run])]
        for entity in entities:
            if entity.priority != command.priority:
                return f"{entity.id} has priority {entity.priority}"
        return None

    def _set_deadline(self, command: commands.SetDeadline) -> str | None:
        subject, _ = self._find_work(command.target)
        if isinstance(subject, Job) and subject.parent_id is None:
            subject = self.work.runs[subject.run_id]
        expected_ms = None if command.deadline_s is None else self.at_ms + max(1, round(command.deadline_s * 1000))
        if subject.deadline_ms == expected_ms:
            return None
        return f"{subject.id} has to have ended by {subject.deadline_ms}"

    def _reassign(self, command: commands.Reassign) -> str | None:
        job = self.work.jobs[command.task.removeprefix("@")]
        if not self._is_target(command.agent, self.agent):
            return f"{job.id} went to {self.agent.name}"
        queue = self.state.tasks[job.id].queue
        return None if queue == f"agent:{self.agent.id}" == job.queue else f"{job.id} waits in {queue}"

    def _answer(self, command: commands.Answer) -> str | None:
        open_ids = [question_id for question_id in self.result["answered"] if question_id in self.work.questions]
        return f"{open_ids[0]} still waits" if open_ids else None

    def _revoke_grant(self, command: commands.RevokeGrant) -> str | None:
        grant = self.result["grant_id"]
        return f"{grant} still holds" if grant in self.team.grants else None

    def _switch_strategy(self, command: commands.SwitchStrategy) -> str | None:
        supervisor = self.state.supervisors[self.supervisor.id]
        if command.scope == "run":
            return None
        for name in ("mode", "aggregation", "aggregator"):
            expected = getattr(command, name)
            if expected is not None and getattr(supervisor, name) != expected:
                return f"{name} of {supervisor.id} is {getattr(supervisor, name)}"
        if command.lead is not None and supervisor.options.lead != command.lead:
            return f"{supervisor.options.lead} leads"
        is_set = command.settings is None or dict(supervisor.options.settings) == command.settings
        return None if is_set else f"{supervisor.id} has the settings {supervisor.options.settings}"

    def _add_agent(self, command: commands.AddAgent) -> str | None:
        added = self.result.get("agents", [self.result])
        evicted_ids = {addition["evicted"] for addition in added if "evicted" in addition}
        expected_specs = [(command.spec, command.name), *((spec, None) for spec in command.also)]
        pairs = zip(added, expected_specs, strict=True)
        faults = (self._check_added(addition["agent_id"], spec, name, evicted_ids) for addition, (spec, name) in pairs)
        return next((wrong for wrong in faults if wrong is not None), None)

    def _check_added(
        self, agent_id: str, spec: AgentSpec | None, name: str | None, evicted_ids: set[str]
    ) -> str | None:
        agent = self.team.agents.get(agent_id)
        if agent is None:
            return None if agent_id in evicted_ids else f"{agent_id} is not there"
        if spec is not None and (agent.spec, agent.name) != (spec, name or spec.name):
            return f"{agent.id} is {agent.name}, {agent.spec}"
        if evicted_ids:
            return None  # its supervisor may have had too many before
        siblings = [sibling for sibling in self.team.agents.values() if sibling.supervisor_id == agent.supervisor_id]
        max_agents = self.team.supervisors[agent.supervisor_id].max_agents
        if len(siblings) <= max_agents:
            return None
        return f"{agent.supervisor_id} has {len(siblings)} of {max_agents} agents"

    def _add_supervisor(self, command: commands.AddSupervisor) -> str | None:
        if (command.parent is None) != (self.supervisor.parent_id is None):
            return f"{self.supervisor.id} stands under {self.supervisor.parent_id}"
        return self._check_description(self.supervisor, command.team)

    def _load_team(self, command: commands.LoadTeam) -> str | None:
        if (missing := _missing_member(command.team)) is not None:
            return missing
        named = [supervisor for supervisor in self.team.supervisors.values() if supervisor.name == command.team.name]
        # A file does not name the parent of its root, which stays where an operator has moved it.
        moved = (self.state.declared[supervisor.id] for supervisor in named if supervisor.id in self.state.declared)
        is_there = any(supervisor.parent_id is None for supervisor in named) or any(
            declaration.parent_id == "" for declaration in moved
        )
        return None if is_there else "it is not there"

    def _replace_team(self, command: commands.ReplaceTeam) -> str | None:
        return self._check_description(self.supervisor, command.team)

    def _check_description(self, supervisor: SupervisorEntry, team: SupervisorSpec) -> str | None:
        """Return where a supervisor and what is under it differ from a description."""
        state = self.state.supervisors[supervisor.id]
        for name in ("mode", "aggregation", "participants", "auto_discover", "max_matches", "default_agent"):
            if getattr(state, name) != getattr(team, name):
                return f"{name} of {supervisor.id} is {getattr(state, name)}"
        if (supervisor.max_parallel, supervisor.max_agents) != (team.max_parallel, team.max_agents):
            return f"{supervisor.id} has other limits"
        differs = [
            name
            for name in OPTIONS
            if _normalized_option(state.options, name) != _normalized_option(team.options, name)
        ]
        if differs:
            return f"{supervisor.id} has other options: {differs}"
        remaining_members = {
            entry.name: entry for entry in map(self.team.member, supervisor.members) if not entry.is_leaving
        }
        for member in team.members:
            entry = remaining_members.pop(member.name, None)
            if isinstance(member, AgentSpec):
                if not isinstance(entry, AgentEntry) or entry.spec != member:
                    return f"{member.name} under {supervisor.id} is not like its description"
            elif not isinstance(entry, SupervisorEntry):
                return f"there is no supervisor {member.name} under {supervisor.id}"
            elif (wrong := self._check_description(entry, member)) is not None:
                return wrong
        return f"{sorted(remaining_members)} stay under {supervisor.id}" if remaining_members else None

    def _register_spec(self, command: commands.RegisterSpec) -> str | None:
        key = self.state.registry.get(command.spec.name)
        return None if key is not None and self.state.specs[key] == command.spec else "the registry has not"

    def _unregister_spec(self, command: commands.UnregisterSpec) -> str | None:
        return "the registry has it" if command.name in self.state.registry else None

    def _remove_member(self, command: commands.RemoveMember) -> str | None:
        agent = self.agent
        if agent is None:
            is_there = command.target.removeprefix("@") in self.team.supervisors
            return f"{command.target} is there" if is_there else None
        if agent.removing != (command.mode or "drain"):
            return f"{agent.id} is being removed: {agent.removing}"
        for job in self.work.at_work(agent.id):
            if agent.removing != "drain" and job.attempt is not None and not job.attempt.stop_reasons:
                return f"{job.id} goes on"
        return None

    def _swap_agent(self, command: commands.SwapAgent) -> str | None:
        return self._check_swapped(command, self.result["agent_id"])

    def _swap_agents(self, command: commands.SwapAgents) -> str | None:
        pairs = zip(command.swaps, self.result["agents"], strict=True)
        faults = (self._check_swapped(swap, result["agent_id"]) for swap, result in pairs)
        return next((wrong for wrong in faults if wrong is not None), None)

    def _check_swapped(self, swap: commands.SwapAgent, agent_id: str) -> str | None:
        agent = self.team.agents[agent_id]
        if not self._is_target(swap.agent, agent):
            return f"{agent.name} was swapped"
        if swap.generation not in (None, agent.generation - 1):
            return f"{agent.id} was g{agent.generation - 1}"
        if swap.spec is not None and agent.spec != swap.spec:
            return f"{agent.id} has another spec"
        model = agent.spec.model if isinstance(agent.spec.model, str | None) else agent.spec.model[0]
        if swap.model is not None and model != swap.model:
            return f"{agent.id} has another model"
        for job in self.work.at_work(agent_id) if swap.mode != "drain" else ():
            if (
                job.attempt is not None
                and job.attempt.generation == agent.generation - 1
                and not job.attempt.stop_reasons
            ):
                return f"{job.id} stays on the generation before"
        return None

    def _rollback(self, command: commands.Rollback) -> str | None:
        is_so = self.agent.generation == self.result["generation"]
        is_so = is_so and command.generation in (None, self.agent.generation - 1)
        return None if is_so else f"{self.agent.id} is at g{self.agent.generation}"

    def _change_capabilities(self, command: commands.ChangeCapabilities) -> str | None:
        skills = {word.casefold() for word in self.agent.spec.specialties}
        add = {" ".join(word.split()).casefold() for word in command.add}
        remove = {" ".join(word.split()).casefold() for word in command.remove}
        return None if add <= skills and not remove & skills else f"{self.agent.id} has {sorted(skills)}"

    def _move(self, command: commands.Move) -> str | None:
        member_id, parent_id = self.result["id"], self.result["parent_id"]
        parent = self.team.supervisors[parent_id]
        if not self._is_target(command.parent, parent) or member_id not in parent.members:
            return f"{member_id} is not under {command.parent}"
        is_above_itself = any(ancestor.id == member_id for ancestor in self.team.lineage(parent_id))
        return f"{member_id} is above itself" if is_above_itself else None

    def _change_supervisor(self, command: commands.ChangeSupervisor) -> str | None:
        changes: list[tuple[Any, str, Any]] = [
            (self.supervisor, name, getattr(command, name)) for name in ("max_parallel", "max_agents")
        ]
        if command.options is not None:
            changes += [(self.supervisor.options, name, _normalized_option(command.options, name)) for name in OPTIONS]
        for owner, name, expected in changes:
            if expected is not None and getattr(owner, name) != expected:
                return f"{name} of {self.supervisor.id} is {getattr(owner, name)}"
        return None


def _missing_member(team: SupervisorSpec) -> str | None:
    """Return what is wrong with a description that refers to members that it does not have."""
    names = {member.name for member in team.members}
    named = (team.default_agent, team.aggregator, team.options.lead, *(team.participants or ()))
    missing = [name for name in named if name is not None and name not in names]
    if missing:
        return f"{team.name} names {missing[0]}, who is not there"
    below = (_missing_member(member) for member in team.members if isinstance(member, SupervisorSpec))
    return next((fault for fault in below if fault), None)


def _normalized_option(options: SupervisorOptions, name: str) -> Any:
    value = getattr(options, name)
    return value or None if isinstance(value, tuple | dict) else value
