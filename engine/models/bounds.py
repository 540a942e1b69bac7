"""Limits on what providers send: on an answer, an event of its stream, and the process that reads it.

A provider is not trusted to end its answers. A request that exceeds a limit fails with a line that names the limit;
other requests are not affected. docs/reference/models.md has the table.
"""

from typing import Literal

MAX_ANSWER_BYTES = 40_000_000
"""Size of an answer after decompression, including the protocol; more fails as `server`."""
MAX_EVENT_BYTES = 8_000_000
"""Size of an event of a stream, which is parsed at once; more fails as `server`."""
MAX_EVENT_LINES = 1_000
"""Lines of an event, which are joined one by one; more fails as `server`."""
MAX_PROCESS_BYTES = 3_000_000_000
"""Memory of the provider process, if the system can limit it; a request that needs more fails as `server`."""
MAX_SILENCE_S = 30.0
"""How long the provider process may not answer the engine before it is killed."""
MAX_CHECK_S = 2
"""Limit on the processor time of one validation, in seconds: a schema could make it take years."""
MAX_JSON_CHARACTERS = 4_000_000
"""Characters of JSON that a model writes: arguments of a call, and structured output."""
MAX_JSON_VALUES = 200_000
"""Values in such JSON, each of which is checked."""
IN_LOOP_CHARACTERS = 20_000
"""Size of structured output that is checked in the engine's loop; a larger one is checked in a thread."""
IN_LOOP_S = 0.05
"""Processor time of a check in the engine's loop; one that takes longer is repeated in a thread."""
SCHEMA_CHARACTERS = 200_000
"""Size of an output schema; a larger one is refused."""
SCHEMA_IN_LOOP_CHARACTERS = 4_000
"""Size of an output schema that is checked in the engine's loop; a larger one is checked in a thread."""


def excess_of_json(text: str) -> Literal["characters", "values"] | None:
    """Return which limit a JSON text exceeds; None if it may be parsed."""
    if len(text) > MAX_JSON_CHARACTERS:
        return "characters"
    # The signs before values give an upper bound; a shorter text cannot contain so many values.
    if len(text) > MAX_JSON_VALUES and sum(text.count(sign) for sign in ",[{") > MAX_JSON_VALUES:
        return "values"
    return None
