"""Which state transitions do tasks make, and which state graphs allow them?

One row per pair of consecutive events of an instance, in the order of the raw files (2011) or of the
life cycle (2019), UPDATE_* events included. The last columns show in which graphs the pair is legal:
the 2011 format document, Fig. 2 of the Borg paper, Fig. 1 of Zhu et al., the 2019 format document.

Reference: Zhu et al., Fig. 1; Verma et al., EuroSys'15, Fig. 2; format documents.
"""

import pyarrow as pa

from borgtrace.errors import check_names
from borgtrace.lifecycle import GRAPHS, is_legal
from borgtrace.question import Recipe, Tables


def compute(tables: Tables, *, of: str = "instances") -> pa.Table:
    """Return the transitions of instances or of collections with their legality.

    Parameters
    ----------
    tables
        The store's tables.
    of
        ``"instances"`` or ``"collections"``.
    """
    check_names("of", [of], ("instances", "collections"), "unknown entity")
    steps = tables.instance_transitions if of == "instances" else tables.collection_transitions
    pairs = tables.fetch(
        steps.group_by(["from_type", "to_type"]).aggregate(n=steps.n.sum()), "pairs"
    )
    arrows = list(zip(pairs["from_type"].to_pylist(), pairs["to_type"].to_pylist(), strict=True))
    for graph in GRAPHS.values():
        # Decided here and not in SQL: eleven types make 132 pairs at most.
        legal = pa.array([is_legal(graph, before, after) for before, after in arrows], pa.bool_())
        pairs = pairs.append_column(f"is_legal_{graph.name}", legal)
    return pairs


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=20)
