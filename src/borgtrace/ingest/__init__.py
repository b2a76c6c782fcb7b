"""Raw files → store: discover, stage, cluster, index."""

from __future__ import annotations

from borgtrace.ingest.options import IngestOptions
from borgtrace.ingest.plan import Plan, plan
from borgtrace.ingest.progress import Progress
from borgtrace.ingest.run import IngestResult, ingest

__all__ = ["IngestOptions", "IngestResult", "Plan", "Progress", "ingest", "plan"]
