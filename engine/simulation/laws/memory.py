"""Memory: insights of agents, which outlive a run."""

from engine.core import events
from engine.simulation.laws.registry import When, law
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger


@law(When.SAMPLED, When.AT_THE_END)
def agents_know_what_they_remembered(world: ObservedWorld) -> str | None:
    """An agent keeps its insights until it is removed, or more important ones displace them."""
    books = world.books
    actual, expected = books.memory.insights_in(books.state), books.memory.insights
    for agent_id in {**expected, **actual}:
        if actual.get(agent_id, {}) != expected.get(agent_id, {}):
            return f"{agent_id} knows {[*actual.get(agent_id, {})]}; it remembered {[*expected.get(agent_id, {})]}"
    return None


@law(events.Remembered)
def an_insight_is_kept_once(books: ShadowLedger, event: events.Remembered) -> str | None:
    """An insight of a step is stored once, for the agent at work, under the id that the step returned."""
    job = books.work.jobs[event.task_id]
    if job.attempt is None or job.attempt.agent_id != event.agent_id:
        return f"{event.agent_id} remembers something in {event.task_id}, and is not at work there"
    if any(event.insight_id in insights for insights in books.memory.insights.values()):
        return f"{event.insight_id} is remembered twice"
    last = books.events[-1] if books.events else None
    if not isinstance(last, events.StepRecorded) or last.output != event.insight_id or last.task_id != event.task_id:
        return f"{event.insight_id} is remembered, and no step says so"
    return None
