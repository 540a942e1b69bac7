"""Work that nobody may take: a person is asked about it, once for each queue, and about no other work."""

from engine.core.state import NOBODY
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.team import AgentEntry
from engine.simulation.ledger.work import Job, Question
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger


@law(When.AT_MOMENTS)
def whoever_waits_for_nobody_is_asked_about(world: ObservedWorld) -> str | None:
    """A person is asked about ready work that nobody may take, unless one said that it waits, and about no other."""
    ledger, state = world.ledger, world.state
    asked = {_queue_of(ledger, question.subject): question for question in _questions(ledger)}
    for key, question in asked.items():
        takers = _takers(ledger, key)
        if takers:
            return f"{question.id} asks about {question.subject}, which {takers[0].id} may take"
    for job in ledger.work.jobs.values():
        if not ledger.work.is_ready(job) or job.queue in asked or _takers(ledger, job.queue or ""):
            continue
        queue = state.queues.get(job.queue or "")
        if queue is None or not queue.patient:
            return f"{job.id} waits in {job.queue}, from which nobody may take, and nobody is asked"
    return None


def _questions(ledger: ShadowLedger) -> list[Question]:
    return [question for question in ledger.work.questions.values() if question.kind == NOBODY]


def _queue_of(ledger: ShadowLedger, task_id: str) -> str:
    """Return the queue of a task; one with an attempt waits for its agent."""
    job: Job = ledger.work.jobs[task_id]
    return f"agent:{job.attempt.agent_id}" if job.attempt is not None else job.queue or ""


def _takers(ledger: ShadowLedger, key: str) -> list[AgentEntry]:
    agents = ledger.team.agents.values()
    return [agent for agent in agents if key in ledger.team.queues_of(agent.id) and _may_take(agent, key)]


def _may_take(agent: AgentEntry, key: str) -> bool:
    if agent.removing is None:
        return True
    is_held = agent.paused or agent.away or agent.error is not None
    return agent.removing == "drain" and key == f"agent:{agent.id}" and not is_held
