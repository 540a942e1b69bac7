"""Reads the catalogue: entries by id and by words. Nothing here writes.

All methods block; the engine calls them in threads. Any thread may, also several at once.
"""

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import msgspec

from engine.catalogue.database import catalogue_path, reading
from engine.catalogue.entries import CatalogueEntry, Pack, Source, TrustedKey
from engine.catalogue.preselection import word_queries
from engine.core.errors import BadValue
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.spec import AgentSpec
from engine.errors import CatalogueError
from engine.platform.folders import NoHome

_COLUMNS = """entries.id, entries.name, packs.name AS pack, revision, hash, spec, source, added_by, added_ms,
    approved_by, approved_ms, removed_ms"""
_ENTRIES = f"SELECT {_COLUMNS} FROM entries JOIN packs ON packs.number = entries.pack"
_MATCHING = f"""
SELECT {_COLUMNS}
  FROM words JOIN entries ON entries.number = words.rowid JOIN packs ON packs.number = entries.pack
 WHERE removed_ms IS NULL AND words MATCH ?"""
_RANKED = " AND rank MATCH 'bm25(3.0, 1.0)' {} ORDER BY rank LIMIT ?"
"""A claimed word counts three times a word of the description, as in a team."""


class Catalogue:
    """The agent specs of one user on one computer, which are not yet in a team.

    A missing file is an empty catalogue. Each method raises CatalogueError, in one line, if the file is damaged, of
    another program or of a newer version, or if another user could have written it.

    Attributes:
        path: The file; None if this user has no home folder, and so no catalogue.
    """

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None = None) -> "Catalogue":
        """Return the catalogue at a path, by default the user's own; reads nothing yet."""
        try:
            return cls(catalogue_path(path))
        except NoHome:
            return cls(None)

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def search(
        self,
        stems: Sequence[str],
        *,
        limit: int = 50,
        sources: Collection[Source] | None = None,
        approved_only: bool = True,
    ) -> list[CatalogueEntry]:
        """Return entries with some words, those with the rarest first, by bm25: a preselection for `find`.

        Args:
            stems: Words as `Word.stem`, in any order.
            limit: The most entries.
            sources: Only entries from these; None is all.
            approved_only: Only approved entries; False also returns those that are not.
        """
        condition, parameters = _condition(sources, approved_only=approved_only)
        entries: dict[str, CatalogueEntry] = {}
        with reading(self.path) as connection:
            if connection is None:
                return []
            for query, is_ranked in word_queries(connection, stems):
                order = _RANKED.format(condition) if is_ranked else f" {condition} LIMIT ?"
                for entry in self._select(connection, _MATCHING + order, query, *parameters, limit):
                    entries.setdefault(entry.id, entry)
                if len(entries) >= limit:
                    break
        return [*entries.values()][:limit]

    def entries(
        self,
        *,
        limit: int = 1_000,
        offset: int = 0,
        pack: str | None = None,
        sources: Collection[Source] | None = None,
        approved_only: bool = False,
    ) -> list[CatalogueEntry]:
        """Return current entries by name, a page at a time."""
        condition, parameters = _condition(sources, approved_only=approved_only)
        where = f"WHERE removed_ms IS NULL AND packs.name = ifnull(?, packs.name) {condition}"
        order = "ORDER BY entries.name, entries.number LIMIT ? OFFSET ?"
        with reading(self.path) as connection:
            if connection is None:
                return []
            return self._select(connection, f"{_ENTRIES} {where} {order}", pack, *parameters, limit, offset)

    def count(self, *, approved_only: bool = False) -> int:
        """Return the number of current entries."""
        condition, _ = _condition(None, approved_only=approved_only)
        with reading(self.path) as connection:
            if connection is None:
                return 0
            sql = f"SELECT count(*) FROM entries WHERE removed_ms IS NULL {condition}"
            return int(connection.execute(sql).fetchone()[0])

    def entry(self, entry_id: str) -> CatalogueEntry | None:
        """Return the last revision of an entry, also if it was removed; None for an unknown id."""
        return self.last_revisions([entry_id]).get(entry_id)

    def last_revisions(self, entry_ids: Sequence[str]) -> dict[str, CatalogueEntry]:
        """Return the last revisions of entries by id, also of removed ones, in the order of the ids that are known."""
        ids = "SELECT id, max(revision) FROM entries WHERE id IN (SELECT value FROM json_each(?)) GROUP BY id"
        with reading(self.path) as connection:
            if connection is None:
                return {}
            sql = f"{_ENTRIES} WHERE (entries.id, revision) IN ({ids})"
            by_id = {entry.id: entry for entry in self._select(connection, sql, json.dumps(entry_ids))}
            return {entry_id: by_id[entry_id] for entry_id in entry_ids if entry_id in by_id}

    def revisions(self, entry_id: str) -> list[CatalogueEntry]:
        """Return all revisions of an entry, oldest first; none for an unknown id."""
        with reading(self.path) as connection:
            if connection is None:
                return []
            return self._select(connection, f"{_ENTRIES} WHERE entries.id = ? ORDER BY revision", entry_id)

    def pack_of(self, entry: CatalogueEntry) -> Pack:
        """Return the pack that brought a revision, as it was then, without its agents.

        Raises:
            CatalogueError: If the catalogue no longer has the revision.
        """
        return self._pack("JOIN entries ON packs.number = pack WHERE id = ? AND revision = ?", entry.id, entry.revision)

    def last_pack(self, name: str) -> Pack:
        """Return the pack of a name as it was added last, without its agents; raises as `pack_of`."""
        return self._pack("WHERE packs.name = ? ORDER BY packs.number DESC", name)

    def _pack(self, condition: str, *parameters: object) -> Pack:
        sql = f"SELECT packs.name, version, author, licence, sha256, key, source, mcp FROM packs {condition}"
        with reading(self.path) as connection:
            row = None if connection is None else connection.execute(sql, parameters).fetchone()
            if row is None:
                raise CatalogueError(f"{parameters[0]} is no longer in the catalogue; look for it again")
            *texts, mcp = row
            fields = dict(zip(("name", "version", "author", "licence", "sha256", "key", "source"), texts, strict=True))
            return Pack(**fields, mcp=self._decode(mcp, dict[str, McpSpec]))

    def keys(self) -> list[TrustedKey]:
        """Return the keys whose signatures are verified, by name."""
        with reading(self.path) as connection:
            rows = [] if connection is None else connection.execute("SELECT * FROM keys ORDER BY name").fetchall()
        return [TrustedKey(name=name, key=key, added_ms=added_ms) for name, key, added_ms in rows]

    def _select(self, connection: Connection, sql: str, *parameters: object) -> list[CatalogueEntry]:
        cursor = connection.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        entries = []
        for row in cursor:
            fields = dict(zip(names, row, strict=True))
            fields["spec"] = self._decode(fields["spec"], AgentSpec)
            entries.append(CatalogueEntry(**fields))
        return entries

    def _decode(self, text: str, kind: Any) -> Any:
        try:
            return msgspec.json.decode(text, type=kind)
        except (msgspec.MsgspecError, BadValue, UnicodeError) as error:
            fault = f"{self.path} holds a spec that this version cannot read ({error})"
            raise CatalogueError(f"{fault}; upgrade quarterdeck, or restore the file from a copy") from error


def _condition(sources: Collection[Source] | None, *, approved_only: bool) -> tuple[str, tuple[str, ...]]:
    """Return a condition of a statement, beginning with AND, and its parameters."""
    condition = "AND approved_ms IS NOT NULL" if approved_only else ""
    if sources is None:
        return condition, ()
    return f"{condition} AND source IN ({', '.join('?' * len(sources))})", tuple(sources)
