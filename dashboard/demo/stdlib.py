"""The folder that `make demo` audits: a copy of a slice of the running interpreter's standard library, and odd files.

Copies, not links: the crew does not follow links, and nothing it does can reach the interpreter.
"""

import os
import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path

_SHIPPED = Path(__file__).with_name("odd")
_FUNCTION = "def area(width, height):\n\tif width < 0:\n        return 0\n\treturn width * height\n"


def write_odd_files(folder: Path) -> list[str]:
    """Fill a folder with odd files; blocking. Return what this system would not take (some names, pipes, links)."""
    folder.mkdir(parents=True, exist_ok=True)
    for shipped in sorted(_SHIPPED.glob("*.txt")):
        (folder / shipped.name.removesuffix(".txt")).write_bytes(shipped.read_bytes())
    for name, content in _contents().items():
        (folder / name).write_bytes(content)
    refused = []
    for what, make in _nasty(folder).items():
        try:
            make()
        except (OSError, NotImplementedError) as error:
            refused.append(f"{what}: {error}")
    return refused


def _contents() -> dict[str, bytes]:
    """Files that are only odd inside."""
    numbers = ",\n".join(f"    {(at * 2654435761) % 4294967296}" for at in range(50_000))
    letters = "the quick brown fox jumps over the lazy dog " * 34_000
    minified = ";".join(f"var v{at}=f({at},{at * 7 % 101})" for at in range(40_000))
    return {
        "bad_encoding.py": 'NAME = "Müller"\nCITY = "Orléans"\n'.encode("latin-1"),
        "wrong_cookie.py": b"# -*- coding: no-such-encoding -*-\nX = 1\n",
        "null_bytes.py": b"X = 1\n\0\0\0\nY = 2\n",
        "byte_order_mark.py": b"\xef\xbb\xbfGREETING = 'hello'\n",
        "carriage_returns.py": b"def one():\r\n    return 1\r\n\r\ndef two():\n    return 2\n",
        "mixed_tabs.py": _FUNCTION.encode(),
        "right_to_left.py": "ACCESS = 'user\u202e \u2066# only admins\u2069 \u2066'\n".encode(),
        "huge_literal.py": f"TABLE = [\n{numbers}\n]\n".encode(),
        "huge_number.py": f"N = {'9' * 20_000}\n".encode(),
        "endless_line.py": f"TEXT = '{letters}'\n".encode(),
        "endless_line.js": minified.encode(),
        "deep_signs.py": f"X = {'-' * 20_000}1\n".encode(),
        "deep_brackets.py": f"X = {'(' * 500}1{')' * 500}\n".encode(),
        "not_a_picture.py": bytes((at * 37 + at // 7) % 256 for at in range(4_000)),
        "empty.py": b"",
    }


def _nasty(folder: Path) -> dict[str, Callable[[], object]]:
    """What is odd about its name or kind; not every system takes all of it."""
    markup = folder / "[bold]" / "[" / "markup].py"

    def secret() -> None:
        path = folder / "no_permission.py"
        path.write_text("X = 1\n")
        path.chmod(0)

    def brackets() -> None:
        markup.parent.mkdir(parents=True, exist_ok=True)
        markup.write_text('"""The path of this file reads like markup."""\n')

    return {
        "a name that is not UTF-8": lambda: (folder / os.fsdecode(b"caf\xe9.py")).write_text("X = 1\n"),
        "a name with escape sequences": lambda: (folder / "\x1b[31mred\x1b[0m\x07.py").write_text("X = 1\n"),
        "a name like markup": brackets,
        "a named pipe": lambda: os.mkfifo(folder / "pipe.py"),
        "a link in a loop": lambda: (folder / "loop.py").symlink_to("loop.py"),
        "a link to its own folder": lambda: (folder / "again").symlink_to(".", target_is_directory=True),
        "a link out of the folder": lambda: (folder / "outside.py").symlink_to("/etc/hostname"),
        "a file without permissions": secret,
    }


MARK = "made-by-quarterdeck-demo.txt"
"""Marks a folder that may be deleted and created again."""
_LEFT_OUT = frozenset(
    ("site-packages", "dist-packages", "__pycache__", "pydoc_data", "lib-dynload", "ensurepip", "lib2to3", "msilib")
)
_LAST = ("distutils", "idlelib", "test", "turtledemo", "encodings")
FILES, MOST_FILES = 400, 1_500
"""Files that are copied: a few minutes of work for a crew that reads them all, and more than one reads in its time."""


class FolderTaken(Exception):
    """The folder for the demo's files holds something else, which is not deleted."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is not empty and was not made by the demo; move it away")


def stdlib_folder(target: Path, *, most: int = FILES) -> Path:
    """Make the folder that the demo audits, anew if an earlier demo made it; blocking, a second.

    Returns:
        `target`, holding `most` files of the library at its top and the odd files in `odd/`.

    Raises:
        FolderTaken: `target` holds files of another user or program.
    """
    _claim(target)
    library = Path(sysconfig.get_path("stdlib"))
    taken = _ordered(library)[:most]
    for name in taken:
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library / name, copy)
    refused = write_odd_files(target / "odd")
    notes = [f"Copies of {len(taken)} files of {library}, and odd files, for the demo. Delete it whenever you like."]
    (target / MARK).write_text("\n".join(notes + [f"This system would not make {each}." for each in refused]) + "\n")
    return target


def _claim(target: Path) -> None:
    """Empty the folder except for its mark, so that an interrupted copy is made again."""
    target.mkdir(parents=True, exist_ok=True)
    mark = target / MARK
    if not mark.is_file():
        if any(target.iterdir()):
            raise FolderTaken(target)
        mark.write_text("For the demo, and not complete yet. Delete it whenever you like.\n")
    for entry in target.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry != mark:
            entry.unlink()


def _ordered(library: Path) -> list[str]:
    """Return packages, then loose modules, by name; tests and data come last, there the largest files first."""
    found = []
    for here, folders, files in os.walk(library):
        folders[:] = sorted(
            folder for folder in folders if folder not in _LEFT_OUT and not folder.startswith("config-")
        )
        for file in files:
            path = Path(here, file)
            if file.endswith((".py", ".txt", ".md", ".rst")) and path.is_file() and os.access(path, os.R_OK):
                name = path.relative_to(library).as_posix()
                top = name.partition("/")[0]
                rank = _LAST.index(top) + 2 if top in _LAST else "/" not in name
                found.append((rank, -path.stat().st_size if rank > 1 else 0, name))
    return [name for _, _, name in sorted(found)]
