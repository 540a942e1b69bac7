"""Reading an archive: nothing of it is believed before all of it was checked, from the file down to what it means."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import ValidationError

from engine.archive.container import read_parts
from engine.archive.manifest import (
    FORMAT,
    MANIFEST,
    STATE,
    TEXTS,
    VERSION,
    Manifest,
    counts_of,
    too_many,
)
from engine.core.codec import said, state_of
from engine.core.fact import JsonValue
from engine.core.state import State
from engine.core.strict_json import NotStrict, check_values, strict_json
from engine.core.transfer.admission import Inadmissible, admit
from engine.core.transfer.document import Document
from engine.core.transfer.exporting import state_sha256
from engine.core.transfer.importing import state_from
from engine.errors import ImportRefused, NotJson
from engine.runtimes.values import json_value


@dataclass(frozen=True, slots=True)
class Archive:
    """A state that was read and checked."""

    document: Document
    """As `StateImported` carries it."""
    texts: list[JsonValue]
    manifest: Manifest

    @property
    def state(self) -> State:
        """What the document decodes to, anew each time; its references to texts are unresolved."""
        return state_from(self.document, 0)


def read_archive(path: Path, expected_sha256: str | None = None, *, at_work: bool = False) -> Archive:
    """Read the archive at `path` and check all of it. Blocks, and takes memory: `checking` does it in a child.

    Args:
        path: The file.
        expected_sha256: Of the whole file, where it was looked at before.
        at_work: Whether it is for a database that holds a team.

    Raises:
        ImportRefused: If it is not an archive, is damaged, or cannot be believed; one line, and nothing was written.
    """
    parts = read_parts(path, expected_sha256)
    try:
        manifest = _manifest(parts)
        refusal = too_many(manifest.counts, at_work=at_work)
        if refusal is not None:
            raise ImportRefused(path, refusal)
        check_values((parts[MANIFEST], parts[STATE], parts[TEXTS]))
        document, texts = strict_json(parts[STATE]), _texts(parts[TEXTS])
        _check_counts(document, texts, manifest)
        archive = _checked(document, texts, manifest)
        if manifest.state_sha256 != state_sha256(document, texts):
            raise NotStrict("its state is not the one that its manifest names")
    except (NotStrict, NotJson, Inadmissible, ValidationError) as error:
        raise ImportRefused(path, f"cannot be imported: {_said(error)}") from error
    return archive


def read_state(value: Mapping[str, Any]) -> Archive:
    """Check a state that came as one value, as `complete_state` makes it.

    Raises:
        ImportRefused: If it is not one, or cannot be believed.
    """
    try:
        plain = json_value(dict(value))
        if not isinstance(plain, dict) or plain.keys() != {"format", "version", "state", "texts"}:
            raise NotStrict("the value is not what serialize_complete_state returned")
        _check_version(plain["format"], plain["version"])
        document, texts = plain["state"], plain["texts"]
        if not isinstance(document, dict) or not isinstance(texts, list):
            raise NotStrict("the value is not what serialize_complete_state returned")
        return _checked(document, texts, Manifest(counts=counts_of(document, len(texts))))
    except (NotStrict, NotJson, Inadmissible, ValidationError, RecursionError) as error:
        raise ImportRefused(None, f"the state cannot be imported: {_said(error)}") from error


def complete_state(document: Document, texts: list[JsonValue]) -> dict[str, JsonValue]:
    """Return a document with its texts as one value of JSON; `read_state` reads it."""
    return {"format": FORMAT, "version": VERSION, "state": document, "texts": texts}


def _checked(document: Any, texts: list[JsonValue], manifest: Manifest) -> Archive:
    admit(document, state_of(document), len(texts))
    return Archive(document, texts, manifest)


def _manifest(parts: Mapping[str, bytes]) -> Manifest:
    found = strict_json(parts[MANIFEST])
    if not isinstance(found, dict):
        raise NotStrict("its manifest is no object")
    _check_version(found.get("format"), found.get("version"))
    manifest = msgspec.convert(found, Manifest)
    if manifest.parts.keys() != parts.keys() - {MANIFEST}:
        raise NotStrict("its manifest names other parts than there are")
    for name, sha256 in manifest.parts.items():
        if hashlib.sha256(parts[name]).hexdigest() != sha256:
            raise NotStrict(f"{name} was changed after it was written")
    return manifest


def _check_version(format_name: object, version: object) -> None:
    if format_name != FORMAT or type(version) is not int or version < 1:
        raise NotStrict("it is not an archive of quarterdeck")
    if version < VERSION:
        raise NotStrict(f"an older quarterdeck wrote it (format {version}, this one reads {VERSION}); export it anew")
    if version > VERSION:
        raise NotStrict(
            f"a newer quarterdeck wrote it (format {version}, this one reads {VERSION}); update quarterdeck"
        )


def _texts(body: bytes) -> list[JsonValue]:
    if body and not body.endswith(b"\n"):
        raise NotStrict("its texts are cut off")
    texts: list[JsonValue] = [strict_json(line) for line in body.split(b"\n")[:-1]]
    for text in texts:
        if type(text) is not str:
            json_value(text)
    return texts


def _check_counts(document: object, texts: list[JsonValue], manifest: Manifest) -> None:
    """Check that there is no more than the manifest says, before anything is made of it."""
    if not isinstance(document, dict):
        raise NotStrict("its state is no object")
    if any(not isinstance(document.get(kind, {}), dict | list) for kind in manifest.counts):
        raise NotStrict("its state holds something else than entities")
    if manifest.counts != counts_of(document, len(texts)):
        raise NotStrict("its manifest counts wrongly what it holds")


def _said(error: Exception) -> str:
    return said(error, "its state", None) if isinstance(error, ValidationError) else str(error)
