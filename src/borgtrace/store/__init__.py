"""The store: layout, manifest, opening, per-task traces."""

from borgtrace.store.manifest import Manifest, SourceEntry
from borgtrace.store.store import Store, open
from borgtrace.store.traces import Traces

__all__ = ["Manifest", "SourceEntry", "Store", "Traces", "open"]
