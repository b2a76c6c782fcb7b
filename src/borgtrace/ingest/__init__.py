"""Raw files → store: discover, stage, cluster, index."""

from __future__ import annotations

from borgtrace.ingest.ingest_plan import IngestPlan, plan
from borgtrace.ingest.ingestion import IngestResult, ingest
from borgtrace.ingest.options import IngestOptions
from borgtrace.ingest.progress import Progress

__all__ = ["IngestOptions", "IngestResult", "IngestPlan", "Progress", "ingest", "plan"]
