"""One file per job in folders named by MD5, and their index: what scripts of 2017 read."""

from borgtrace.export.jobs.exporting import export_jobs
from borgtrace.export.jobs.layout import DEFAULT_COLUMNS, JobsLayout

__all__ = ["DEFAULT_COLUMNS", "JobsLayout", "export_jobs"]
