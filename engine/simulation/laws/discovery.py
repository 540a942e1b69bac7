"""Discovery: what is looked for outside a team, who may join it then, and who makes room."""

from engine.core import events
from engine.core.queries.team.code import references_of
from engine.core.specs.spec import spec_hash
from engine.simulation.laws.registry import When, law
from engine.simulation.laws.team import newcomer_after
from engine.simulation.ledger.work import Job
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger


@law(events.PlanAsked, events.Discovered)
def a_request_is_searched_for_once(ledger: ShadowLedger, event: events.PlanAsked | events.Discovered) -> str | None:
    """Each engine searches for a graph at most once, no engine once a search has ended, and none while it is paused."""
    search = ledger.discovery.searches.get(event.task_id)
    if isinstance(event, events.Discovered):
        is_open = search is not None and search.is_asked and not search.has_ended
        return None if is_open else f"a search for {event.task_id} ends that is not under way"
    if event.words and ledger.work.runs[event.run_id].paused:
        return f"agents are looked for for {event.task_id}, and {event.run_id} is paused"
    if search is None or not event.words:
        return None
    if search.has_ended:
        return f"agents are looked for again for {event.task_id}, by {event.words}"
    return f"agents are looked for twice at once for {event.task_id}" if search.is_asked else None


@law(events.GroupPlanned)
def a_graph_waits_for_its_search(ledger: ShadowLedger, event: events.GroupPlanned) -> str | None:
    """No graph is planned while agents are looked for, or a person is asked about those found."""
    search = ledger.discovery.searches.get(event.task_id)
    if search is not None and search.is_asked and not search.has_ended:
        return f"{event.task_id} is planned, and agents are looked for"
    question = _question_about(ledger, event.task_id)
    return None if question is None else f"{event.task_id} is planned before {question} is answered"


@law(When.AFTER_BATCH)
def a_finished_search_lets_the_request_go_on(ledger: ShadowLedger) -> str | None:
    """Once a search has ended and its question is answered, the graph is planned, unless something blocks it."""
    for search in ledger.discovery.searches.values():
        job = ledger.work.jobs.get(search.group_id)
        if job is None or not search.has_ended or not _waits_for_its_plan(ledger, job):
            continue
        if isinstance(job_input(ledger, job), str) and _question_about(ledger, job.id) is None:
            return f"{job.id} is neither planned nor asked about, and the search for it has ended"
    return None


@law(When.AT_REST)
def a_search_ends_with_its_graph(world: ObservedWorld) -> str | None:
    """A search that has begun ends, at the latest with its graph, whatever engines end meanwhile."""
    ledger = world.ledger
    for search in ledger.discovery.searches.values():
        job = ledger.work.jobs.get(search.group_id)
        if job is not None and _waits_for_its_plan(ledger, job) and _question_about(ledger, job.id) is None:
            return f"{job.id} waits for a search that nobody carries on"
    return None


def job_input(ledger: ShadowLedger, job: Job) -> object:
    """Return the input of a group as the state holds it: a text, or a reference to one that is read first."""
    return ledger.state.tasks[job.id].input


def _waits_for_its_plan(ledger: ShadowLedger, job: Job) -> bool:
    is_open = job.outcome is None and not job.planned
    return is_open and ledger.work.are_ended(job.after) and not ledger.state.runs[job.run_id].after


def _question_about(ledger: ShadowLedger, group_id: str) -> str | None:
    questions = ledger.work.questions.values()
    ids = (question.id for question in questions if (question.kind, question.subject) == ("discover", group_id))
    return next(ids, None)


@law(events.AgentAdded)
def who_is_found_is_let_in(ledger: ShadowLedger, event: events.AgentAdded) -> str | None:
    """An agent that is found joins as it was found, by a person's answer or unasked where its supervisor allows it."""
    if event.origin is None or event.origin.kind != "discovery":
        return None
    if event.origin.hash != spec_hash(event.spec):
        return f"{event.agent_id} is another than the one that was found as {event.origin.id}"
    groups = ((ledger.work.jobs[each.group_id], each) for each in ledger.discovery.admissions.values())
    place = (event.run_id, event.supervisor_id, True)
    admissions = [
        each for group, each in groups if (group.run_id, group.worker_id, event.origin.id in each.ids) == place
    ]
    if not admissions:
        return f"{event.agent_id} joins {event.supervisor_id} as {event.origin.id}, and nobody has let it in"
    config = ledger.state.supervisors[event.supervisor_id].discovery
    if not any(each.by_person for each in admissions) and config.approve != "granted":
        return f"{event.agent_id} joins unasked, and {event.supervisor_id} wants a person to be asked"
    return None


@law(events.AgentAdded, events.ReferencesTrusted)
def nothing_joins_that_is_not_trusted(
    ledger: ShadowLedger, event: events.AgentAdded | events.ReferencesTrusted
) -> str | None:
    """An agent joins only once its code is trusted, and nothing is trusted that the user has not allowed."""
    discovery = ledger.discovery
    if isinstance(event, events.ReferencesTrusted):
        rest = event.references.keys() & (discovery.looked_up - discovery.allowed)
        return f"{sorted(rest)} are trusted, and the user has not allowed them" if rest else None
    rest = {*references_of(event.spec)} - discovery.trusted
    return f"{event.agent_id} joins with {sorted(rest)}, which nobody trusts" if rest else None


@law(events.AgentAdded)
def a_run_brings_no_more_than_it_may(ledger: ShadowLedger, event: events.AgentAdded) -> str | None:
    """No more agents join for a run than `max_new`, and none where the supervisor has all that it may have."""
    if event.origin is None or event.origin.kind != "discovery":
        return None
    supervisor = ledger.state.supervisors[event.supervisor_id]
    joined = ledger.discovery.joined[event.run_id or ""]
    if joined >= supervisor.discovery.max_new:
        return f"{event.agent_id} joins for {event.run_id}, for which {joined} have joined"
    agents = [member_id for member_id in ledger.team.supervisors[supervisor.id].members if member_id[0] == "a"]
    return f"{event.agent_id} joins {supervisor.id}, which is full" if len(agents) >= supervisor.max_agents else None


@law(events.AgentRemoved)
def only_the_found_make_room_for_the_found(ledger: ShadowLedger, event: events.AgentRemoved) -> str | None:
    """An agent that is found takes the place only of one that was found earlier, never of one that joined with it."""
    newcomer = newcomer_after(ledger, event)
    if not event.evicted or newcomer is None or newcomer.origin is None or newcomer.origin.kind != "discovery":
        return None
    origin = ledger.team.agents[event.agent_id].origin
    if origin is None or origin.kind != "discovery":
        return f"{event.agent_id} makes room for {newcomer.agent_id}, and was not found itself"
    for each in reversed(ledger.batch[: ledger.batch.index(newcomer)]):
        if isinstance(each, events.GroupPlanned):
            break
        if isinstance(each, events.AgentAdded) and (each.agent_id, each.run_id) == (event.agent_id, newcomer.run_id):
            return f"{event.agent_id} makes room for {newcomer.agent_id}, with which it has joined"
    return None
