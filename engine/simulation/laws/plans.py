"""Plans: whose a graph is, what a switch of the strategy keeps, how many answers are enough, who tunes itself."""

from engine.core import events
from engine.core.capability_index import CapabilityIndex
from engine.core.discovery import Candidate, choose
from engine.core.state import TaskStatus
from engine.simulation.chronicle import Chronicle
from engine.simulation.laws.failures import is_at_hand
from engine.simulation.laws.registry import law
from engine.simulation.laws.spending import has_something_left
from engine.simulation.ledger.team import AgentEntry
from engine.simulation.ledger.work import Job

WHOLE = ("sequential", "parallel")
"""Strategies in which everybody who takes part has a node."""


@law(events.GroupPlanned)
def a_graph_is_for_those_who_take_part(books: Chronicle, event: events.GroupPlanned) -> str | None:
    """A graph is for the members that take part; where they are discovered, for those that have what is asked for."""
    group = books.work.jobs[event.task_id]
    supervisor = books.state.supervisors.get(group.worker_id or "")
    if supervisor is None:
        return None
    members = [one for one in books.team.supervisors[supervisor.id].members if not _leaves(books, one)]
    wanted = [one for one in members if supervisor.participants is None or _name(books, one) in supervisor.participants]
    found = {node.worker_id for node in event.nodes if node.worker_id is not None}
    if event.mode not in WHOLE:
        return None
    leaving = {one for one in books.team.supervisors if _leaves(books, one)}  # may still get work from one that leaves
    others = found - {*wanted, *leaving, *(one for one in members if _name(books, one) == supervisor.aggregator)}
    default = {one for one in members if _name(books, one) == supervisor.default_agent}
    if others and found != default:
        return f"the graph {group.id} is for {sorted(others)}; {wanted} take part"
    if supervisor.auto_discover and not supervisor.options.strategies:
        workers = [node.worker_id for node in event.nodes if node.worker_id is not None]
        return _discovered_otherwise(books, group, wanted, workers, default=[*default])
    left = [one for one in wanted if one not in found and _name(books, one) != supervisor.aggregator]
    is_whole = not (supervisor.auto_discover or supervisor.options.strategies)
    return f"the graph {group.id} is not for {left}, who take part" if left and is_whole else None


def _discovered_otherwise(
    books: Chronicle, group: Job, wanted: list[str], found: list[str], *, default: list[str]
) -> str | None:
    """Tell where a graph is not for those who are found when everybody's words are read once more.

    Those who can work now are asked first; the default agent need not take part.
    """
    request = books.work.runs[group.run_id].request
    supervisor = books.state.supervisors[group.worker_id or ""]
    teams = [below for one in wanted if one in books.team.supervisors for below in books.team.below(one)]
    if group.parent_id is not None or not isinstance(request, str) or any(_leaves(books, one) for one in teams):
        return None
    reached = {one: one for one in wanted if one in books.team.agents}
    for team in (one for one in wanted if one in books.team.supervisors):
        reached |= {agent.id: team for agent in books.team.under(team) if agent.removing is None}
    everybody = {one: _candidate(books, one) for one in reached}
    first = CapabilityIndex(each for one, each in everybody.items() if _may_begin(books, books.team.agents[one]))
    choice = choose(request, everybody.values(), limit=supervisor.max_matches, first=first)
    chosen = dict.fromkeys(reached[match.id] for match in choice.matches) or dict.fromkeys(default)
    one_apart = [one for one in wanted if _name(books, one) == supervisor.aggregator]
    if [one for one in found if one not in one_apart] != [one for one in chosen if one not in one_apart]:
        return f"{group.id} asks for {request!r:.60}, which {[*chosen]} answer to, and it is for {found}"
    return None


def _may_begin(books: Chronicle, agent: AgentEntry) -> bool:
    return is_at_hand(books, agent) and has_something_left(books, agent)


def _candidate(books: Chronicle, agent_id: str) -> Candidate:
    entry, agent = books.team.agents[agent_id], books.state.agents[agent_id]
    return Candidate(
        id=entry.id,
        name=entry.name,
        specialties=tuple(entry.spec.specialties),
        description=entry.spec.description,
        category=entry.spec.category,
        done=books.spending.done[agent_id],
        failed=books.spending.failed[agent_id],
        load=len(books.work.at_work(agent_id)),
        age=agent.created_seq,
    )


def _name(books: Chronicle, member_id: str) -> str:
    agent = books.team.agents.get(member_id)
    return books.team.supervisors[member_id].name if agent is None else agent.name


def _leaves(books: Chronicle, member_id: str) -> bool:
    agent = books.team.agents.get(member_id)
    return (books.team.supervisors[member_id].leaving if agent is None else agent.removing) is not None


@law(events.GroupPlanned)
def a_chain_is_one_after_the_other(books: Chronicle, event: events.GroupPlanned) -> str | None:
    """In a sequential graph each node comes after the one before it."""
    if event.mode != "sequential":
        return None
    for place, node in enumerate(event.nodes):
        wanted = [] if place == 0 else [event.nodes[place - 1].task_id]
        if node.after != wanted:
            return f"{node.task_id} of the chain {event.task_id} comes after {node.after}, not {wanted}"
    return None


@law(events.StrategySwitched)
def a_switch_keeps_what_is_done(books: Chronicle, event: events.StrategySwitched) -> str | None:
    """A switch of the strategy keeps all work that is done, and goes on with what is at work or stops it."""
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
def as_many_answers_come_as_are_needed(books: Chronicle, event: events.NeedMet) -> str | None:
    """A node that needs a number of answers goes on when that many are there, and not before."""
    job = books.work.jobs[event.task_id]
    done = [one for one in event.answers if books.work.jobs[one].outcome is TaskStatus.DONE]
    if len(done) == job.need == len(event.answers):
        return None
    return f"{job.id} needs {job.need} answers and goes on with {event.answers}, of which {done} are done"


@law(events.CoordinationTuned)
def a_tuned_supervisor_wanted_it(books: Chronicle, event: events.CoordinationTuned) -> str | None:
    """A supervisor changes how it coordinates where it was told to, for what it was told to look at."""
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
def tuning_leaves_open_runs_alone(books: Chronicle, event: events.StrategySwitched) -> str | None:
    """A supervisor that is tuned goes on with the runs that are open as they are."""
    before = books.events[-1] if books.events else None
    is_tuned = isinstance(before, events.CoordinationTuned) and before.supervisor_id == event.supervisor_id
    return f"{event.supervisor_id} is tuned, and rewires open runs" if is_tuned and event.groups else None
