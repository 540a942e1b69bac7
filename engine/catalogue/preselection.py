"""Turns the words of a request into queries of FTS5 whose cost does not depend on how common the words are.

bm25 takes about 1.3 µs for each row that matches. So only rows with one of the rarest words are ranked, by all words.
"""

import json
from collections.abc import Iterator, Sequence
from sqlite3 import Connection

MAX_WORDS = 8
MAX_RARE_ROWS = 2_000
"""Rows that the words together have of which a row must have one; a single word may have more."""
MAX_RANKED_ROWS = 30_000
"""Rows of the rarest word above which rows are not ranked: such a word tells nobody apart."""

_COUNTS = "SELECT stem, count FROM stems WHERE stem IN (SELECT value FROM json_each(?)) ORDER BY count, stem LIMIT ?"


def word_queries(connection: Connection, stems: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield queries of which the first with a result counts, each with whether its rows are to be ranked."""
    counts = connection.execute(_COUNTS, (json.dumps([*dict.fromkeys(stems)]), MAX_WORDS)).fetchall()
    if not counts:
        return
    phrases = [f'"{stem}"' for stem, _ in counts]
    is_ranked = counts[0][1] <= MAX_RANKED_ROWS
    if counts[0][1] > MAX_RARE_ROWS:
        if len(phrases) > 1:
            yield f"{phrases[0]} AND {phrases[1]}", is_ranked
        yield phrases[0], is_ranked
        return
    rows, rare_phrases = 0, []
    for phrase, (_, count) in zip(phrases, counts, strict=True):
        rows += count
        if rows > MAX_RARE_ROWS:
            break
        rare_phrases.append(phrase)
    yield f"({' OR '.join(rare_phrases)}) AND ({' OR '.join(phrases)})", True
