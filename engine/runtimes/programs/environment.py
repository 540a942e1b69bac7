"""The environment of a program: its variables, and where its executable is found."""

import os
import shutil
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from engine.errors import Unusable
from engine.platform.redaction import is_secret_name, note_sent_variable

INHERITED_VARIABLES = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")
"""Variables that every program gets, if the engine has them."""


def build_environment(names: Iterable[str]) -> dict[str, str]:
    """Return the environment of a program: the usual variables, and `names`.

    Raises:
        Unusable: If a variable in `names` is not set.
    """
    variables = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    for name in names:
        if name not in os.environ:
            raise Unusable(f"the engine's environment has no {name}, which 'env' names; set it and start the engine")
        variables[name] = os.environ[name]
        if is_secret_name(name):
            note_sent_variable(name)
    return {"PATH": os.defpath, **variables}


def check_acp() -> None:
    """Check that the package of the Agent Client Protocol is installed.

    Raises:
        Unusable: If it is not.
    """
    if find_spec("acp") is None:
        raise Unusable("agents of type acp need the package agent-client-protocol: pip install 'quarterdeck[acp]'")


def check_program(name: str, *, cwd: Path, env: Mapping[str, str]) -> None:
    """Check that a program exists, by its path relative to `cwd` or its name in PATH; blocks.

    Raises:
        Unusable: If it does not, or cannot be executed; one line.
    """
    if not cwd.is_dir():
        raise Unusable(f"there is no folder {cwd}, in which {name!r} is to work")
    if os.sep not in name:
        if shutil.which(name, path=env["PATH"]) is None:
            raise Unusable(f"no program {name!r} in PATH; install it, or give its path")
    elif not os.access(cwd / name, os.X_OK) or (cwd / name).is_dir():
        fault = "cannot be executed" if (cwd / name).exists() else "does not exist"
        raise Unusable(f"the program {cwd / name} {fault}")
