"""borgtrace: Cluster traces, from raw archives to answers.

>>> import borgtrace
>>> borgtrace.__version__
'0.1.0'

Heavy libraries are imported when they are needed, so ``import borgtrace`` takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from borgtrace.errors import (
    BorgtraceError,
    EngineError,
    QualityError,
    SchemaError,
    SourceError,
    StoreError,
    UsageError,
)
from borgtrace.version import __version__

if TYPE_CHECKING:
    from borgtrace import colocation, datasets, ingest, overcommit, synth
    from borgtrace.advice import advise
    from borgtrace.experiments import experiment
    from borgtrace.forecast import Forecaster
    from borgtrace.interactive import Store, Trace, compare, open
    from borgtrace.kernels.compiled import compiled
    from borgtrace.overcommit.policies import PeakPolicy
    from borgtrace.overcommit.recommenders import Recommender
    from borgtrace.placement import Estimator
    from borgtrace.question import Question
    from borgtrace.scheduling.machine_attributes import attribute_number
    from borgtrace.scheduling.scheduler import Scheduler
    from borgtrace.schema import Dialect

__all__ = [
    "BorgtraceError",
    "Dialect",
    "EngineError",
    "Estimator",
    "Forecaster",
    "PeakPolicy",
    "QualityError",
    "Question",
    "Recommender",
    "Scheduler",
    "SchemaError",
    "SourceError",
    "Store",
    "StoreError",
    "Trace",
    "UsageError",
    "__version__",
    "advise",
    "attribute_number",
    "colocation",
    "compare",
    "compiled",
    "datasets",
    "experiment",
    "ingest",
    "open",
    "overcommit",
    "synth",
]

PACKAGES = ("colocation", "datasets", "ingest", "overcommit", "synth")
MODULES = {
    "Dialect": "borgtrace.schema",
    "Estimator": "borgtrace.placement",
    "Forecaster": "borgtrace.forecast",
    "PeakPolicy": "borgtrace.overcommit.policies",
    "Question": "borgtrace.question",
    "Recommender": "borgtrace.overcommit.recommenders",
    "Scheduler": "borgtrace.scheduling.scheduler",
    "Store": "borgtrace.interactive",
    "Trace": "borgtrace.interactive",
    "advise": "borgtrace.advice",
    "attribute_number": "borgtrace.scheduling.machine_attributes",
    "compare": "borgtrace.interactive",
    "compiled": "borgtrace.kernels.compiled",
    "experiment": "borgtrace.experiments",
    "open": "borgtrace.interactive",
}
"""Where each public name is, that is imported on its first use."""


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name in PACKAGES:
        return import_module(f"borgtrace.{name}")
    if name in MODULES:
        return getattr(import_module(MODULES[name]), name)
    raise AttributeError(f"module 'borgtrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
