"""Columns that the answers of several questions share."""

from borgtrace.question import Column

GROUPING = (
    Column("grouping", "string", "id", "What the rows are grouped by: all, tier or class."),
    Column("group", "string", "id", "Name of the tier, number of the class, or all."),
)
CHANGE_CURVE_KEY = (
    Column("resource", "string", "id", "Resource: cpu or memory."),
    Column(
        "percent",
        "int64",
        "%",
        "Size of the change, rounded up; 0 is none, the last bin all above 200 %.",
    ),
)
CHANGE_CURVE_COLUMNS = (
    Column("n_pairs", "int64", "count", "Pairs of consecutive periods with this change."),
    Column("seconds", "int64", "s", "Time these pairs last: both periods together."),
    Column(
        "share", "float64", "fraction", "Share of that time in pairs that change at most this much."
    ),
)
POWER_DOMAIN = (
    Column("cell", "string", "id", "Cell of the domain."),
    Column("pdu", "string", "id", "The power domain, or all of the cell."),
)
