"""Whether the code that a team file names is there. Unlike everything else about a team file, this runs it."""

from engine.errors import Unusable
from engine.references import resolve
from engine.teamfile import TeamFile
from engine.teamfile.faults import field
from engine.teamfile.meaning import teams_of
from engine.teamfile.problems import Loc, Problem, printable


def unresolved(file: TeamFile) -> list[Problem]:
    """Import every reference of a trusted team file and return those that do not lead to a callable.

    Blocks, and runs the modules.
    """
    found = []
    for loc, reference in _places(file):
        try:
            resolve(reference, file.folder)
        except Unusable as error:
            found.append(Problem(file.document.line(loc), field(file.document, loc), printable(error.reason)))
    return found


def _places(file: TeamFile) -> list[tuple[Loc, str]]:
    blocks = [
        ((*loc, "agents", at), agent) for loc, team in teams_of(file.team) for at, agent in enumerate(team.agents)
    ]
    blocks += [(("registry", at), spec) for at, spec in enumerate(file.team.registry)]
    places: list[tuple[Loc, str]] = []
    for loc, block in blocks:
        if block.run is not None:
            places.append(((*loc, "run"), block.run))
        places += [((*loc, "tools", at), tool) for at, tool in enumerate(block.tools)]
    return places
