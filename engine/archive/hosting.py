"""What a host reads archives with: the importer that `ImportState` goes through."""

from pathlib import Path

from engine.archive.reading import read_archive
from engine.host.imports import Imported


def importer(path: Path, sha256: str) -> Imported:
    """Read and check the archive at `path`, whose file must have this hash. Blocks; for a thread.

    Raises:
        ImportRefused: If it cannot be imported.
    """
    archive = read_archive(path, sha256)
    return Imported(archive.document, archive.texts)
