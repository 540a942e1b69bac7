"""Records of the catalogue: entries, and the packs that they came with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from engine.core.specs.model_spec import McpSpec
from engine.core.specs.spec import AgentSpec

Source: TypeAlias = Literal["file", "entry_point", "acp_registry"]
"""Where a pack came from: a file of the user, an installed package, or a file of the ACP registry."""
SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A set of agent specs that is added as a whole."""

    name: str
    agents: Sequence[AgentSpec] = ()
    """Specs with unique names; empty for a pack that was read from the catalogue, whose specs are its entries."""
    version: str = ""
    author: str = ""
    licence: str = ""
    mcp: Mapping[str, McpSpec] = field(default_factory=dict)
    """The tool servers that its agents name."""
    sha256: str = ""
    """Hash of its file, 64 hex digits; empty if it has no file."""
    key: str = ""
    """Who signed it: `NAME KEYID` for a trusted key, `unknown KEYID` if that could not be verified, empty if nobody."""
    source: Source = "file"
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Agents of the file that cannot be used, by name, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One revision of an agent spec in the catalogue."""

    id: str
    """`c` and 16 hex digits, random; names the entry in all its revisions."""
    name: str
    pack: str
    """Name of the pack that it came with."""
    revision: int
    """Number of the revision, from 1."""
    hash: str
    """Hash of the spec (`spec_hash`); an approval is of this content."""
    spec: AgentSpec
    source: Source
    added_by: str
    added_ms: int
    """When it was added, in UTC milliseconds, as all times here."""
    approved_by: str | None
    approved_ms: int | None
    removed_ms: int | None
    """When the entry was removed or this revision was replaced by the next; None for the current revision."""

    @property
    def is_approved(self) -> bool:
        """Return whether it may be discovered: the current revision, and approved."""
        return self.approved_ms is not None and self.removed_ms is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What adding a pack changed."""

    pack: Pack
    added: tuple[str, ...]
    """Ids of new entries."""
    changed: tuple[str, ...]
    """Ids of entries with a new revision, which is not approved."""
    unchanged: int
    """Number of entries whose spec is the same."""
    absent: tuple[str, ...]
    """Ids of entries that came with the pack earlier and that it no longer contains; they stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedKey:
    """A key whose signatures of packs are verified."""

    name: str
    key: str
    """A public key of minisign: the second line of a file `.pub`."""
    added_ms: int
