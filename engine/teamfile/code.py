"""The code that a team file names: which files it is, and whether all of it is there."""

from collections.abc import Iterator
from functools import cached_property

from engine.closure import Folder, digest_of, files_of
from engine.errors import Unusable
from engine.references import Origin, resolve
from engine.teamfile import TeamFile
from engine.teamfile.document import Loc, Problem, printable
from engine.teamfile.faults import field
from engine.teamfile.meaning import agents_of


class TeamCode:
    """What the references of a team file import from its folder, as it is at the first look. Blocks.

    Attributes:
        team: The file.
    """

    def __init__(self, team: TeamFile) -> None:
        self.team = team
        self._folder = Folder(team.folder)

    @cached_property
    def files(self) -> dict[str, str]:
        """The hash of each file, by its path in the folder.

        Raises:
            Unusable: If one cannot be read.
        """
        return files_of(self._folder.sources(*self.team.references), self._folder.path)

    @cached_property
    def digests(self) -> dict[str, str]:
        """One hash for the code of each reference; empty for installed code.

        Raises:
            Unusable: If a file cannot be read.
        """
        return {one: digest_of(self._folder.sources(one)) for one in self.team.references}

    def unresolved(self) -> list[Problem]:
        """Import every reference of a trusted team file and return those that do not lead to a callable.

        Unlike everything else about a team file, this runs its code.
        """
        found = []
        for loc, reference in self._places():
            try:
                resolve(Origin(reference, self.team.folder, self._folder.sources(reference)))
            except Unusable as error:
                document = self.team.document
                found.append(Problem(document.line(loc), field(document, loc), printable(error.reason)))
        return found

    def _places(self) -> Iterator[tuple[Loc, str]]:
        for loc, block in agents_of(self.team.team):
            if block.run is not None:
                yield (*loc, "run"), block.run
            yield from (((*loc, "tools", at), tool) for at, tool in enumerate(block.tools))
