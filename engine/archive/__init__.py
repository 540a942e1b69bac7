"""Archives: a team with its open work in one file, for another machine.

An archive is a zip of JSON files. It is untrusted: nothing is written before all of it was checked, and every failure
is an `ImportRefused`. `manifest` has the format and limits, `container` reads and writes the zip file,
`core.encoding.strict_json` reads its JSON, and `core.transfer.admission` checks the state. See
docs/reference/archive.md.
"""

from engine.archive.exporting import ExportResult, export_archive
from engine.archive.plan import ImportPlan, plan_import
from engine.archive.reading import Archive, complete_state, read_archive, read_state
from engine.errors import ArchiveError, ExportRefused, ImportRefused
