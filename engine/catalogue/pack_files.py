"""Reads packs: files with agents as in a team file, and who made them. Reading one imports none of its code.

pack: {name: tides, version: "1.2", author: Ada, licence: MIT}
agents:
- {name: surveyor, run: tides.survey:survey, specialties: [tide tables]}
mcp: {charts: {argv: [charts-mcp]}}
"""

import hashlib
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from engine.catalogue.entries import Pack, Source, TrustedKey
from engine.catalogue.signatures import SUFFIX, signer_of
from engine.core.encoding.strict_json import NotStrict, strict_json
from engine.core.records.records import field_names
from engine.core.specs.model_spec import McpSpec
from engine.core.validation.bounds import Name
from engine.errors import CatalogueError
from engine.teamfile import content_of, decode
from engine.teamfile.agent_lists import team_around
from engine.teamfile.blocks import Block
from engine.teamfile.build import agent_spec
from engine.teamfile.document import (
    MAX_DEPTH,
    FileFault,
    TeamFileError,
    UnusableTeamFile,
    YamlDocument,
    read_document,
    suggest,
)
from engine.teamfile.faults import problems_of
from engine.teamfile.writing import agent_yaml, inexpressible_fields, own_values, values_yaml

MAX_PACK_BYTES = 100_000_000
MAX_PACK_VALUES = 4_000_000
"""Enough for 40 in each of 100,000 specs."""
_KEYS = ("pack", "agents", "mcp")

Line = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]


class PackBlock(Block):
    """Who made a pack."""

    name: Name
    """Its name; a pack of the same name and source is a new version of it."""
    version: Line | int = ""
    """Its version; one with a point stands in quotes, because 1.10 is the number 1.1."""
    author: Line = ""
    """Who wrote it."""
    licence: Line = ""
    """The licence of its texts."""


def read_packs(path: Path, keys: Iterable[TrustedKey] = ()) -> list[Pack]:
    """Read a pack, or all packs `*.yaml` of a folder; blocks.

    Args:
        path: The file or folder.
        keys: Trusted keys, for the signatures beside the files.

    Raises:
        TeamFileError: If a file has faults; has all of that file.
        CatalogueError: If a signature is wrong, or a folder has no packs, or two of one name.
    """
    if not path.is_dir():
        return [read_pack(path, keys)]
    files = sorted(path.glob("*.yaml"))
    if not files:
        raise CatalogueError(f"{path} holds no file *.yaml; name a pack, or a folder of packs")
    trusted_keys, packs = list(keys), dict[str, Pack]()
    for file in files:
        pack = read_pack(file, trusted_keys)
        if packs.setdefault(pack.name, pack) is not pack:
            raise CatalogueError(f"{file} is a second pack {pack.name!r} in this folder; give each a name of its own")
    return [*packs.values()]


def read_pack(path: Path, keys: Iterable[TrustedKey] = (), *, source: Source = "file") -> Pack:
    """Read one pack; raises as `read_packs`."""
    content = content_of(path, max_bytes=MAX_PACK_BYTES)
    signature = path.with_name(path.name + SUFFIX)
    signer = ""
    if signature.exists():
        signer = signer_of(content, content_of(signature, max_bytes=10_000), keys, path=signature)
    document = read_values(content, path)
    if not isinstance(document.value, dict) or "pack" not in document.value:
        raise UnusableTeamFile(path, "is not a pack; one begins with 'pack: {name: …}', then has 'agents:'")
    faults = [
        FileFault(document.line((key,)), key, f"is not a key here; {suggest(key, _KEYS)}")
        for key in document.value
        if key not in _KEYS
    ]
    try:
        block = PackBlock.model_validate(document.value["pack"])
    except ValidationError as error:
        faults += problems_of(error.errors(include_url=False), document, under=("pack",), model=PackBlock)
    if faults:
        raise TeamFileError(path, faults)
    team = team_around(document, path, document.value.get("agents", []), servers=document.value.get("mcp", {}))
    return Pack(
        name=block.name,
        version=str(block.version),
        author=block.author,
        licence=block.licence,
        agents=[agent_spec(agent) for agent in team.agents],
        mcp=team.mcp,
        sha256=hashlib.sha256(content).hexdigest(),
        key=signer,
        source=source,
    )


def pack_yaml(pack: Pack) -> str:
    """Return a pack as YAML, which `read_pack` reads as the same agents.

    Raises:
        CatalogueError: If names repeat, or a spec has what no file can express.
    """
    names = Counter(spec.name for spec in pack.agents)
    if repeated := [name for name, number in names.items() if number > 1]:
        raise CatalogueError(f"there are several agents {repeated[0]!r}; a pack has one of each name")
    for spec in pack.agents:
        if lost := inexpressible_fields(spec):
            raise CatalogueError(f"{spec.name} cannot be written into a file: its {lost[0]} has no words in one")
    about = {name: getattr(pack, name) for name in PackBlock.model_fields if getattr(pack, name)}
    agents = "".join(f"  - {textwrap.indent(agent_yaml(spec), '    ').lstrip()}" for spec in pack.agents)
    servers = {
        name: {key: value for key, value in own_values(server, field_names(McpSpec)).items() if value}
        for name, server in pack.mcp.items()
    }
    mcp = f"mcp: {values_yaml(servers, in_one_line=True)}" if servers else ""
    return f"pack: {values_yaml(about, in_one_line=True)}agents:\n{agents}{mcp}"


def read_values(content: bytes, path: Path) -> YamlDocument:
    """Return the values of a file `.json`, or of YAML; raises TeamFileError."""
    if path.suffix.lower() == ".json":
        return YamlDocument(read_json(content, path), {})
    return read_document(decode(content, path), path, max_values=MAX_PACK_VALUES)


def read_json(content: bytes, path: Path) -> Any:
    """Return the value of a JSON file; raises TeamFileError."""
    try:
        value = strict_json(content, max_values=MAX_PACK_VALUES)
    except NotStrict as error:
        raise UnusableTeamFile(path, str(error)) from error
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [item for one in containers for item in (one.values() if isinstance(one, dict) else one)]
    if level:
        raise UnusableTeamFile(path, f"is nested deeper than {MAX_DEPTH} levels")
    return value
