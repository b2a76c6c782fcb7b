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
    from borgtrace.interactive import Store, Trace, compare, open

__all__ = [
    "BorgtraceError",
    "EngineError",
    "QualityError",
    "SchemaError",
    "SourceError",
    "Store",
    "StoreError",
    "Trace",
    "UsageError",
    "__version__",
    "advise",
    "colocation",
    "compare",
    "datasets",
    "ingest",
    "open",
    "overcommit",
    "synth",
]

PACKAGES = ("colocation", "datasets", "ingest", "overcommit", "synth")
NAMES_OF_INTERACTIVE = ("Store", "Trace", "compare", "open")


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name in PACKAGES:
        return import_module(f"borgtrace.{name}")
    if name == "advise":
        from borgtrace.advice import advise

        return advise
    if name in NAMES_OF_INTERACTIVE:
        from borgtrace import interactive

        return getattr(interactive, name)
    raise AttributeError(f"module 'borgtrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
