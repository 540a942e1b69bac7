"""Runs git on a folder: for its files, its history, and where a name is mentioned.

The folder is a stranger's, so no setting in its repository may start a program: hooks on the file system monitor,
signature checks and every transport are off, and no variable of the caller's own repository leaks in.
"""

import os
import subprocess

_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


class GitUnavailable(Exception):
    """Git could not answer: not installed, not a repository, one it does not trust, or too slow; it says why."""


def run_git(folder: str, *arguments: str, statuses: tuple[int, ...] = (0,)) -> bytes:
    """What `git ARGUMENTS` prints when run in `folder`; blocking. Raises GitUnavailable if it fails or is too slow."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")} | _VARIABLES
    command = ["git", "-C", folder, "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", *arguments]
    try:
        process = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitUnavailable(str(error)) from error
    if process.returncode not in statuses:
        raise GitUnavailable(process.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
    return process.stdout
