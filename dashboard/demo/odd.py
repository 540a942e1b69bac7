"""The odd files of the demo: real trouble for a crew that reads other people's folders.

Those that a person can read are shipped in `odd/` with `.txt` behind their name, so that no linter, compiler or
packager trips over them. The rest is made here, the same each time.
"""

import os
from collections.abc import Callable
from pathlib import Path

_SHIPPED = Path(__file__).with_name("odd")
_FUNCTION = "def area(width, height):\n\tif width < 0:\n        return 0\n\treturn width * height\n"


def write_odd_files(folder: Path) -> list[str]:
    """Fill a folder with odd files; blocking.

    Args:
        folder: Made if it is missing.

    Returns:
        What this file system or system would not take (names that are not UTF-8, pipes, links).
    """
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
