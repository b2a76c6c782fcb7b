"""A store in the formats of others: one subpackage per format."""

from borgtrace.export.jobs import DEFAULT_COLUMNS, ExportResult, JobsLayout, export_jobs

__all__ = ["DEFAULT_COLUMNS", "ExportResult", "JobsLayout", "export_jobs"]
