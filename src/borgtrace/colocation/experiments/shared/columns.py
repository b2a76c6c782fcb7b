"""Columns of packings that several experiments share."""

from borgtrace.question import Column

WAY_OF_PACKING = (
    Column("estimator", "string", "id", "Name of the estimator."),
    Column("parameter", "float64", "1", "Its parameter."),
    Column("packer", "string", "id", "Name of the packer."),
    Column("is_rebalanced", "bool", "1", "Whether the last machine was filled up."),
    Column("data", "string", "id", "What the estimator saw: inst or avg."),
    Column("capacity", "float64", "fraction", "Capacity of every machine."),
    Column("clairvoyance", "float64", "fraction", "Share of realizations seen."),
    Column(
        "fill",
        "float64",
        "fraction",
        "Share of the capacity that machines are filled to, the bin size multiplier e.",
    ),
    Column("instance", "int64", "id", "Number of the instance."),
)
OUTCOME = (
    Column("m_abs", "int64", "count", "Machines in use."),
    Column(
        "lower_bound", "int64", "count", "Mean usage of the placed tasks in machines, rounded up."
    ),
    Column("m", "float64", "1", "Machines in use over the lower bound."),
    Column("q", "float64", "fraction", "Share of overflows."),
    Column("overflows", "int64", "count", "Pairs of machine and realization that overflow."),
    Column("trials", "int64", "count", "Pairs of machine and realization."),
    Column("n_tasks", "int64", "count", "Tasks of the instance."),
    Column("n_unplaceable", "int64", "count", "Tasks that fit no machine alone."),
    Column("n_moved", "int64", "count", "Tasks moved by rebalancing."),
    Column(
        "predicted",
        "float64",
        "fraction",
        "Overflow the estimator predicts before rebalancing.",
        nullable=True,
    ),
)


def spread_columns(doc: str) -> list[Column]:
    """Return the columns of :func:`~borgtrace.colocation.experiments.shared.answers.spread`.

    Parameters
    ----------
    doc
        Over what, of what, such as ``"tasks of the error"``.
    """
    levels = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}
    percentiles = [
        Column(name, "float64", "1", f"Percentile {level} over {doc}.")
        for name, level in levels.items()
    ]
    whiskers = [
        Column(name, "float64", "1", f"{which} within 1.5 ranges of the quartiles, over {doc}.")
        for name, which in (("whisker_low", "Smallest"), ("whisker_high", "Largest"))
    ]
    return percentiles + whiskers
