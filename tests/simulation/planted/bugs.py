"""Bugs that are planted in the program, one for each law of the simulation and each file that holds a rule."""

from pathlib import Path

from tests.simulation.planted import in_code
from tests.simulation.planted.planting import Bug, written

BUGS: list[Bug] = [
    *in_code.BUGS,
    *(bug for file in sorted(Path(__file__).parent.glob("*.toml")) for bug in written(file)),
]
"""All of them."""
