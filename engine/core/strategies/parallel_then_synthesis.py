"""All at once, then one of them combines the results.

    request ─┬▶ a ─┐
             ├▶ b ─┼▶ aggregator ─▶ output
             └▶ c ─┘

The aggregator is the one that the supervisor or the settings name; else the member whose words speak most of writing
and combining; else the last. It takes no part in the fan.
"""

from collections.abc import Sequence

from typing_extensions import override

from engine.core.strategies.parallel import NEED, Parallel, check_need
from engine.core.strategies.settings import check_schema, member
from engine.core.strategies.wiring import Settings

COMBINING_WORDS = "write synthesize combine summarize edit report merge compose conclude"
"""Words by which the aggregator is chosen, where none is named."""


class ParallelThenSynthesis(Parallel):
    """Let every node start, and let one member make a synthesis of them."""

    name = "parallel_then_synthesis"
    about = "all at once; then one makes a whole of it"

    @override
    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`aggregator`: who makes the synthesis; `need`: how many answers are enough."""
        check_schema(self.name, settings, {"aggregator": member, **NEED}, members)
        check_need(self.name, settings, members)
