"""Bounds of what providers send: of an answer, of an event of its stream, of the process that reads it.

A provider is not trusted to end its answers. Where a bound is reached, the request fails in one line that names it, and
no other request does. docs/reference/models.md has the table.
"""

from typing import Literal

MAX_ANSWER_BYTES = 40_000_000
"""Of one answer after decompression, with the frame of its protocol; more fails as `server`."""
MAX_EVENT_BYTES = 8_000_000
"""Of one event of a stream, which is parsed at once; more fails as `server`."""
MAX_EVENT_LINES = 1_000
"""Lines of one event, which are joined one by one; more fails as `server`."""
MAX_PROCESS_BYTES = 3_000_000_000
"""Memory of the process that reads answers, where the system limits it; a request that needs more fails as `server`."""
MAX_SILENCE_S = 30.0
"""How long that process may answer nothing to the engine before it is ended."""
MAX_JSON_CHARACTERS = 4_000_000
"""Of JSON that a model writes: arguments of a call, and structured output."""
MAX_JSON_VALUES = 200_000
"""Values in it: each is looked at by itself."""
IN_LOOP_CHARACTERS, IN_LOOP_S = 20_000, 0.05
"""Of structured output that is checked in the engine's loop, and its processor time; more is checked in a thread."""
SCHEMA_CHARACTERS, SCHEMA_IN_LOOP_CHARACTERS = 200_000, 4_000
"""Of the schema of an output: a longer one is refused, or checked in a thread."""


def excess_of_json(text: str) -> Literal["characters", "values"] | None:
    """Return which bound a JSON text exceeds; None for a text that may be parsed."""
    if len(text) > MAX_JSON_CHARACTERS:
        return "characters"
    # Counted by signs, an upper bound. A shorter text cannot hold so many.
    if len(text) > MAX_JSON_VALUES and sum(text.count(sign) for sign in ",[{") > MAX_JSON_VALUES:
        return "values"
    return None
