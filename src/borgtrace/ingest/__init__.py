"""Raw files → store: find, read, convert, build."""

from borgtrace.ingest.ingest_plan import IngestPlan
from borgtrace.ingest.ingestion import IngestResult, PreparedIngest, ingest, prepare_ingest
from borgtrace.ingest.options import IngestOptions
from borgtrace.ingest.progress import Progress

__all__ = [
    "IngestOptions",
    "IngestPlan",
    "IngestResult",
    "PreparedIngest",
    "Progress",
    "ingest",
    "prepare_ingest",
]
