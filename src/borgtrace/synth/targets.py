"""What a synthetic trace is calibrated to: published numbers, as data (``targets.csv``).

2011: the real trace's first 19.65 hours, its state at the start, its whole job and machine tables, and what
Janus & Rzadca (SoCC'17) print or imply about long tasks.  2019: 354,179 real usage rows whose sampling is
unknown.
"""

from dataclasses import dataclass
from functools import reduce
from operator import truediv
from pathlib import Path

from borgtrace.schema.data_files import read_rows


@dataclass(frozen=True, slots=True)
class Target:
    """One published number.

    Parameters
    ----------
    measure
        What is measured.
    tier
        Group of tasks, or ``"all"``.
    published
        The number, other than 0 where it is judged.
    grade
        A: recomputed from real bytes; C: printed in a paper; E: arithmetic on such numbers; S: measured on the store
        that the cell was made like.
    source
        Where it comes from.
    is_judged
        Whether the trace has to match; otherwise it is only reported: shares of a month, tails, guides, and
        slopes of ranks, which are flatter the fewer jobs there are (the real trace thinned to 10,000 jobs has
        -1.44 and -0.87).
    tolerance
        By which share of the number the trace may differ.
    """

    measure: str
    tier: str
    published: float
    grade: str
    source: str
    is_judged: bool
    tolerance: float = 0.10


def _target(row: dict[str, str]) -> Target:
    # Counts stand as they were published: 54611/12477 tasks on a machine.
    published = reduce(truediv, map(float, row["published"].split("/")))
    return Target(
        row["measure"],
        row["tier"],
        published,
        row["grade"],
        row["source"],
        row["is_judged"] == "yes",
    )


def _targets(trace: str) -> tuple[Target, ...]:
    return tuple(
        _target(row)
        for row in read_rows(Path(__file__).with_name("targets.csv"))
        if row["trace"] == trace
    )


TARGETS = _targets("2011")
TARGETS_2019 = _targets("2019")
