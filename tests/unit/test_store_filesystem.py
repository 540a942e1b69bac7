"""Which file system a folder is on, as Linux and macOS say it."""

from pathlib import Path

import pytest

from store.layout.filesystem import NETWORK_FILE_SYSTEMS, darwin_mounts, filesystem_of, linux_mounts

MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 27 0:50 / /srv/ann/my\\040share rw,relatime shared:7 master:2 - nfs4 server:/export rw,vers=4.2
41 27 0:51 / /srv/ann/my\\040share/local rw - tmpfs tmpfs rw
a line that nobody understands
"""

DARWIN = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//ann@nas._smb._tcp.local/team on /Volumes/team (one) (smbfs, nodev, nosuid, mounted by ann)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
"""


@pytest.mark.parametrize(
    ("folder", "filesystem"),
    [
        ("/srv/ann", "ext4"),
        ("/srv/ann/my share", "nfs4"),
        ("/srv/ann/my share/deep/er", "nfs4"),
        ("/srv/ann/my share/local/x", "tmpfs"),
        ("/srv/ann/my sharer", "ext4"),
        ("/proc/1", "proc"),
    ],
)
def test_the_innermost_mount_of_linux_decides(folder: str, filesystem: str) -> None:
    assert filesystem_of(Path(folder), linux_mounts(MOUNTINFO)) == filesystem


@pytest.mark.parametrize(
    ("folder", "filesystem"), [("/private/ann", "apfs"), ("/Volumes/team (one)/x", "smbfs"), ("/Volumes", "apfs")]
)
def test_the_innermost_mount_of_macos_decides(folder: str, filesystem: str) -> None:
    assert filesystem_of(Path(folder), darwin_mounts(DARWIN)) == filesystem


def test_a_later_mount_on_the_same_point_covers_the_earlier_one() -> None:
    assert filesystem_of(Path("/data/x"), [("/", "ext4"), ("/data", "nfs"), ("/data", "xfs")]) == "xfs"


def test_an_unknown_system_is_not_taken_for_a_network() -> None:
    assert filesystem_of(Path("/x"), []) not in NETWORK_FILE_SYSTEMS
