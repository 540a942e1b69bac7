"""Which code an engine may import, and from which bytes.

Trust claimed by a command, an archive or the database does not count. An engine of the command line imports what the
trust list of its user allows, provided that the files are unchanged since they were allowed and since the core recorded
them. The engine of a program also imports what that program names itself, but not what others name through the inbox.
See docs/reference/trust.md.
"""

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.core.commands import AddAgent, Command, LoadTeam
from engine.core.queries.people.offers import references_offered
from engine.core.queries.team.code import grants_for_own_program, references_in_command
from engine.core.state import State
from engine.errors import CodeChanged, Unusable
from engine.runtimes.functions.isolated import Sources
from engine.trusted_code.closure import Folder, digest_of
from engine.trusted_code.trust import ForeignTeam, Granted, TrustList, needs_assignment


class Trusting:
    """Decides what one engine may import.

    Args:
        allowed: Trust list of the user who runs the engine; None allows nothing.
        db: Path of the engine's database; None if it is in memory.
        folder: Folder of the code if no team file sets it.
        state: Returns the present state.
        is_program: The engine belongs to a program, which trusts what it names itself.
    """

    def __init__(
        self,
        allowed: TrustList | None,
        *,
        db: Path | None,
        folder: Path | None,
        state: Callable[[], State],
        is_program: bool,
    ) -> None:
        self._allowed = allowed
        self._db = None if db is None else db.resolve()
        self._folder = folder
        self._state = state
        self._is_program = is_program

    @property
    def folder(self) -> Path:
        """Folder that is searched for code besides installed packages."""
        team = self._team()
        return team.parent if team is not None else self._folder or Path.cwd()

    def references_of(self, command: Command) -> list[str]:
        """Return the references that a command names, or lets into the team."""
        return [*references_in_command(command), *references_offered(self._state(), command)]

    def grants_of_inbox(self, command: Command) -> dict[str, str]:
        """Return the trusted references of a command from another process, with the hashes of their code; blocks."""
        references = self.references_of(command)
        if isinstance(command, LoadTeam):
            self._check_load(command, references)
            return self.find_grants(references, Path(command.path))
        return self.find_grants(references) if references else {}

    def grants_of_program(self, command: Command) -> dict[str, str]:
        """Return the trusted references of a command of this process, with the hashes of their code; blocks."""
        # A program trusts what it names itself; of an entry of the catalogue it names the id alone, and of agents found
        # for a request only the question.
        is_entry = isinstance(command, AddAgent) and command.catalogue is not None
        names_all = not is_entry and not references_offered(self._state(), command)
        return grants_for_own_program(command) if self._is_program and names_all else self.grants_of_inbox(command)

    def find_grants(self, references: Iterable[str], team: Path | None = None) -> dict[str, str]:
        """Return those of `references` that are trusted, with the hashes of their code; blocks."""
        sources_by_reference = self._look_up(references, self._team() if team is None else team)
        return {reference: digest_of(sources) for reference, sources in sources_by_reference.items()}

    def check(self, reference: str) -> None:
        """Check that an address or program is trusted; blocks; raises Unusable, with what to do, if it is not."""
        self.sources(reference)

    def sources(self, reference: str) -> Sources | None:
        """Return the sources that a reference is imported from; None leaves the import to the interpreter. Blocks.

        Raises:
            Unusable: If it is not trusted; the message says in one line what to do.
        """
        digest = self._state().trusted.get(reference)
        if self._is_program and digest == "":
            return None
        team = self._team()
        granted = {} if digest is None else self._look_up([reference], team)
        if reference not in granted:
            kind = CodeChanged if digest else Unusable
            trusts = shlex.join(["quarterdeck", "trust", str(self._trust_target(team))])
            raise kind(f"{reference!r} {self._why_not(digest)}: {trusts}")
        # Trusted, but not the recorded code: the journal would name other code than the agent runs.
        if digest and digest_of(granted[reference]) != digest:
            raise CodeChanged(self._describe_changed_code(reference, team))
        return granted[reference]

    def _check_load(self, command: LoadTeam, references: list[str]) -> None:
        """Raise ForeignTeam unless a team matches its text and the user of the engine loads its file here."""
        from engine.teamfile import declares  # imports pydantic and yaml, which only loading a team needs

        if not declares(command):
            fault = "describes another team than the command would load"
            raise ForeignTeam(command.path, f"{fault}; if quarterdeck was updated, start the engine anew")
        folder = None
        if self._allowed is not None and self._db is not None:
            folder = self._allowed.work_folder(Path(command.path), self._db)
        if folder == command.folder:
            return
        if needs_assignment(self._state(), path=command.path, folder=command.folder, references=references):
            loads = self._up_command(Path(command.path))
            raise ForeignTeam(command.path, f"is loaded here by the user who runs the engine alone: {loads}")

    def _up_command(self, team: Path) -> str:
        """Return the command with which the user loads a team file into this database."""
        return shlex.join(["quarterdeck", "up", str(team), "--db", str(self._db)])

    def _describe_changed_code(self, reference: str, team: Path | None) -> str:
        if team is not None:
            return f"the code of {reference!r} has changed; take it over with: {self._up_command(team)}"
        # Without a team file the code is searched in the folder in which the engine was started, which may differ.
        return (
            f"the code of {reference!r} in {self.folder} is not the one that was trusted;"
            " start the engine in the folder of its code, or swap its agents"
        )

    def _trust_target(self, team: Path | None) -> Path | None:
        """Return the argument of `quarterdeck trust` that lets this engine import its code: team file or database."""
        if team is None or self._allowed is None or self._db is None:
            return team or self._db
        return team if self._allowed.work_folder(team, self._db) is not None else self._db

    def _why_not(self, digest: str | None) -> str:
        if digest:
            return "is not trusted, or its code has changed since it was; look at it, then allow it with"
        return "is not trusted; allow it with"

    def _look_up(self, references: Iterable[str], team: Path | None) -> Granted:
        if self._allowed is None:
            return {}
        folder = Folder(team.parent if team is not None else self.folder)
        return self._allowed.find_granted(references, folder, db=self._db, team=team)

    def _team(self) -> Path | None:
        team = self._state().team
        return Path(team.path) if team is not None else None
