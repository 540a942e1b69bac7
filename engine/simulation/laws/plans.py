"""Plans: participants of a graph, switches of strategy, quorums, tuning, and where work waits."""

from engine.core import events
from engine.core.discovery.candidate import Candidate
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from engine.core.queries.work.queues import FEW
from engine.core.state import TaskStatus
from engine.simulation.laws.failures import is_at_hand
from engine.simulation.laws.registry import When, law
from engine.simulation.laws.spending import has_something_left
from engine.simulation.ledger.team import AgentEntry
from engine.simulation.ledger.work import Job
from engine.simulation.shadow_ledger import ShadowLedger

WHOLE = ("sequential", "parallel")
"""Strategies in which every participant has a node."""


@law(events.GroupPlanned)
def a_graph_is_for_those_who_take_part(books: ShadowLedger, event: events.GroupPlanned) -> str | None:
    """A graph has nodes for the participants; with discovery, for those that match the request."""
    team, group = books.team, books.work.jobs[event.task_id]
    supervisor = books.state.supervisors.get(group.worker_id or "")
    if supervisor is None or event.mode not in WHOLE:
        return None
    members = [one for one in map(team.member, team.supervisors[supervisor.id].members) if not one.is_leaving]
    takes_part = supervisor.participants
    wanted = [one.id for one in members if takes_part is None or one.name in takes_part]
    apart = [one.id for one in members if one.name == supervisor.aggregator]
    default = [one.id for one in members if one.name == supervisor.default_agent]
    found = [node.worker_id for node in event.nodes if node.worker_id is not None]
    leaving = [one.id for one in team.supervisors.values() if one.is_leaving]  # may still get work from one that leaves
    others = {*found}.difference(wanted, leaving, apart)
    if others and {*found} != {*default}:
        return f"the graph {group.id} is for {sorted(others)}; {wanted} take part"
    if supervisor.auto_discover and not supervisor.options.strategies:
        chosen = _discovered(books, group, wanted, default=default)
        if chosen is not None and [one for one in found if one not in apart] != [
            one for one in chosen if one not in apart
        ]:
            request = books.work.runs[group.run_id].request
            return f"{group.id} asks for {request!r:.60}, which {chosen} answer to, and it is for {found}"
        return None
    left = [one for one in wanted if one not in found and one not in apart]
    is_whole = not (supervisor.auto_discover or supervisor.options.strategies)
    return f"the graph {group.id} is not for {left}, who take part" if left and is_whole else None


def _discovered(books: ShadowLedger, group: Job, wanted: list[str], *, default: list[str]) -> list[str] | None:
    """Return the members that a new search of all members finds; None where the text searched for is not known.

    Members that are able to work now come first; the default agent need not take part. Where none is found, the
    request goes to the members that worked on the one before it in its conversation; the ledger does not know them.
    """
    team, request = books.team, books.work.runs[group.run_id].request
    below = [team.supervisors[each] for one in wanted if one in team.supervisors for each in team.below(one)]
    if group.parent_id is not None or not isinstance(request, str) or any(one.is_leaving for one in below):
        return None
    reached = {one: one for one in wanted if one in team.agents}
    for member in (one for one in wanted if one in team.supervisors):
        reached |= {agent.id: member for agent in team.under(member) if not agent.is_leaving}
    everybody = {one: _candidate(books, one) for one in reached}
    able = (one for one in reached if is_at_hand(books, team.agents[one]))
    first = CapabilityIndex(everybody[one] for one in able if has_something_left(books, team.agents[one]))
    limit = books.state.supervisors[group.worker_id or ""].max_matches
    choice = choose(request, everybody.values(), limit=limit, first=first)
    return [*dict.fromkeys(reached[match.id] for match in choice.matches)] or default or None


def _candidate(books: ShadowLedger, agent_id: str) -> Candidate:
    entry, agent = books.team.agents[agent_id], books.state.agents[agent_id]
    return Candidate(
        id=entry.id,
        name=entry.name,
        specialties=tuple(entry.spec.specialties),
        description=entry.spec.description,
        category=entry.spec.category,
        done=books.spending.ended[agent_id, "done"],
        failed=books.spending.ended[agent_id, "failed"],
        load=len(books.work.at_work(agent_id)),
        age=agent.created_seq,
    )


@law(events.GroupPlanned)
def a_chain_is_one_after_the_other(books: ShadowLedger, event: events.GroupPlanned) -> str | None:
    """In a sequential graph each node comes after the one before it."""
    if event.mode != "sequential":
        return None
    for place, node in enumerate(event.nodes):
        wanted = [] if place == 0 else [event.nodes[place - 1].task_id]
        if node.after != wanted:
            return f"{node.task_id} of the chain {event.task_id} comes after {node.after}, not {wanted}"
    return None


@law(events.StrategySwitched)
def a_switch_keeps_what_is_done(books: ShadowLedger, event: events.StrategySwitched) -> str | None:
    """A switch of strategy keeps finished work, and continues or stops what is at work."""
    work = books.work
    for change in event.groups:
        if not (change.after or change.added):
            continue  # nothing is left to do but to join what is done
        for job in (work.jobs[one] for one in work.jobs[change.task_id].children):
            is_work = job.kind in ("agent", "group")
            if is_work and job.outcome is TaskStatus.DONE and job.id not in change.kept:
                return f"{job.id} is done, and the switch of {change.task_id} forgets it"
            if is_work and job.attempt is not None and job.id not in (*change.kept, *change.cancelled):
                return f"{job.id} is at work, and the switch of {change.task_id} neither keeps nor stops it"
    return None


@law(events.NeedMet)
def as_many_answers_come_as_are_needed(books: ShadowLedger, event: events.NeedMet) -> str | None:
    """A node with a quorum goes on when that many answers are there, and not before: the first in planned order."""
    jobs = books.work.jobs
    job = jobs[event.task_id]
    before = job.after if job.sees is None else job.sees
    planned = (jobs[one] for one in jobs[job.parent_id or ""].children if one in before)
    done = [one.id for one in planned if one.outcome is TaskStatus.DONE and one.check is None]
    if job.need is not None and len(done) >= job.need and event.answers == done[: job.need]:
        return None
    return f"{job.id} needs {job.need} answers and goes on with {event.answers}; {done} are done"


@law(events.CoordinationTuned)
def a_tuned_supervisor_wanted_it(books: ShadowLedger, event: events.CoordinationTuned) -> str | None:
    """A supervisor tunes only what its settings allow it to tune."""
    wanted = books.team.supervisors[event.supervisor_id].options.optimize
    if wanted is None:
        return f"{event.supervisor_id} is tuned ({event.kind}), and was not told to be"
    is_meant = {
        "parallel": wanted.switch_to_parallel_when_slow,
        "selection": wanted.optimize_agent_selection,
        "back": True,
    }
    return None if is_meant[event.kind] else f"{event.supervisor_id} is tuned ({event.kind}): {wanted}"


@law(events.StrategySwitched)
def tuning_leaves_open_runs_alone(books: ShadowLedger, event: events.StrategySwitched) -> str | None:
    """Tuning a supervisor leaves its open runs unchanged."""
    before = books.events[-1] if books.events else None
    is_tuned = isinstance(before, events.CoordinationTuned) and before.supervisor_id == event.supervisor_id
    return f"{event.supervisor_id} is tuned, and rewires open runs" if is_tuned and event.groups else None


@law(When.AFTER_BATCH)
def what_nobody_near_can_do_goes_elsewhere(books: ShadowLedger) -> str | None:
    """No task waits for agents that are not able now while another agent of its tree has the capability and is able."""
    for job in books.work.jobs.values():
        kind, _, rest = (job.queue or "").partition(":")
        if kind != "able" or not books.work.is_ready(job):
            continue
        place, _, capability = rest.partition(":")
        served = books.team.served.get(job.queue or "", [])
        if capability.startswith(FEW) or any(_may_take_it(books, books.team.agents[one]) for one in served):
            continue
        *_, root = books.team.up(place.partition("+")[0])
        asker = books.work.jobs.get(job.asked_by or job.parent_id or "")
        for agent in books.team.under(root.id):
            has_it = capability.casefold() in {word.casefold() for word in agent.spec.specialties}
            is_asker = asker is not None and asker.agent_id == agent.id
            leaves = any(one.leaving for one in books.team.up(agent.supervisor_id))  # and gets nothing from who stays
            if has_it and not is_asker and not leaves and is_at_hand(books, agent):
                return f"{job.id} waits in {job.queue}, where nobody can; {agent.id} has {capability!r}, and could"
    return None


def _may_take_it(books: ShadowLedger, agent: AgentEntry) -> bool:
    """Tell whether an agent is able, or will be once the attempt that its circuit let through is done."""
    return is_at_hand(books, agent) or books.failures.circuit(agent.id).stands == "half_open"
