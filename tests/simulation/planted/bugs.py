"""Bugs that are planted in the program, one for each law of the simulation and each file that holds a rule."""

from pathlib import Path

from tests.simulation.planted import in_code
from tests.simulation.planted.planting import Bug, written

_ALL: list[Bug] = [
    *in_code.BUGS,
    *(bug for file in sorted(Path(__file__).parent.glob("*.toml")) for bug in written(file)),
]
BUGS = [bug for bug in _ALL if ":" not in bug.law]
"""Those that a law of the simulated histories has to see."""
OUT_OF_REACH = [bug for bug in _ALL if ":" in bug.law]
"""Those that simulated histories never or hardly reach: a law for hypothesis has to see them, by name `module:test`."""
