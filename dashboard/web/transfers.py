"""Files between a tab and the browser: uploads into the folder of the tab, downloads by a key that is good once."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio

LARGEST_UPLOAD_BYTES = 256 << 20
"""The largest archive that is read at all, in bytes."""
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class TooLarge(Exception):
    """An upload is larger than any archive that would be read."""


def safe_name(name: str) -> str:
    """Return the name of a file as it may stand in a header and on a screen: letters, digits, `.`, `-`, `_`."""
    word = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])
    return word.strip("._")[-100:] or "file"


async def receive(chunks: AsyncIterator[bytes], target: Path) -> None:
    """Write an upload to a file.

    Raises:
        TooLarge: If it is; what has come is removed.
    """
    size = 0
    with target.open("wb") as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > LARGEST_UPLOAD_BYTES:
                break
            file.write(chunk)
    if size > LARGEST_UPLOAD_BYTES:
        await anyio.Path(target).unlink()
        raise TooLarge
