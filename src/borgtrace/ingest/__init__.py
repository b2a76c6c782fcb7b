"""Raw files → store: discover, stage, cluster, index."""

import sys
from types import ModuleType

from borgtrace.ingest.ingest_plan import IngestPlan, plan
from borgtrace.ingest.ingestion import IngestResult, ingest
from borgtrace.ingest.options import IngestOptions
from borgtrace.ingest.progress import Progress

__all__ = ["IngestOptions", "IngestResult", "IngestPlan", "Progress", "ingest", "plan"]


class _Callable(ModuleType):
    """Lets ``borgtrace.ingest(…)`` work: Python gives the name of a package to the package once it is loaded."""

    __call__ = staticmethod(ingest)


sys.modules[__name__].__class__ = _Callable
