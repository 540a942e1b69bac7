"""Turns the words of a request into queries of FTS5 whose cost does not depend on how common the words are.

bm25 takes about 1.3 µs for each row that matches. So rows with one of the rarest words are ranked first, by all words;
those with frequent words alone fill up what is left.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from sqlite3 import Connection

MAX_WORDS = 8
MAX_RARE_ROWS = 2_000
"""Rows that the words together have of which a row must have one; the others are frequent."""
MAX_RANKED_ROWS = 30_000
"""Rows of a frequent word above which they are not ranked: such a word tells nobody apart."""

_COUNTS = "SELECT stem, count FROM stems WHERE stem IN (SELECT value FROM json_each(?)) ORDER BY count, stem LIMIT ?"


def word_queries(connection: Connection, stems: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield queries, the most telling first, until there are enough entries; each with whether its rows are ranked."""
    counts = connection.execute(_COUNTS, (json.dumps([*dict.fromkeys(stems)]), MAX_WORDS)).fetchall()
    totals = accumulate(count for _, count in counts)
    rare = [f'"{stem}"' for (stem, _), total in zip(counts, totals, strict=True) if total <= MAX_RARE_ROWS]
    frequent = [f'"{stem}"' for stem, _ in counts[len(rare) :]]
    if rare:
        yield f"({' OR '.join(rare)}) AND ({' OR '.join([*rare, *frequent])})", True
    if frequent:
        is_ranked = counts[len(rare)][1] <= MAX_RANKED_ROWS
        if len(frequent) > 1:
            yield f"{frequent[0]} AND {frequent[1]}", is_ranked
        yield frequent[0], is_ranked
