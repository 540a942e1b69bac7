"""Checks before a program is started: it is trusted, it exists, and its variables are set."""

from functools import partial
from pathlib import Path

from engine.runtimes.code import Code
from engine.runtimes.programs.environment import check_program, environment
from engine.runtimes.programs.options import ProgramOptions
from engine.runtimes.programs.worktree import repository_of


async def looked_up(code: Code, options: ProgramOptions, reference: str, folder: Path) -> tuple[dict[str, str], Path]:
    """Return the environment and the folder of a program, which may be executed and is there.

    Args:
        code: Where trust is asked for.
        options: What the program is started with.
        reference: What of it has to be trusted.
        folder: What its `cwd` is in.

    Raises:
        Unusable: If it may not be executed, or is not there; one line.
    """
    await code.locate(reference)
    env, cwd = environment(options.env), folder / options.cwd
    await code.threads.run(partial(check_program, options.argv[0], cwd=cwd, env=env))
    if options.worktree:
        await code.threads.run(partial(repository_of, cwd))
    return env, cwd
