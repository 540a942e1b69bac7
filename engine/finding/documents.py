"""Agents that documents describe: Markdown files whose front matter has the keys of an agent in a team file.

Only files inside the folder of the team are read, links resolved first. Untrusted, also where the code of the team is
trusted, since agents may write files: what a document says becomes a spec with the checks of any other, its references
need trust as those of any other, and one that has rights never joins unasked. Blocks.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from engine.core.errors import BadValue
from engine.core.queries.team.code import references_of
from engine.core.records.records import copy_with
from engine.core.signals import FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.runtimes.values import one_line
from engine.teamfile.build import agent_spec
from engine.teamfile.document import TeamFileError, UnusableTeamFile, printable, read_document
from engine.teamfile.faults import problems_of
from engine.teamfile.schema import AgentBlock

MAX_DOCUMENTS = 1_000
MAX_DOCUMENT_BYTES = 200_000
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)(.*)", re.DOTALL | re.MULTILINE)


def read_documents(folder: Path, patterns: Sequence[str], faults: list[str]) -> list[FoundSpec]:
    """Return the agents of all matching documents; what is wrong with one is added to `faults`, one line each."""
    found: list[FoundSpec] = []
    for path in _paths(folder.resolve(), patterns, faults):
        name = printable(str(path.relative_to(folder.resolve())))
        try:
            spec = _spec_in(path, name)
        except TeamFileError as error:
            faults.append(str(error).splitlines()[0])
        except (OSError, UnicodeDecodeError, BadValue) as error:
            faults.append(f"{name}: {getattr(error, 'strerror', None) or one_line(error)}")
        else:
            found += [] if spec is None else [_found(name, spec)]
    return found


def _found(name: str, spec: AgentSpec) -> FoundSpec:
    has_rights = bool(references_of(spec) or spec.mcp or spec.may or spec.approve)
    return FoundSpec(source=AgentDiscoveryMode.RAG, id=name, hash=spec_hash(spec), spec=spec, always_asks=has_rights)


def _paths(folder: Path, patterns: Sequence[str], faults: list[str]) -> Iterator[Path]:
    """Yield the files that patterns name, each once and only those inside the folder."""
    seen: set[Path] = set()
    for pattern in patterns:
        try:
            candidates = sorted(folder.glob(pattern))
        except (ValueError, OSError) as error:
            faults.append(f"documents: {pattern!r:.60} cannot be looked for: {one_line(error)}")
            continue
        for candidate in candidates:
            path = Path(os.path.realpath(candidate))  # `resolve` raises for links in a circle
            if not path.is_relative_to(folder) or not path.is_file() or path in seen:
                continue
            if len(seen) == MAX_DOCUMENTS:
                faults.append(f"documents: more than {MAX_DOCUMENTS:,} files; the rest are not read")
                return
            seen.add(path)
            yield path


def _spec_in(path: Path, name: str) -> AgentSpec | None:
    """Return the agent that a document describes; None if it has no front matter."""
    with path.open(encoding="utf-8") as file:
        text = file.read(MAX_DOCUMENT_BYTES)
    parts = _FRONT_MATTER.match(text)
    if parts is None:
        return None
    header, body = parts.groups()
    document = read_document(f"\n{header}", Path(name))  # a line for the fence: lines are those of the file
    if not isinstance(document.value, dict):
        raise UnusableTeamFile(Path(name), "its front matter has no keys of an agent, such as 'name: scout'")
    try:
        spec = agent_spec(AgentBlock.model_validate(document.value))
    except ValidationError as error:
        faults = problems_of(error.errors(include_url=False), document, model=AgentBlock)
        raise TeamFileError(Path(name), faults) from error
    # Only a model reads the text below the front matter.
    takes_body = spec.is_played_by_model and not spec.instructions and body.strip()
    return copy_with(spec, instructions=body.strip()) if takes_body else spec
