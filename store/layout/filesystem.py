"""Examines the file system of a database: SQLite's locks and shared memory do not work on a network file system."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from store.errors import NetworkFileSystem

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs3",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "afpfs",
        "webdav",
        "davfs",
        "afs",
        "ceph",
        "ncpfs",
        "lustre",
        "glusterfs",
        "gpfs",
        "beegfs",
        "pvfs2",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.rclone",
        "fuse.davfs",
        "fuse.davfs2",
        "fuse.ceph",
        "fuse.gcsfuse",
        "fuse.smbnetfs",
        "fuse.cephfs",
    }
)


_MIN_FREE_BYTES = 65_536


def has_no_room(path: Path) -> bool:
    """Return whether the file system of `path` is full, so that its engine cannot write."""
    try:
        status = os.statvfs(path)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < _MIN_FREE_BYTES


def check_local(folder: Path) -> None:
    """Raise NetworkFileSystem if `folder` is on a network file system."""
    filesystem = filesystem_of(folder, _mounts())
    if filesystem in NETWORK_FILE_SYSTEMS:
        raise NetworkFileSystem(folder, filesystem)


def filesystem_of(folder: Path, mounts: Iterable[tuple[str, str]]) -> str:
    """Type of the file system that holds `folder`.

    Args:
        folder: An absolute path without links.
        mounts: Pairs of mount point and type, in the order of mounting.

    Returns:
        The type of the innermost mount (of the last one, where two share a point), or "" when none holds it.
    """
    length, innermost = -1, ""
    for point, filesystem in mounts:
        if folder.is_relative_to(point) and len(point) >= length:
            length, innermost = len(point), filesystem
    return innermost


def _mounts() -> list[tuple[str, str]]:
    if sys.platform == "darwin":
        import subprocess  # 4 ms, and only where there is no /proc

        listing = subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=False).stdout
        return darwin_mounts(listing)
    try:
        return linux_mounts(Path("/proc/self/mountinfo").read_text(errors="surrogateescape"))
    except OSError:
        return []


def linux_mounts(mountinfo: str) -> list[tuple[str, str]]:
    """Read `/proc/self/mountinfo` (proc(5)): the fifth field is the point, the type follows the lone dash."""
    mounts = []
    for line in mountinfo.splitlines():
        mount, separator, source = line.partition(" - ")
        fields = mount.split(" ")
        if separator and len(fields) > 4:
            mounts.append((_unescape(fields[4]), source.split(" ")[0]))
    return mounts


def _unescape(point: str) -> str:
    """Undo the octal escapes that mountinfo uses for space, tab, newline and backslash."""
    for octal, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(octal, character)
    return point


def darwin_mounts(listing: str) -> list[tuple[str, str]]:
    """Read what `mount` prints on macOS: `//user@host/share on /Volumes/share (smbfs, nodev)`."""
    mounts = []
    for line in listing.splitlines():
        mount, parenthesis, options = line.rpartition(" (")
        _, separator, point = mount.partition(" on ")
        if parenthesis and separator:
            mounts.append((point, options.rstrip(")").split(",")[0]))
    return mounts
