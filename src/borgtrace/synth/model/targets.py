"""What a synthetic trace is calibrated to: the published numbers of ``targets.csv`` and ``targets_of_lives.csv``.

2011: the real trace's first 19.65 hours, its state at the start, its whole job and machine tables, and what
Janus & Rzadca (SoCC'17) print or imply about long tasks.  2019: 354,179 real usage rows whose sampling is
unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from borgtrace.schema.data_files import read_rows

TOLERANCE = 0.10
"""By which share of a published number the trace may differ, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class FidelityTarget:
    """One published number.

    Parameters
    ----------
    measure
        What is measured.
    tier
        Group of tasks, or ``"all"``.
    published
        The number; not 0 where it is judged.
    grade
        A: recomputed from real bytes; C: printed in a paper; E: arithmetic on such numbers; S: measured on the store
        that the cell imitates.
    source
        Where it comes from.
    is_judged
        Whether the trace has to match.  Otherwise the number is only reported: shares of a month, tails, guides, and
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
    tolerance: float = TOLERANCE


def _published_number(text: str) -> float:
    """Read a number, or counts as they were published: ``8957/12583/696.2`` removals per machine and hour."""
    number, *divisors = map(float, text.split("/"))
    for divisor in divisors:
        number /= divisor
    return number


def _target(row: Mapping[str, str]) -> FidelityTarget:
    return FidelityTarget(
        measure=row["measure"],
        tier=row["tier"],
        published=_published_number(row["published"]),
        grade=row["grade"],
        source=row["source"],
        is_judged=row["is_judged"] == "yes",
        tolerance=float(row.get("tolerance") or TOLERANCE),
    )


_ROWS = [
    row
    for name in ("targets.csv", "targets_of_lives.csv")
    for row in read_rows(Path(__file__).with_name(name))
]


def _targets_of(trace: str) -> tuple[FidelityTarget, ...]:
    return tuple(_target(row) for row in _ROWS if row["trace"] == trace)


TARGETS = _targets_of("2011")
TARGETS_2019 = _targets_of("2019")
