"""The zip container of an archive: strict reading, atomic writing.

`zipfile` accepts duplicate entries and wrong sizes, and verifies checksums only after the data was used. Everything is
therefore checked here before a byte is parsed, and no entry ever becomes a path. See docs/decisions/measurements.md.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path

from engine.archive.manifest import MAX_BYTES, MAX_RATIO, PARTS, REQUIRED
from engine.errors import ExportRefused, ImportRefused
from store.layout.files import sync

_END_RECORD = struct.Struct("<4s4H2LH")
_DATABASE = b"SQLite format 3\0"
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every entry, fixed so that equal archives are equal files."""
_LEVEL = 1


def read_parts(path: Path, expected_sha256: str | None = None) -> dict[str, bytes]:
    """Return the unparsed parts of an archive by name; raises ImportRefused if it is none, or not the inspected one."""
    body = _read_file(path)
    if expected_sha256 is not None and hashlib.sha256(body).hexdigest() != expected_sha256.lower():
        raise ImportRefused(path, "has changed since it was checked; check it again with --dry-run")
    _check_shape(path, body)
    with _refuse_damaged(path), zipfile.ZipFile(BytesIO(body)) as archive:
        return {entry.filename: _read_part(path, archive, entry) for entry in _entries(path, archive)}


@contextlib.contextmanager
def _refuse_damaged(path: Path) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        struct.error,
        NotImplementedError,
        RuntimeError,
        OSError,
        OverflowError,
        UnicodeError,
        ValueError,
        KeyError,
        IndexError,
    ) as error:
        raise ImportRefused(path, f"is damaged ({_first_line(error)})") from error


def unpacked_bytes(path: Path) -> int:
    """Return the total unpacked size that an archive declares, in bytes; raises ImportRefused if it is none."""
    body = _read_file(path)
    _check_shape(path, body)
    with _refuse_damaged(path), zipfile.ZipFile(BytesIO(body)) as archive:
        return sum(entry.file_size for entry in _entries(path, archive))


def file_sha256(path: Path) -> str:
    """Return the hash of the whole file, 64 hex digits.

    Raises:
        ImportRefused: If it cannot be read, or cannot be an archive.
    """
    return hashlib.sha256(_read_file(path)).hexdigest()


def _read_file(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ImportRefused(path, "is not a regular file")
        if status.st_size > MAX_BYTES:
            raise ImportRefused(path, f"is larger than {MAX_BYTES // 1_000_000} MB, so it is not an archive")
        if _is_open_here(status):
            raise ImportRefused(path, "is a database that this engine works on, not an archive")
        return _content(path)
    except FileNotFoundError as error:
        raise ImportRefused(path, "does not exist") from error
    except (OSError, ValueError) as error:
        raise ImportRefused(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from error


def _is_open_here(status: os.stat_result) -> bool:
    """Return whether this process has the file open: closing a second descriptor would drop SQLite's locks on it."""
    for entry in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError, ValueError):
            open_status = os.fstat(int(entry.name))
            if (open_status.st_dev, open_status.st_ino) == (status.st_dev, status.st_ino):
                return True
    return False


def _content(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ImportRefused(path, "is not a regular file")
        body = file.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise ImportRefused(path, "grew while it was read")
    return body


def _check_shape(path: Path, body: bytes) -> None:
    """Check that the file is exactly one zip from the first to the last byte, with at most as many entries as parts."""
    if not body:
        raise ImportRefused(path, "is empty, so it is not an archive")
    if body.startswith(_DATABASE):
        raise ImportRefused(path, "is a database, not an archive; make one with: quarterdeck export FILE")
    if not body.startswith(b"PK\x03\x04") or len(body) < _END_RECORD.size:
        raise ImportRefused(path, "is not an archive of quarterdeck")
    mark, disk, first_disk, entries_on_disk, entries, size, start, comment = _END_RECORD.unpack_from(
        body, len(body) - _END_RECORD.size
    )
    if mark != b"PK\x05\x06" or disk or first_disk or comment or entries_on_disk != entries:
        raise ImportRefused(path, "is damaged, truncated or extended")
    if entries > len(PARTS) or start + size + _END_RECORD.size != len(body):
        raise ImportRefused(path, "is another zip file, not an archive of quarterdeck")


def _entries(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if not set(REQUIRED) <= set(names) or not set(names) <= set(PARTS):
        raise ImportRefused(path, "is another zip file, not an archive of quarterdeck")
    if len(set(names)) != len(names):
        raise ImportRefused(path, "holds a part twice")
    for entry in entries:
        if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ImportRefused(path, f"holds {entry.filename} in a form that is not allowed")
        if entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
            raise ImportRefused(path, f"holds {entry.filename} compressed beyond the limit")
    if sum(entry.file_size for entry in entries) > MAX_BYTES:
        raise ImportRefused(path, f"unpacks to more than {MAX_BYTES // 1_000_000} MB")
    return entries


def _read_part(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as part:
        body = part.read(entry.file_size)
        extra = part.read(1)  # reading to the end makes `zipfile` verify the checksum
    if len(body) != entry.file_size or extra:
        raise ImportRefused(path, f"holds {entry.filename} in a size other than stated")
    return body


def write_parts(target: Path, parts: Iterable[tuple[str, bytes]], *, overwrite: bool) -> int:
    """Write an archive atomically; durable when this returns.

    Returns:
        Its size in bytes.

    Raises:
        ExportRefused: If it cannot be written there.
    """
    body = _zip(dict(parts))
    temporary = target.with_name(f".{target.name}-new-{secrets.token_hex(6)}")
    try:
        _write(temporary, body)
        if overwrite:
            temporary.replace(target)
        else:
            _rename_exclusively(temporary, target)
        sync(target.parent)
    except FileExistsError as error:
        raise ExportRefused(target, "already exists; give another name or --force") from error
    except FileNotFoundError as error:
        raise ExportRefused(target, "cannot be written: its folder does not exist") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ExportRefused(target, f"cannot be written ({reason})") from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)
    return len(body)


def _zip(parts: Mapping[str, bytes], stored: Collection[str] = ()) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, body in parts.items():
            entry = zipfile.ZipInfo(name, _TIMESTAMP)
            entry.external_attr = 0o600 << 16
            entry.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, body, compresslevel=_LEVEL)
        entries = archive.infolist()
    # Our own reader refuses entries with too high a compression ratio (a long text of one letter): store those as is.
    dense = [entry.filename for entry in entries if entry.file_size > MAX_RATIO * max(entry.compress_size, 1)]
    return _zip(parts, {*stored, *dense}) if dense else buffer.getvalue()


def _write(path: Path, body: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(descriptor)


def _rename_exclusively(temporary: Path, target: Path) -> None:
    """Give a finished file its name, unless the name is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links; checking and renaming is not atomic, but the only way.
        if target.exists():
            raise FileExistsError(target) from None
        temporary.rename(target)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
