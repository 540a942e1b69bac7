"""`init`: write a team file and its agents, which run at once; nothing that is there is touched."""

import os
import shlex
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import click

from dashboard.cli.output import emit, fail

TEMPLATES = {"team.yaml": "team.yaml", "crew.py": "crew.py.txt"}
"""What is written, and from which file of ours."""


@click.command("init")
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path))
@click.pass_context
def init(ctx: click.Context, folder: Path) -> None:
    """Write a small team into FOLDER (or here): team.yaml, and crew.py with the functions that do the work."""
    for name in TEMPLATES:
        if os.path.lexists(folder / name):
            fail("exists", f"{folder / name} is there already, nothing was written", "name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    try:
        for name, template in TEMPLATES.items():
            with (folder / name).open("x", encoding="utf-8") as file:
                written.append(folder / name)
                file.write((files("dashboard.cli") / "template" / template).read_text(encoding="utf-8"))
    except BaseException:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
    body = {"v": 1, "kind": "init", "folder": str(folder.absolute()), "files": [str(path) for path in written]}
    emit(ctx, body, _next_steps(written, folder))


def _next_steps(written: list[Path], folder: Path) -> list[str]:
    there = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    return [
        f"wrote {' and '.join(str(path) for path in written)}",
        f"start it:  {there}quarterdeck up team.yaml",
        'then:      quarterdeck run "Report on the texts in this folder"',
    ]
