"""Insights: none is lost, versions are one chain, and nobody reads or writes what it may not."""

from engine.core import events
from engine.core.queries.team.memory import newest_version
from engine.core.state import MAX_INSIGHTS, PRIVATE
from engine.simulation.laws.registry import When, law
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger

_SLACK_MS = 1_000
"""How long after a search its step may be recorded, besides the duration of the step."""


@law(When.SAMPLED, When.AT_THE_END)
def no_insight_is_lost(world: ObservedWorld) -> str | None:
    """An insight stays as it was written until the journal says that it is forgotten, or its agent or team has left."""
    ledger = world.ledger
    actual, expected = ledger.memory.insights_in(ledger.state), ledger.memory.insights
    if actual != expected:
        differing = sorted(key for key in {**actual, **expected} if actual.get(key) != expected.get(key))
        return f"insights {differing[:5]} are {actual.get(differing[0])}; written was {expected.get(differing[0])}"
    for insight in expected.values():
        reached, newest = (
            newest_version(ledger.state, ledger.state.insights[insight.id]),
            ledger.memory.newest(insight.chain),
        )
        if newest is None or reached.id != newest.id:
            return f"the newest version of {insight.id} is {newest}, and the state says {reached.id}"
    return None


@law(events.Remembered)
def an_insight_is_kept_once(ledger: ShadowLedger, event: events.Remembered) -> str | None:
    """An insight of a step is stored once, for the agent at work, under the id that the step returned."""
    if event.insight_id in ledger.memory.insights:
        return f"{event.insight_id} is remembered twice"
    if event.task_id is None:
        return None
    job = ledger.work.jobs[event.task_id]
    if job.attempt is None or job.attempt.agent_id != event.agent_id:
        return f"{event.agent_id} remembers something in {event.task_id}, and is not at work there"
    last = ledger.events[-1] if ledger.events else None
    if not isinstance(last, events.StepRecorded) or _acknowledged_by(last) != event.insight_id:
        return f"{event.insight_id} is remembered, and no step says so"
    return None


@law(events.StepRecorded, events.CommandApplied)
def what_is_acknowledged_is_written(
    ledger: ShadowLedger, event: events.StepRecorded | events.CommandApplied
) -> str | None:
    """A step or a command that says which insight it wrote stands in one write with it."""
    insight_id: object = None
    if isinstance(event, events.CommandApplied):
        insight_id = event.result.get("insight_id") if event.command == "remember" else None
    else:
        insight_id = _acknowledged_by(event)
    remembered = [each.insight_id for each in ledger.batch if isinstance(each, events.Remembered)]
    return None if insight_id is None or insight_id in remembered else f"{insight_id} is acknowledged, and not written"


def _acknowledged_by(step: events.StepRecorded) -> object:
    """Return the insight that a step says it has written."""
    output = step.output if step.name == "remember" else None
    return output.get("insight") if isinstance(output, dict) else output


@law(events.Remembered)
def versions_form_one_chain(ledger: ShadowLedger, event: events.Remembered) -> str | None:
    """An insight takes the place of the newest version alone, in its segment, with the next number."""
    memory = ledger.memory
    if event.supersedes is None:
        return None if event.version == 1 else f"{event.insight_id} is version {event.version} of nothing"
    older = memory.insights.get(event.supersedes)
    newest = None if older is None else memory.newest(older.chain)
    if older is None or older is not newest or event.version != older.version + 1:
        return f"{event.insight_id}, version {event.version}, takes the place of {older}; the newest is {newest}"
    place = (event.segment, event.agent_id if event.segment == PRIVATE else event.supervisor_id)
    return None if place == (older.segment, older.owner_id) else f"{event.insight_id} is elsewhere than {older.id}"


@law(events.InsightsForgotten)
def only_what_may_go_is_forgotten(ledger: ShadowLedger, event: events.InsightsForgotten) -> str | None:
    """An insight is forgotten when its time is over, or where a pool is full."""
    forgotten = [ledger.memory.insights[insight_id] for insight_id in event.ids]
    if event.why == "expired":
        early = [each.id for each in forgotten if each.expires_ms is None or each.expires_ms > event.at_ms]
        return f"{early} are forgotten before their time is over" if early else None
    if event.why == "person":
        return None
    owner_id = forgotten[0].owner_id
    size = sum(each.owner_id == owner_id for each in ledger.memory.insights.values())
    limit = MAX_INSIGHTS if owner_id in ledger.team.agents else ledger.memory.options(owner_id).max
    excess = size + 1 - limit
    is_right = excess > 0 and len(forgotten) <= max(excess, limit // 100)
    is_right &= all(each.owner_id == owner_id for each in forgotten)
    return None if is_right else f"{event.ids} make room in {owner_id}, which has {size} of {limit}"


@law(events.Remembered, events.StepRecorded)
def nobody_reads_or_writes_what_it_may_not(
    ledger: ShadowLedger, event: events.Remembered | events.StepRecorded
) -> str | None:
    """An agent writes to segments, and reads insights, only as the rights of its team say at that moment."""
    memory, agent_id = ledger.memory, event.agent_id
    if agent_id is None:
        is_private = isinstance(event, events.Remembered) and event.segment == PRIVATE
        return f"{event.type} is private, and of no agent" if is_private else None
    if isinstance(event, events.Remembered):
        may_write = event.segment == PRIVATE or memory.may(agent_id, "write", event.segment)
        return None if may_write else f"{agent_id} writes {event.insight_id} to {event.segment}"
    if not event.reads or memory.rights_changed_ms >= event.at_ms - event.duration_ms - _SLACK_MS:
        return None  # it may have searched before
    root_id = memory.root_id(ledger.team.agents[agent_id].supervisor_id)
    for insight in (memory.insights[each] for each in event.reads if each in memory.insights):
        is_own = insight.segment == PRIVATE and insight.owner_id == agent_id
        is_shared = insight.owner_id == root_id and memory.may(agent_id, "read", insight.segment)
        if not (is_own or is_shared):
            return f"{agent_id} reads {insight.id}, which is {insight.segment} of {insight.owner_id}"
    return None
