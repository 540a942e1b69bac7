"""Reads an archive. Rule: everything is checked, from the file to its meaning, before anything is used."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, ValidationError

from engine.archive.container import read_parts
from engine.archive.manifest import (
    FORMAT,
    MANIFEST,
    STATE,
    TEXTS,
    VERSION,
    Manifest,
    check_amount,
    check_version,
    counts_of,
    limit_exceeded,
)
from engine.core.documents.document import Document, bound_references_in, read_document, references_in
from engine.core.documents.ids import last_numbers
from engine.core.encoding.codec import decode_state, describe_decode_error, encode_state
from engine.core.encoding.strict_json import MAX_FOREIGN_VALUES, MAX_VALUES, NotStrict, strict_json, strict_lines
from engine.core.records.records import JsonValue
from engine.core.state import State
from engine.core.transfer.admission import Inadmissible, check, try_out
from engine.errors import ImportRefused, NotJson
from engine.platform.garbage import collection_paused
from engine.runtimes.values import json_value


class Contents(Struct, tag=True):
    """Summary of an archive, from which its import is decided."""

    counts: dict[str, int]
    tasks_of_agents: int
    last: dict[str, int]
    """The highest number of its ids, by the letter of the kind."""
    references: list[str]
    bound: list[str]
    roots: list[str]
    """Names of supervisors without a parent."""
    registry: dict[str, str]


@dataclass(frozen=True, slots=True)
class Archive:
    """A state that was read and checked."""

    body: bytes
    """The state document, as `StateImported` carries it."""
    texts: list[JsonValue]
    manifest: Manifest
    contents: Contents

    @property
    def state(self) -> State:
        """The decoded document, a new object each time; references to texts are unresolved."""
        return decode_state(self.body)


@collection_paused()
def read_archive(path: Path, expected_sha256: str | None = None, *, at_work: bool = False) -> Archive:
    """Read and check the archive at `path`; blocks, and needs much memory: `importing` runs it in a child process.

    Args:
        expected_sha256: Hash of the whole file, if it was inspected before.
        at_work: Whether the database contains a team.

    Raises:
        ImportRefused: If it is not an archive, is damaged or inconsistent; one line, and nothing was written.
    """
    parts = read_parts(path, expected_sha256)
    with _refuse_invalid(path, "cannot be imported"):
        manifest = _read_manifest(parts)
        refusal = limit_exceeded(manifest.counts, at_work=at_work)
        if refusal is not None:
            raise ImportRefused(path, refusal)
        check_amount(parts)
        texts = strict_lines(parts[TEXTS])
        for text in texts:
            if type(text) is not str:
                json_value(text, most_values=MAX_FOREIGN_VALUES)
        document = read_document(parts[STATE], texts)
        if manifest.counts != counts_of(document.state, len(texts)):
            raise NotStrict("the counts in its manifest are wrong")
        archive = _check_document(document, texts, manifest)
        if manifest.state_sha256 != document.sha256:
            raise NotStrict("its state does not match its manifest")
        return archive


@collection_paused()
def read_state(value: Mapping[str, Any]) -> Archive:
    """Check a state in the form of `complete_state`; raises ImportRefused if it is none, or inconsistent."""
    with _refuse_invalid(None, "the state cannot be imported"):
        plain = json_value(dict(value), most_values=MAX_VALUES)
        if not isinstance(plain, dict) or plain.keys() != {"format", "version", "state", "texts"}:
            raise NotStrict("the value is not what serialize_complete_state returned")
        check_version(plain["format"], plain["version"])
        texts = plain["texts"]
        if not isinstance(plain["state"], dict) or not isinstance(texts, list):
            raise NotStrict("the value is not what serialize_complete_state returned")
        document = read_document(msgspec.json.encode(plain["state"]), texts)
        return _check_document(document, texts, Manifest(counts=counts_of(document.state, len(texts))))


def complete_state(state: State, texts: list[JsonValue]) -> dict[str, JsonValue]:
    """Return a document with its texts as one value of JSON; `read_state` reads it."""
    return {"format": FORMAT, "version": VERSION, "state": msgspec.json.decode(encode_state(state)), "texts": texts}


@contextmanager
def _refuse_invalid(path: Path | None, message: str) -> Iterator[None]:
    """Turn failures of checks into refusals."""
    try:
        yield
    except (NotStrict, NotJson, Inadmissible, ValidationError, RecursionError) as error:
        reason = describe_decode_error(error, "its state", None) if isinstance(error, ValidationError) else str(error)
        raise ImportRefused(path, f"{message}: {reason}") from error


def _check_document(document: Document, texts: list[JsonValue], manifest: Manifest) -> Archive:
    check(document.state, len(texts))
    archive = Archive(document.body, texts, manifest, contents_of(document.state, manifest.counts))
    try_out(document.state)
    return archive


def contents_of(state: State, counts: dict[str, int]) -> Contents:
    """Return the summary of a state."""
    return Contents(
        counts=counts,
        tasks_of_agents=sum(task.kind == "agent" for task in state.tasks.values()),
        last=dict(last_numbers(state)),
        references=references_in(state),
        bound=bound_references_in(state),
        roots=[root.name for root in state.roots],
        registry=state.registry,
    )


def _read_manifest(parts: Mapping[str, bytes]) -> Manifest:
    value = strict_json(parts[MANIFEST])
    if not isinstance(value, dict):
        raise NotStrict("its manifest is not an object")
    check_version(value.get("format"), value.get("version"))
    manifest = msgspec.convert(value, Manifest)
    if manifest.parts.keys() != parts.keys() - {MANIFEST}:
        raise NotStrict("its manifest does not match its parts")
    for name, sha256 in manifest.parts.items():
        if hashlib.sha256(parts[name]).hexdigest() != sha256:
            raise NotStrict(f"{name} was changed after it was written")
    return manifest
