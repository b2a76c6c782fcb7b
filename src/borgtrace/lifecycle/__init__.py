"""Events → attempts, transitions, occupancy: the tables that questions share.

One definition for every engine (DuckDB, Spark, BigQuery): Ibis expressions with explicit tie-breaks.
"""

from borgtrace.lifecycle.cache import Cache, code_version, drop, hold
from borgtrace.lifecycle.derived import DERIVED
from borgtrace.lifecycle.graphs import GRAPHS, is_legal

__all__ = [
    "DERIVED",
    "GRAPHS",
    "Cache",
    "code_version",
    "drop",
    "hold",
    "is_legal",
]
