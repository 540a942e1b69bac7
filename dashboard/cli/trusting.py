"""Code that a file with specs names, allowed once."""

from dashboard.cli.ordering import Sending, confirmed_trust, state_of
from dashboard.cli.specfile import SpecFile


def trusted_references(sending: Sending, file: SpecFile, *, trust: bool) -> list[str]:
    """Return the references of a file, once all of them are allowed.

    Raises:
        Failure: If they are not, exit 3.
    """
    if not file.references:
        return []
    state = state_of(sending)
    needed = [reference for reference in file.references if reference not in state.trusted]
    folder = state.team.folder if state.team is not None else None
    return confirmed_trust(needed, str(file.path), trust=trust, folder=folder)
