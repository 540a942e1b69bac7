"""Files between a tab and the browser: uploads into the folder of the tab, downloads by a key that is good once."""

import re
import secrets
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

LARGEST_UPLOAD_BYTES = 256 << 20
"""The largest archive that is read at all, in bytes."""
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class TooLarge(Exception):
    """An upload is larger than any archive that would be read."""


def safe_name(name: str) -> str:
    """Return the name of a file as it may stand in a header and on a screen: letters, digits, `.`, `-`, `_`."""
    word = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])
    return word.strip("._")[-100:] or "file"


class NotStored(Exception):
    """An upload cannot be written, as the text says."""


async def receive(chunks: AsyncIterator[bytes], folder: Path, name: str) -> Path:
    """Write an upload to a file with that name in a new folder below `folder`, so that it replaces no earlier one.

    Raises:
        TooLarge, NotStored: If it is; what has come is removed.
    """
    own, size = folder / f"upload-{secrets.token_hex(8)}", 0
    try:
        own.mkdir()
        with (own / name).open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > LARGEST_UPLOAD_BYTES:
                    raise TooLarge
                file.write(chunk)
    except BaseException as error:
        shutil.rmtree(own, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, ConnectionError):
            raise NotStored(error.strerror or str(error)) from error
        raise
    return own / name
