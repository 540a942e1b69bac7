"""Placement: what waits for a capability goes where somebody is able."""

from engine.core.queries.takers import FEW
from engine.simulation.chronicle import Chronicle
from engine.simulation.laws.failures import is_at_hand
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.team import AgentEntry


def _may_take_it(books: Chronicle, agent: AgentEntry) -> bool:
    """Tell whether an agent is able, or will be once the attempt that its circuit let through is done."""
    return is_at_hand(books, agent) or books.failures.circuit(agent.id).stands == "half_open"


@law(When.AFTER_BATCH)
def what_nobody_near_can_do_goes_elsewhere(books: Chronicle) -> str | None:
    """No task waits for a capability among those who cannot do it now, while another of its tree has it and can."""
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
