"""Events → attempts, transitions, occupancy: the shared ground of the questions.

One definition for every engine (DuckDB, Spark, BigQuery): Ibis expressions with explicit tie-breaks.
"""

from __future__ import annotations

from borgtrace.lifecycle.attempts import attempts
from borgtrace.lifecycle.cache import Cache, code_version, hold
from borgtrace.lifecycle.derived import DERIVED, Derived
from borgtrace.lifecycle.graphs import GRAPHS, Graph, is_legal
from borgtrace.lifecycle.occupancy import occupancy
from borgtrace.lifecycle.order import in_order
from borgtrace.lifecycle.transitions import transitions

__all__ = [
    "DERIVED",
    "GRAPHS",
    "Cache",
    "Derived",
    "Graph",
    "attempts",
    "code_version",
    "hold",
    "in_order",
    "is_legal",
    "occupancy",
    "transitions",
]
