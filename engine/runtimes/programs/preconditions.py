"""Checks before a program is started: trust, existence, environment variables."""

from functools import partial
from pathlib import Path

from engine.runtimes.code import Code
from engine.runtimes.programs.environment import build_environment, check_program
from engine.runtimes.programs.options import ProgramOptions
from engine.runtimes.programs.worktree import repository_of


async def check_preconditions(
    code: Code, options: ProgramOptions, reference: str, folder: Path
) -> tuple[dict[str, str], Path]:
    """Check a program, and return its environment and working folder.

    Args:
        code: Decides on trust.
        options: Options of the program.
        reference: Its reference, which has to be trusted.
        folder: Folder to which its `cwd` is relative.

    Raises:
        Unusable: If it is not trusted or does not exist; one line.
    """
    await code.locate(reference)
    env, cwd = build_environment(options.env), folder / options.cwd
    await code.threads.run(partial(check_program, options.argv[0], cwd=cwd, env=env))
    if options.worktree:
        await code.threads.run(partial(repository_of, cwd))
    return env, cwd
