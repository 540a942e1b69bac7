"""Entities of spending and of recent figures: who spent what, and what happened in the last hour.

What an agent spent on models and tools is a row of its own; the rest of its usage belongs to no row
(`queries.money.spending` adds it). A window counts by slots of event time: a key is written once it happens, so that an
idle agent takes no memory.
"""

from collections import Counter

from msgspec import field

from engine.core.records.records import entity
from engine.core.records.values import Usage

MAX_SPENDING_ROWS = 10_000
"""Limit on the rows of models, tools and removed agents; what exceeds it is counted together."""
MAX_SPENDERS = 100
"""Limit on the agents whose spending a run keeps."""
MAX_WINDOWS = 2_000
"""Limit on the windows of a scope; what exceeds it is counted together."""
OTHER = "other"
"""Key of what exceeds a limit."""
SLOT_MS = 5_000
"""Length of a fine slot, in milliseconds."""
COARSE_SLOTS = 12
"""Number of fine slots in a coarse one, of a minute."""
MAX_SLOTS = 60
"""Slots that are kept: 5 minutes of fine ones, and an hour of coarse ones."""


MAX_TIMES = 64
"""Limit on the times at work of a window that are not counted yet."""
DURATION_KEYS = tuple(f"d{bits}" for bits in range(24))
"""Names of the counts of done attempts, by the bits of their time at work in milliseconds."""


@entity
class Spending:
    """Usage of one agent by model and by tool; kept after the agent has left."""

    id: str
    """Id of the agent."""
    models: dict[str, Usage] = field(default_factory=dict)
    tools: dict[str, Usage] = field(default_factory=dict)
    name: str = ""
    """Its name when it left; empty while it is in the team."""
    supervisor_id: str | None = None
    """Its supervisor when it left."""
    specialties: list[str] = field(default_factory=list)
    """Its specialties when it left."""
    usage: Usage | None = None
    """All that it had spent when it left; None while it is in the team."""


@entity
class Window:
    """Amounts of the last hour, by slot.

    Names of amounts: `d0` to `d23` count done attempts by the bits of their time at work in milliseconds; `failed`,
    `cancelled`, `retries` count; `error KIND` counts failures by kind; `wait_ms`, `tokens_in`, `tokens_out` and
    `cost_nano` (billionths of a USD) are sums.
    """

    slot: int = 0
    """Number of the slot in progress: event time divided by `SLOT_MS`."""
    until_ms: int = 0
    """The end of that slot."""
    times_ms: list[int] = field(default_factory=list)
    """Times at work of the last done attempts of that slot, which no amount contains yet; at most `MAX_TIMES`."""
    wait_ms: int = 0
    """What those attempts waited before they began, which no amount contains yet."""
    open: dict[str, int] = field(default_factory=dict)
    """Amounts of the slot in progress, which the others do not contain yet."""
    fine: dict[int, dict[str, int]] = field(default_factory=dict)
    """Amounts of closed slots, by number."""
    coarse: dict[int, dict[str, int]] = field(default_factory=dict)
    """The same by minute."""

    def in_progress(self) -> dict[str, int]:
        """Return the amounts of the slot in progress."""
        if not self.times_ms:
            return self.open
        amounts = dict(self.open)
        for bits, number in Counter(map(int.bit_length, self.times_ms)).items():
            key = DURATION_KEYS[min(bits, 23)]
            amounts[key] = amounts.get(key, 0) + number
        if self.wait_ms:
            amounts["wait_ms"] = amounts.get("wait_ms", 0) + self.wait_ms
        return amounts


@entity
class Windows:
    """Windows by scope and key. Those of supervisors contain closed slots of their own agents, without teams below."""

    agents: dict[str, Window] = field(default_factory=dict)
    models: dict[str, Window] = field(default_factory=dict)
    categories: dict[str, Window] = field(default_factory=dict)
    supervisors: dict[str, Window] = field(default_factory=dict)
