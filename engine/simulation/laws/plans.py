"""Plans: participants of a graph, switches of strategy, quorums, tuning, and where work waits."""

from engine.core import events
from engine.core.discovery.candidate import Candidate
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from engine.core.queries.work.queues import NAMED_MEMBERS_PREFIX
from engine.core.state import TaskStatus
from engine.simulation.laws.failures import is_available
from engine.simulation.laws.registry import When, law
from engine.simulation.laws.spending import has_budget_left
from engine.simulation.ledger.team import AgentEntry, TeamLedger
from engine.simulation.ledger.work import Job
from engine.simulation.shadow_ledger import ShadowLedger

FULL_STRATEGIES = ("sequential", "parallel")
"""Strategies in which every participant has a node."""


@law(events.GroupPlanned)
def a_graph_is_for_those_who_take_part(ledger: ShadowLedger, event: events.GroupPlanned) -> str | None:
    """A graph has nodes for the participants; with discovery, for those that match the request."""
    team, group = ledger.team, ledger.work.jobs[event.task_id]
    supervisor = ledger.state.supervisors.get(group.worker_id or "")
    if supervisor is None or event.mode not in FULL_STRATEGIES:
        return None
    members = [member for member in map(team.member, team.supervisors[supervisor.id].members) if not member.is_leaving]
    takes_part = supervisor.participants
    participant_ids = [
        member.id for member in members if takes_part is None or member.name in takes_part or _is_found(team, member.id)
    ]
    if takes_part is None and not supervisor.auto_discover:  # made agents work for those who made or name them
        unmade_ids = [member_id for member_id in participant_ids if member_id not in ledger.recipes.makers]
        participant_ids = unmade_ids or participant_ids
    aggregator_ids = [member.id for member in members if member.name == supervisor.aggregator]
    default_ids = [member.id for member in members if member.name == supervisor.default_agent]
    worker_ids = [node.worker_id for node in event.nodes if node.worker_id is not None]
    # These may still get work from a leaving member.
    leaving = [entry.id for entry in team.supervisors.values() if entry.is_leaving]
    others = {*worker_ids}.difference(participant_ids, leaving, aggregator_ids)
    if others and {*worker_ids} != {*default_ids}:
        return f"the graph {group.id} is for {sorted(others)}; {participant_ids} take part"
    if supervisor.auto_discover and not supervisor.options.strategies:
        chosen = _discover_members(ledger, group, participant_ids, default_ids=default_ids)
        if chosen is not None and [worker_id for worker_id in worker_ids if worker_id not in aggregator_ids] != [
            member_id for member_id in chosen if member_id not in aggregator_ids
        ]:
            request = ledger.work.runs[group.run_id].request
            return f"{group.id} asks for {request!r:.60}, which {chosen} answer to, and it is for {worker_ids}"
        return None
    missing_ids = [
        member_id for member_id in participant_ids if member_id not in worker_ids and member_id not in aggregator_ids
    ]
    is_whole = not (supervisor.auto_discover or supervisor.options.strategies)
    return f"the graph {group.id} is not for {missing_ids}, who take part" if missing_ids and is_whole else None


def _is_found(team: TeamLedger, member_id: str) -> bool:
    agent = team.agents.get(member_id)
    return agent is not None and agent.origin is not None and agent.origin.kind == "discovery"


def _discover_members(
    ledger: ShadowLedger, group: Job, participant_ids: list[str], *, default_ids: list[str]
) -> list[str] | None:
    """Return the members that a new search of all members finds; None where the text searched for is not known.

    Members that are able to work now come first; the default agent need not take part. Where none is found, the
    request goes to the members that worked on the one before it in its conversation; the ledger does not know them.
    """
    team, request = ledger.team, ledger.work.runs[group.run_id].request
    below = [
        team.supervisors[each]
        for member_id in participant_ids
        if member_id in team.supervisors
        for each in team.subtree_ids(member_id)
    ]
    if (
        group.parent_id is not None
        or not isinstance(request, str)
        or any(supervisor.is_leaving for supervisor in below)
    ):
        return None
    reached = {member_id: member_id for member_id in participant_ids if member_id in team.agents}
    for member in (supervisor_id for supervisor_id in participant_ids if supervisor_id in team.supervisors):
        reached |= {agent.id: member for agent in team.agents_under(member) if not agent.is_leaving}
    candidates = {agent_id: _candidate(ledger, agent_id) for agent_id in reached}
    able = (agent_id for agent_id in reached if is_available(ledger, team.agents[agent_id]))
    first = CapabilityIndex(candidates[agent_id] for agent_id in able if has_budget_left(ledger, team.agents[agent_id]))
    limit = ledger.state.supervisors[group.worker_id or ""].discovery.max_matches
    choice = choose(request, candidates.values(), limit=limit, first=first)
    return [*dict.fromkeys(reached[match.id] for match in choice.matches)] or default_ids or None


def _candidate(ledger: ShadowLedger, agent_id: str) -> Candidate:
    entry, agent = ledger.team.agents[agent_id], ledger.state.agents[agent_id]
    return Candidate(
        id=entry.id,
        name=entry.name,
        specialties=tuple(entry.spec.specialties),
        description=entry.spec.description,
        category=entry.spec.category,
        done=ledger.spending.ends[agent_id, "done"],
        failed=ledger.spending.ends[agent_id, "failed"],
        load=len(ledger.work.at_work(agent_id)),
        age=agent.created_seq,
    )


@law(events.GroupPlanned)
def a_chain_is_one_after_the_other(ledger: ShadowLedger, event: events.GroupPlanned) -> str | None:
    """In a sequential graph each node comes after the one before it."""
    if event.mode != "sequential":
        return None
    for index, node in enumerate(event.nodes):
        expected = [] if index == 0 else [event.nodes[index - 1].task_id]
        if node.after != expected:
            return f"{node.task_id} of the chain {event.task_id} comes after {node.after}, not {expected}"
    return None


@law(events.StrategySwitched)
def a_switch_keeps_what_is_done(ledger: ShadowLedger, event: events.StrategySwitched) -> str | None:
    """A switch of strategy keeps finished work, and continues or stops what is at work."""
    work = ledger.work
    for change in event.groups:
        if not (change.after or change.added):
            continue  # all that is left is to join the outputs
        for job in (work.jobs[child_id] for child_id in work.jobs[change.task_id].children):
            is_work = job.kind in ("agent", "group")
            if is_work and job.outcome is TaskStatus.DONE and job.id not in change.kept:
                return f"{job.id} is done, and the switch of {change.task_id} forgets it"
            if is_work and job.attempt is not None and job.id not in (*change.kept, *change.cancelled):
                return f"{job.id} is at work, and the switch of {change.task_id} neither keeps nor stops it"
    return None


@law(events.NeedMet)
def as_many_answers_come_as_are_needed(ledger: ShadowLedger, event: events.NeedMet) -> str | None:
    """A node with a quorum goes on when that many answers are there, and not before: the first in planned order."""
    jobs = ledger.work.jobs
    job = jobs[event.task_id]
    before = job.after if job.sees is None else job.sees
    planned = (jobs[child_id] for child_id in jobs[job.parent_id or ""].children if child_id in before)
    done = [node.id for node in planned if node.outcome is TaskStatus.DONE and node.check is None]
    if job.need is not None and len(done) >= job.need and event.answers == done[: job.need]:
        return None
    return f"{job.id} needs {job.need} answers and goes on with {event.answers}; {done} are done"


@law(events.CoordinationTuned)
def a_tuned_supervisor_wanted_it(ledger: ShadowLedger, event: events.CoordinationTuned) -> str | None:
    """A supervisor tunes only what its settings allow it to tune."""
    optimize = ledger.team.supervisors[event.supervisor_id].options.optimize
    if optimize is None:
        return f"{event.supervisor_id} is tuned ({event.kind}), and was not told to be"
    is_allowed = {
        "parallel": optimize.switch_to_parallel_when_slow,
        "selection": optimize.optimize_agent_selection,
        "back": True,
    }
    return None if is_allowed[event.kind] else f"{event.supervisor_id} is tuned ({event.kind}): {optimize}"


@law(events.StrategySwitched)
def tuning_leaves_open_runs_alone(ledger: ShadowLedger, event: events.StrategySwitched) -> str | None:
    """Tuning a supervisor leaves its open runs unchanged."""
    before = ledger.events[-1] if ledger.events else None
    is_tuned = isinstance(before, events.CoordinationTuned) and before.supervisor_id == event.supervisor_id
    return f"{event.supervisor_id} is tuned, and rewires open runs" if is_tuned and event.groups else None


@law(When.AFTER_BATCH)
def tasks_reach_able_agents(ledger: ShadowLedger) -> str | None:
    """No task waits for agents that are not able now while another agent of its tree has the capability and is able."""
    for job in ledger.work.jobs.values():
        kind, _, rest = (job.queue or "").partition(":")
        if kind != "able" or not ledger.work.is_ready(job):
            continue
        place, _, capability = rest.partition(":")
        served = ledger.team.served.get(job.queue or "", [])
        if capability.startswith(NAMED_MEMBERS_PREFIX) or any(
            _may_become_able(ledger, ledger.team.agents[agent_id]) for agent_id in served
        ):
            continue
        *_, root = ledger.team.lineage(place.partition("+")[0])
        asker = ledger.work.jobs.get(job.asked_by or job.parent_id or "")
        for agent in ledger.team.agents_under(root.id):
            has_it = capability.casefold() in {word.casefold() for word in agent.spec.specialties}
            is_asker = asker is not None and asker.agent_id == agent.id
            # A leaving member gets no work from a supervisor that stays.
            leaves = any(supervisor.leaving for supervisor in ledger.team.lineage(agent.supervisor_id))
            if has_it and not is_asker and not leaves and is_available(ledger, agent):
                return f"{job.id} waits in {job.queue}, where nobody can; {agent.id} has {capability!r}, and could"
    return None


def _may_become_able(ledger: ShadowLedger, agent: AgentEntry) -> bool:
    """Return whether an agent is able, or will be once the attempt that its circuit let through is done."""
    return is_available(ledger, agent) or ledger.failures.circuit(agent.id).status == "half_open"
