"""The team file: YAML, checked as a whole and converted to one `LoadTeam` command.

Reading a file imports none of its code, and reports all faults at once, one line each. The format is in `schema`, lines
are found in `document`, messages made in `faults`, and checks across blocks are in `meaning`.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from engine.core.commands import LoadTeam
from engine.core.encoding.codec import encode_command
from engine.core.records.records import copy_with
from engine.core.specs.approval import punctuation_warning
from engine.core.specs.memory import ALL
from engine.platform.strategies_plugins import installed_strategies
from engine.teamfile.build import agent_spec, references_of, supervisor_spec
from engine.teamfile.document import FileFault, Loc, TeamFileError, UnusableTeamFile, YamlDocument, read_document
from engine.teamfile.faults import field, problems_of, valid_part
from engine.teamfile.meaning import WARN_ABOVE_LEVELS, Meaning, agents_of, depth_of, teams_of
from engine.teamfile.programs import missing_programs
from engine.teamfile.schema import TeamDocument, json_schema

MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class TeamFile:
    """A valid team file; whether its code exists and is trusted is checked elsewhere."""

    path: Path
    """Absolute, with symbolic links resolved."""
    text: str
    sha256: str
    """Hash of the text as UTF-8, 64 hex digits."""
    team: TeamDocument
    references: list[str]
    """Every `module:qualname` in it, each once."""
    document: YamlDocument

    @property
    def name(self) -> str:
        """Name of the supervisor at the top."""
        return str(self.team.supervisor.name)

    @property
    def folder(self) -> Path:
        """The folder in which references are looked up after the installed packages."""
        return self.path.parent

    @property
    def warnings(self) -> list[str]:
        """Warnings about values that are valid but probably a mistake."""
        texts = []
        if depth_of(self.team) > WARN_ABOVE_LEVELS:
            texts.append(f"{depth_of(self.team)} levels of supervisors; each one adds a hand-over to every answer")
        if not self.team.agents and not self.team.teams:
            texts.append("this team has no agents; every request is refused until an agent is added")
        for loc, agent in agents_of(self.team):
            rules = {tool: punctuation_warning(rule) for tool, rule in agent.approve.items()}
            texts += [
                f"{field(self.document, (*loc, 'approve', tool))}: {warning}"
                for tool, warning in rules.items()
                if warning
            ]
        for loc, block in teams_of(self.team):
            if block.supervisor.discovery is not None and not block.supervisor.auto_discover:
                place = field(self.document, (*loc, "supervisor", "discovery"))
                texts.append(f"{place}: does nothing without auto_discover: true")
            if block.supervisor.memory is not None and loc:
                place = field(self.document, (*loc, "supervisor", "memory"))
                texts.append(f"{place}: does nothing; that of the supervisor at the top counts")
        texts += self._unknown_holders()
        texts += missing_programs(self.team, self.folder, self.document)
        return texts + list(installed_strategies())

    def _unknown_holders(self) -> Iterator[str]:
        """Yield a warning for each name in a right to memory that nobody in the file has."""
        names = {ALL, *(agent.name for _, agent in agents_of(self.team))}
        names |= {block.supervisor.name for _, block in teams_of(self.team)}
        memory = self.team.supervisor.memory
        for segment, rights in memory.segments.items() if memory is not None else ():
            for name in dict.fromkeys([*rights.read, *rights.write]):
                if name not in names:
                    yield f"supervisor.memory.segments.{segment}: nobody in this file is named {name!r:.70}"

    def load_command(self, *, folder: Path | None = None) -> LoadTeam:
        """Return the command that loads the team, or what is new or changed in it.

        Args:
            folder: The folder in which its agents work; None is the folder of the file.
        """
        return LoadTeam(
            path=str(self.path),
            folder=str(folder or self.folder),
            text=self.text,
            sha256=self.sha256,
            team=supervisor_spec(self.team),
            registry=[agent_spec(block) for block in self.team.registry],
        )


def read_team(path: str | os.PathLike[str]) -> TeamFile:
    """Read a team file and check it, as far as possible without its code.

    Raises:
        UnusableTeamFile: If the file cannot be read as a team file.
        TeamFileError: If it has faults; contains all of them.
    """
    return parse_team(
        text_of(Path(path), missing="does not exist; quarterdeck init writes one to start from"), Path(path)
    )


def parse_team(text: str, path: Path) -> TeamFile:
    """Check the text of a team file.

    Args:
        path: Its path, for messages and for the folder of its references.

    Raises:
        TeamFileError: If it has faults; contains all of them.
    """
    document = read_document(text, path)
    if not isinstance(document.value, dict):
        fault = "is empty" if document.value is None else "holds no keys"
        raise UnusableTeamFile(path, f"{fault}; a team file begins with 'version: 1' (quarterdeck init writes one)")
    team, problems = _validate(document)
    if team is None or problems:
        raise TeamFileError(path, problems)
    return TeamFile(
        path=path.resolve(),
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        team=team,
        references=references_of(team),
        document=document,
    )


def declares(command: LoadTeam) -> bool:
    """Return whether a command loads exactly the team that its text describes; blocks."""
    if len(command.text) > MAX_FILE_BYTES:
        return False
    try:
        file = parse_team(command.text, Path(command.path))
    except TeamFileError:
        return False
    load = file.load_command(folder=Path(command.folder))
    load = copy_with(load, path=command.path, on_conflict=command.on_conflict, prune=command.prune)
    # Compared in encoded form, because decoding a command turns tuples into lists.
    return encode_command(load) == encode_command(command)


def _validate(document: YamlDocument) -> tuple[TeamDocument | None, list[FileFault]]:
    """Return the team and all faults: those of its shape, and those of the meaning of its valid part."""
    team: TeamDocument | None
    problems: list[FileFault] = []
    faulty: list[Loc] = []
    try:
        team = TeamDocument.model_validate(document.value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        problems = problems_of(errors, document)
        team, faulty = valid_part(document.value, errors)
    if team is not None:
        problems += Meaning(team, document, faulty=faulty).problems()
    return team, problems


def text_of(path: Path, *, missing: str = "does not exist") -> str:
    """Return the text of a regular file of the size of a team file; raises as `content_of` and `decode`."""
    return decode(content_of(path, missing=missing, max_bytes=MAX_FILE_BYTES), path)


def content_of(path: Path, *, missing: str = "does not exist", max_bytes: int) -> bytes:
    """Return the content of a regular file; a pipe or a device is refused before it can block.

    Raises:
        UnusableTeamFile: If it cannot be read; the message is `missing` if there is no file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UnusableTeamFile(path, missing) from error
    except (OSError, ValueError) as error:
        is_socket = isinstance(error, OSError) and path.is_socket()
        reason = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise UnusableTeamFile(path, "is not a regular file" if is_socket else reason) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise UnusableTeamFile(path, f"is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise UnusableTeamFile(path, f"cannot be read ({error.strerror})") from error
    finally:
        os.close(descriptor)
    if len(content) > max_bytes:
        hint = "; a team file is a page or two" if max_bytes == MAX_FILE_BYTES else ""
        raise UnusableTeamFile(path, f"is larger than {max_bytes:,} bytes{hint}")
    return content


def decode(content: bytes, path: Path) -> str:
    """Return the text of a file; raises UnusableTeamFile if it is not text in UTF-8."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnusableTeamFile(path, f"is not text in UTF-8 (line {line}); save it as UTF-8") from None
    if "\0" in text:
        raise UnusableTeamFile(path, "is not text")
    return text


__all__ = [
    "FileFault",
    "TeamFile",
    "TeamFileError",
    "UnusableTeamFile",
    "json_schema",
    "parse_team",
    "read_team",
]
