r"""File names as JSON text and back.

A name on disk is bytes. JSON cannot hold every byte sequence, and a worker in another process must still open the very
same file, so the text form is reversible: a byte that is not UTF-8 reads `\xff`, and a backslash is doubled.
"""

import os
import re

_ESCAPE = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")


def name_text(name: str) -> str:
    """A file name of the operating system (bytes that are not UTF-8 as surrogates) as text that JSON can hold."""
    return os.fsencode(name).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def os_name(text: str) -> str:
    """The name to open for what `name_text` gave."""
    return os.fsdecode(_ESCAPE.sub(_unescaped, text.encode("utf-8")))


def _unescaped(match: re.Match[bytes]) -> bytes:
    byte = match.group(1)
    return b"\\" if byte is None else bytes([int(byte, 16)])
