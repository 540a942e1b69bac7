"""The state that agents keep for themselves: each change is applied once, and none is lost unnoticed."""

from engine.core.events import AttemptDone, StepRecorded
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.kept import COUNT, KeptEntry
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger

_NOTHING = KeptEntry(None, 0, "")


@law(StepRecorded, AttemptDone)
def a_change_is_applied_once(ledger: ShadowLedger, event: StepRecorded | AttemptDone) -> str | None:
    """A change of an agent's state knows the value that it replaces, and is made once for its task."""
    values = ledger.agent_state.values.get(event.agent_id or "", {})
    for key, change in event.state_changes.items():
        present, version = values.get(key, _NOTHING), event.state_versions[key]
        is_current = max(version, ~version) == present.seq or present.task_id == event.task_id
        if not is_current and change != [present.value]:
            return f"{event.task_id} changes {key} of {event.agent_id}, and does not know of {present}"
        if key != COUNT:
            continue
        counted_by = ledger.agent_state.counted.get((event.task_id, event.agent_id or ""))
        # Where a task begins anew, its change takes the place of the one before.
        expected = (present.value or 0) + (counted_by is None)
        is_twice = counted_by is not None and (counted_by == event.attempt or present.task_id != event.task_id)
        if change != [expected] or is_twice:
            return f"{event.task_id} counts {change} after {present}, and has counted in attempt {counted_by}"
    return None


@law(When.SAMPLED, When.AT_THE_END)
def agents_keep_their_state(world: ObservedWorld) -> str | None:
    """The state of each agent has the last value of each key, with the event that wrote it."""
    ledger = world.ledger
    for agent in ledger.state.agents.values():
        actual, expected = ledger.agent_state.values_in(agent), ledger.agent_state.present(agent.id)
        if actual != expected:
            return f"{agent.id} keeps {actual!r:.200}; events say {expected!r:.200}"
    return None
