"""Writes the catalogue: packs, approvals, removals, trusted keys. Only `quarterdeck catalogue` uses it.

Each method is one transaction. Writers of several processes take turns by a lock beside the file.
"""

import fcntl
import getpass
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType, TracebackType
from typing import Self, TypeAlias

import msgspec

from engine.catalogue.catalogue import Catalogue
from engine.catalogue.database import CATALOGUE, catalogue_errors, catalogue_path, check_owner, has_content
from engine.catalogue.entries import Addition, Pack
from engine.catalogue.signatures import check_key
from engine.core.discovery.candidate import profile_of
from engine.core.queries.team.fits import candidate_from
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.errors import CatalogueError
from store.layout.connection import connect, enable_checkpoints
from store.layout.file_check import open_checked
from store.layout.files import open_for_writing
from store.layout.migrations import migrate
from store.layout.sidecar_files import create_file
from store.wall_clock import wall_ms

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of specs that are done and the number of all."""
PROGRESS_STEP = 500
"""Specs between two calls of it."""


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


class CatalogueWriter:
    """A catalogue open for changes, in a `with` block; created if it is missing. All methods block.

    Each raises CatalogueError, in one line, and then has changed nothing.

    Args:
        path: As for `Catalogue.open`.
        by: Who changes it; by default the name of the user.
        now_ms: The clock, UTC milliseconds.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        by: str | None = None,
        now_ms: Callable[[], int] = wall_ms,
    ) -> None:
        self.path = catalogue_path(path)
        self.catalogue = Catalogue(self.path)
        self._by = by or _user_name()
        self._now_ms = now_ms

    def __enter__(self) -> Self:
        with catalogue_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = open_for_writing(self.path.with_name(f"{self.path.name}-lock"))
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                self._connection = _open(self.path)
            except BaseException:
                os.close(self._lock)
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        os.close(self._lock)

    def add(self, packs: Sequence[Pack], progress: Progress = no_progress) -> list[Addition]:
        """Add packs, all or none. A spec that the pack brought before is unchanged, or a new revision of its entry.

        What is new or changed is not approved.
        """
        total, done = sum(len(pack.agents) for pack in packs), 0
        additions = []
        with self._transaction() as connection:
            for pack in packs:
                adding = _AddingPack(connection, pack, self._by, self._now_ms())
                for spec in pack.agents:
                    if done % PROGRESS_STEP == 0:
                        progress(done, total)
                    adding.add(spec)
                    done += 1
                additions.append(adding.finish())
        progress(done, total)
        return additions

    def approve(self, entry_ids: Iterable[str], *, expected_hashes: Mapping[str, str] = MappingProxyType({})) -> None:
        """Approve the current revision of entries, so that discovery finds them; this trusts no code.

        Args:
            entry_ids: The entries.
            expected_hashes: By id, what a person looked at; none is approved if a current revision has another hash.
        """
        sql = "UPDATE entries SET approved_by = ?, approved_ms = ? WHERE number = ?"
        with self._transaction() as connection:
            for entry_id in entry_ids:
                number, entry_hash = self._current(connection, entry_id)
                if expected_hashes.get(entry_id, entry_hash) != entry_hash:
                    raise CatalogueError(f"{entry_id} has changed meanwhile; look at it again")
                connection.execute(sql, (self._by, self._now_ms(), number))

    def revoke(self, entry_ids: Iterable[str]) -> None:
        """Take back the approval of the current revision of entries; teams that took one keep it."""
        with self._transaction() as connection:
            for entry_id in entry_ids:
                number, _ = self._current(connection, entry_id)
                connection.execute(
                    "UPDATE entries SET approved_by = NULL, approved_ms = NULL WHERE number = ?", (number,)
                )

    def remove(self, entry_ids: Iterable[str]) -> None:
        """Remove entries; their revisions stay readable by id. Adding the pack again makes new entries."""
        with self._transaction() as connection:
            for entry_id in entry_ids:
                _retire(connection, self._current(connection, entry_id)[0], self._now_ms())

    def add_key(self, name: str, key: str) -> None:
        """Trust a key to name the author of packs; replaces the key of that name."""
        check_key(name, key)
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", (name, key, self._now_ms()))

    def remove_key(self, name: str) -> None:
        """Trust a key no longer; packs that are here already keep the name of their signer."""
        with self._transaction() as connection:
            if not connection.execute("DELETE FROM keys WHERE name = ?", (name,)).rowcount:
                raise CatalogueError(f"there is no key {name!r:.60}; list them with: quarterdeck catalogue keys")

    def _current(self, connection: Connection, entry_id: str) -> tuple[int, str]:
        """Return the number and the hash of the current revision of an entry; of `ID@REVISION` that must be it."""
        bare_id, _, revision = entry_id.partition("@")
        sql = "SELECT number, hash, revision FROM entries WHERE id = ? AND removed_ms IS NULL"
        row: tuple[int, str, int] | None = connection.execute(sql, (bare_id,)).fetchone()
        if row is None:
            raise CatalogueError(f"there is no entry {bare_id!r}; look for it with: quarterdeck catalogue search --all")
        if revision not in ("", str(row[2])):
            raise CatalogueError(f"{bare_id} is at revision {row[2]} now, not {revision}; look at it again")
        return row[:2]

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        connection = self._connection
        with catalogue_errors(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


def _open(path: Path) -> Connection:
    """Open the file for writing, or create it; the lock is held."""
    if not has_content(path):
        # SQLite would apply the log of a deleted catalogue to the new one.
        for suffix in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        create_file(path, CATALOGUE, {})
    check_owner(path)
    open_checked(path, CATALOGUE)[0].close()
    with suppress(PermissionError):  # the file of another user, which root writes
        path.chmod(0o600)
    connection = connect(path, mode="rw")
    try:
        migrate(connection, CATALOGUE)
        enable_checkpoints(connection)
        connection.execute("PRAGMA synchronous = FULL")  # a power cut must not bring back what was revoked
    except BaseException:
        connection.close()
        raise
    return connection


class _AddingPack:
    """One pack on its way into the catalogue, in a transaction of the writer."""

    def __init__(self, connection: Connection, pack: Pack, by: str, now_ms: int) -> None:
        self._connection, self._pack, self._by, self._now_ms = connection, pack, by, now_ms
        self._earlier = _entries_of_pack(connection, pack)
        self._added: list[str] = []
        self._changed: list[str] = []
        self._unchanged = 0
        self._stem_counts = Counter[str]()
        texts = (pack.name, pack.version, pack.author, pack.licence, pack.sha256, pack.key, pack.source)
        mcp = msgspec.json.encode(pack.mcp).decode()
        sql = "INSERT INTO packs (name, version, author, licence, sha256, key, source, mcp) VALUES (?,?,?,?,?,?,?,?)"
        self._pack_number = connection.execute(sql, (*texts, mcp)).lastrowid

    def add(self, spec: AgentSpec) -> None:
        """Add a spec as a new entry or a new revision, unless it is the same."""
        text = msgspec.json.encode(spec).decode()
        number, entry_id, revision = self._earlier.pop(spec.name, (None, f"c{secrets.token_hex(8)}", 0))
        if number is not None:
            (earlier_text,) = self._connection.execute(
                "SELECT spec FROM entries WHERE number = ?", (number,)
            ).fetchone()
            if earlier_text == text:
                self._unchanged += 1
                return
            _retire(self._connection, number, self._now_ms)
        (self._added if number is None else self._changed).append(entry_id)
        profile = profile_of(candidate_from(spec, entry_id, spec.name))
        self._stem_counts.update(profile.every)
        claimed_stems = (profile.names | profile.parts | profile.specialties) & profile.every
        claims, texts = " ".join(sorted(claimed_stems)), " ".join(sorted(profile.texts))
        row = (entry_id, spec.name, self._pack_number, revision + 1, spec_hash(spec), text, claims, texts)
        sql = """
INSERT INTO entries (id, name, pack, revision, hash, spec, claims, texts, added_by, added_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        rowid = self._connection.execute(sql, (*row, self._by, self._now_ms)).lastrowid
        self._connection.execute("INSERT INTO words (rowid, claims, texts) VALUES (?, ?, ?)", (rowid, claims, texts))

    def finish(self) -> Addition:
        """Count the stems, and return what changed."""
        # Never reduced: it only orders words by how rare they are.
        sql = "INSERT INTO stems VALUES (?, ?) ON CONFLICT (stem) DO UPDATE SET count = count + excluded.count"
        self._connection.executemany(sql, self._stem_counts.items())
        return Addition(
            pack=self._pack,
            added=tuple(self._added),
            changed=tuple(self._changed),
            unchanged=self._unchanged,
            absent=tuple(entry_id for _, entry_id, _ in self._earlier.values()),
        )


def _entries_of_pack(connection: Connection, pack: Pack) -> dict[str, tuple[int | None, str, int]]:
    """Return number, id and revision of the entries that a pack of this name and source brought, by name."""
    sql = """
SELECT entries.name, entries.number, id, revision FROM entries
 WHERE removed_ms IS NULL AND pack IN (SELECT number FROM packs WHERE name = ? AND source = ?)"""
    return {
        name: (number, entry_id, revision)
        for name, number, entry_id, revision in connection.execute(sql, (pack.name, pack.source))
    }


def _retire(connection: Connection, number: int, now_ms: int) -> None:
    """End a revision: it was replaced or its entry removed."""
    connection.execute("UPDATE entries SET removed_ms = ? WHERE number = ?", (now_ms, number))
    removal = "INSERT INTO words (words, rowid, claims, texts) SELECT 'delete', number, claims, texts"
    connection.execute(f"{removal} FROM entries WHERE number = ?", (number,))


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no entry in the list of users
        return str(os.geteuid())
