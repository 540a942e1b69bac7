"""Agents that documents describe: Markdown files whose front matter has the keys of an agent in a team file.

Only files inside the folder of the team are read, links resolved first. Untrusted: what a document says becomes a spec
with the checks of any other, and its references need trust as those of any other. Blocks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from engine.core.errors import BadValue
from engine.core.records.records import copy_with
from engine.core.signals import FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.runtimes.options import first_fault
from engine.teamfile.build import agent_spec
from engine.teamfile.document import TeamFileError, read_document
from engine.teamfile.schema import AgentBlock

MAX_DOCUMENTS = 1_000
MAX_DOCUMENT_BYTES = 200_000
_FENCE = "---\n"


def read_documents(folder: Path, patterns: Sequence[str], faults: list[str]) -> list[FoundSpec]:
    """Return the agents of all matching documents; what is wrong with one is added to `faults`, one line each."""
    found: list[FoundSpec] = []
    for path in _paths(folder.resolve(), patterns, faults):
        name = str(path.relative_to(folder.resolve()))
        try:
            spec = _spec_in(path)
        except (OSError, UnicodeDecodeError, BadValue, TeamFileError, ValidationError) as error:
            fault = first_fault(error, name) if isinstance(error, ValidationError) else f"{name}: {error}"
            faults.append(fault.splitlines()[0])
            continue
        if spec is not None:
            found.append(FoundSpec(source=AgentDiscoveryMode.RAG, id=name, hash=spec_hash(spec), spec=spec))
    return found


def _paths(folder: Path, patterns: Sequence[str], faults: list[str]) -> Iterator[Path]:
    """Yield the files that patterns name, each once and only those inside the folder."""
    seen: set[Path] = set()
    for pattern in patterns:
        try:
            candidates = sorted(folder.glob(pattern))
        except (ValueError, NotImplementedError, OSError) as error:
            faults.append(f"documents: {pattern!r:.60} is not a pattern in the team's folder ({error})")
            continue
        for candidate in candidates:
            path = candidate.resolve()
            if not path.is_relative_to(folder) or not path.is_file() or path in seen:
                continue
            if len(seen) == MAX_DOCUMENTS:
                faults.append(f"documents: more than {MAX_DOCUMENTS:,} files; the rest are not read")
                return
            seen.add(path)
            yield path


def _spec_in(path: Path) -> AgentSpec | None:
    """Return the agent that a document describes; None if it has no front matter."""
    with path.open(encoding="utf-8") as file:
        text = file.read(MAX_DOCUMENT_BYTES)
    if not text.startswith(_FENCE) or f"\n{_FENCE}" not in text:
        return None
    header, _, body = text.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    block = AgentBlock.model_validate(read_document(header, path).value)
    spec = agent_spec(block)
    # Only a model reads the text below the front matter.
    takes_body = spec.is_played_by_model and not spec.instructions and body.strip()
    return copy_with(spec, instructions=body.strip()) if takes_body else spec
