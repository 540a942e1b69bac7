"""Whether the packages that would be imported are ours: a user's own `engine` or `store` could take their place."""

from importlib.util import find_spec
from os.path import realpath  # pathlib is 6 ms of every `--help`

from dashboard.cli.output import WRONG_USAGE, fail


def check_packages() -> None:
    """Raise unless `dashboard`, `engine` and `store` stand in one folder; nothing is imported.

    Raises:
        Failure: If another module takes the place of one of them.
    """
    ours = realpath(f"{__file__}/../../..")
    for name in ("engine", "store"):
        spec = find_spec(name)
        origin = realpath(spec.origin) if spec is not None and spec.origin else None
        if origin is None or origin != f"{ours}/{name}/__init__.py":
            fail(
                "shadowed",
                f"{origin or f'something named {name!r}'} takes the place of quarterdeck's own package {name!r}",
                "start it with the command 'quarterdeck', take that folder out of PYTHONPATH, or rename it",
                WRONG_USAGE,
            )
