"""borgtrace: Google's cluster traces, from raw archives to answers.

>>> import borgtrace
>>> borgtrace.__version__
'0.1.0'

Heavy libraries are imported when they are needed, so ``import borgtrace`` takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from borgtrace._version import __version__
from borgtrace.errors import BorgtraceError, EngineError, QualityError, SchemaError, SourceError, StoreError, UsageError

if TYPE_CHECKING:
    from borgtrace.ingest import ingest
    from borgtrace.store import Store, open

_LAZY = {
    "Store": "borgtrace.store",
    "open": "borgtrace.store",
    "ingest": "borgtrace.ingest",
    "synth": "borgtrace.synth",
    "datasets": "borgtrace.datasets",
    "colocation": "borgtrace.colocation",
}
_PACKAGES = frozenset({"synth", "datasets", "colocation"})

__all__ = [
    "BorgtraceError",
    "EngineError",
    "QualityError",
    "SchemaError",
    "SourceError",
    "Store",
    "StoreError",
    "UsageError",
    "__version__",
    "ingest",
    "open",
]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'borgtrace' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if name in _PACKAGES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
