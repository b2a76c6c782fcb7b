"""A store in the formats of others: a file per job, or the files that simulators and other tools read."""

from borgtrace.export.citation import datacite
from borgtrace.export.files import CLOCK, LAYOUTS, export_files
from borgtrace.export.jobs import DEFAULT_COLUMNS, JobsLayout, export_jobs
from borgtrace.export.result import ExportResult, LedgerLine

__all__ = [
    "CLOCK",
    "DEFAULT_COLUMNS",
    "LAYOUTS",
    "ExportResult",
    "JobsLayout",
    "LedgerLine",
    "datacite",
    "export_files",
    "export_jobs",
]
