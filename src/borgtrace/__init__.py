"""borgtrace: Cluster traces, from raw archives to answers.

>>> import borgtrace
>>> borgtrace.__version__
'0.1.0'

Heavy libraries are imported when they are needed, so ``import borgtrace`` takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from borgtrace._version import __version__
from borgtrace.errors import (
    BorgtraceError,
    EngineError,
    QualityError,
    SchemaError,
    SourceError,
    StoreError,
    UsageError,
)

if TYPE_CHECKING:
    from borgtrace import colocation, datasets, ingest, overcommit, synth
    from borgtrace.interactive import Store, Trace, compare, open

_LAZY = {
    "Store": "borgtrace.interactive",
    "Trace": "borgtrace.interactive",
    "compare": "borgtrace.interactive",
    "open": "borgtrace.interactive",
    "ingest": "borgtrace.ingest",
    "synth": "borgtrace.synth",
    "datasets": "borgtrace.datasets",
    "colocation": "borgtrace.colocation",
    "overcommit": "borgtrace.overcommit",
}
_PACKAGES = frozenset({"ingest", "synth", "datasets", "colocation", "overcommit"})

__all__ = [
    "BorgtraceError",
    "EngineError",
    "QualityError",
    "SchemaError",
    "SourceError",
    "Store",
    "StoreError",
]
__all__ += [
    "Trace",
    "UsageError",
    "__version__",
    "colocation",
    "compare",
    "datasets",
    "ingest",
    "open",
    "overcommit",
]
__all__ += ["synth"]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'borgtrace' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if name in _PACKAGES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
