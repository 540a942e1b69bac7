"""Who is good at what: what attempts came to, by agent and category."""

from collections import Counter

from engine.core.records.values import NO_USAGE
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.track_record import ENDS
from engine.simulation.shadow_ledger import ShadowLedger


@law(When.AFTER_BATCH)
def outcomes_are_kept_by_category(books: ShadowLedger) -> str | None:
    """An agent knows of each category of work what its attempts came to and what they used."""
    ledger = books.track_record
    for agent in books.state.agents.values():
        categories = {category for agent_id, category in ledger.usage if agent_id == agent.id}
        for category in categories.union(agent.track_record):
            record = agent.track_record.get(category)
            actual = [0, 0, 0] if record is None else [record.done, record.failed, record.cancelled]
            expected = ledger.ends.get((agent.id, category), Counter())
            if actual != [expected.get(end, 0) for end in ENDS]:
                return f"{agent.id} says of {category!r} that {actual} were done, failed, cancelled; it is {expected}"
            used = ledger.usage.get((agent.id, category), NO_USAGE)
            if (NO_USAGE if record is None else record.usage) != used:
                return f"{agent.id} says that {category!r} took {record and record.usage}; it took {used}"
    return None
