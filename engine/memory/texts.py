"""The texts and tags of insights in FTS5, in memory: each stem as a number, so that words mean what our stemmer says.

A query costs what its rarest words match: bm25 takes a microsecond for each insight with one of the words.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cached_property
from itertools import count
from weakref import finalize

from engine.core.discovery.words import stems

MAX_WORDS = 32
MAX_MATCHES = 1_000
"""Insights up to which further words of a query are looked for, the rarest first; the first one always is."""
TAG_WEIGHT = 3.0
"""What a word counts in a tag; in a text it counts 1."""


class InsightTexts:
    """An index of texts by number; nothing here waits."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._stems: dict[int, str] = {}
        self._uses: Counter[int] = Counter()
        """Insights with each word, by its code."""
        self._next = count(1)

    @cached_property
    def _db(self) -> sqlite3.Connection:
        """Made when the first text is asked for: most engines and readers never do."""
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        finalize(self, db.close)
        db.execute("CREATE VIRTUAL TABLE texts USING fts5 (tags, words, tokenize='ascii')")
        return db

    def add(self, rows: Iterable[tuple[int, Sequence[str], str]]) -> None:
        """Add insights: number, tags, text."""
        encoded = []
        for number, tags, text in rows:
            fields = [[self._code(stem) for stem in stems(each)] for each in (" ".join(tags), text)]
            self._uses.update({code for codes in fields for code in codes})
            encoded.append((number, *(" ".join(map(str, codes)) for codes in fields)))
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO texts (rowid, tags, words) VALUES (?, ?, ?)", encoded)
        self._db.execute("COMMIT")

    def remove(self, number: int) -> None:
        """Remove an insight; does nothing if it was not added."""
        row = self._db.execute("SELECT tags, words FROM texts WHERE rowid = ?", (number,)).fetchone()
        if row is None:
            return
        self._db.execute("DELETE FROM texts WHERE rowid = ?", (number,))
        for code in {int(code) for field in row for code in field.split()}:
            self._uses[code] -= 1
            if not self._uses[code]:  # else words would pile up in a long life
                del self._uses[code]
                del self._codes[self._stems.pop(code)]

    def points(self, words: Sequence[str]) -> dict[int, float]:
        """Return how well insights match some stems, by number: bm25 of the telling ones; more is better."""
        codes = self._telling({self._codes[word] for word in words if word in self._codes})
        if not codes:
            return {}
        sql = "SELECT rowid, -bm25(texts, ?, 1.0) FROM texts WHERE texts MATCH ?"
        with closing(self._db.execute(sql, (TAG_WEIGHT, " OR ".join(map(str, codes))))) as rows:
            return dict(rows)

    def _telling(self, codes: set[int]) -> list[int]:
        """Return the rarest words, as many as together are in few insights."""
        telling: list[int] = []
        matches = 0
        for code in sorted(codes, key=lambda code: (self._uses[code], self._stems[code]))[:MAX_WORDS]:
            matches += self._uses[code]
            if telling and matches > MAX_MATCHES:
                break
            telling.append(code)
        return telling

    def _code(self, stem: str) -> int:
        code = self._codes.get(stem)
        if code is None:
            code = self._codes[stem] = next(self._next)
            self._stems[code] = stem
        return code
