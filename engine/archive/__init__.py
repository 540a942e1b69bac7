"""Archives: a whole team with its open work in one file, to carry to another machine.

A zip that any tool can open, of JSON alone. One rule holds inside: what an archive says is believed only after all of
it was checked, and nothing is written before that; every failure is one `ImportRefused`.

Format: `manifest`. The file itself: `container`. Its JSON: `core.strict_json`. Whether it
may come in: `core.transfer.admission`. See docs/reference/archive.md.
"""

from engine.archive.exporting import ExportResult, export_archive
from engine.archive.plan import ImportPlan, plan_import
from engine.archive.reading import Archive, complete_state, read_archive, read_state
from engine.errors import ArchiveError, ExportRefused, ImportRefused

__all__ = [
    "Archive",
    "ArchiveError",
    "ExportRefused",
    "ExportResult",
    "ImportPlan",
    "ImportRefused",
    "complete_state",
    "export_archive",
    "plan_import",
    "read_archive",
    "read_state",
]
