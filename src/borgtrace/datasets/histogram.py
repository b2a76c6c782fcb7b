"""The distribution of the lengths of traces."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from borgtrace.datasets.selection import Selection
from borgtrace.datasets.trace_index import query_tasks
from borgtrace.store import Store

EDGES = (1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 51, 101, 201, 501, 1001, 2001, 5001, 10**9)
"""Where bins begin; 5 to 50 points, what the papers select, are whole bins."""
_WIDTH = 50


@dataclass(frozen=True, slots=True)
class Bin:
    """Traces with `low` to `high` points (both inclusive; None: no end)."""

    low: int
    high: int | None
    traces: int

    @property
    def label(self) -> str:
        """The range, in words."""
        return f"{self.low:,} or more" if self.high is None else f"{self.low:,}–{self.high:,}"


def lengths(store: Store, selection: Selection | None = None) -> tuple[Bin, ...]:
    """Count traces by length.

    Parameters
    ----------
    store
        Where from.
    selection
        Which tasks; its bounds on the length are set aside.  All tasks with usage where None.

    Raises
    ------
    UsageError
        The predicate of the selection is not SQL over ``tasks``.
    """
    # Without bounds on the length: what they cut off is what the histogram is asked for.
    chosen = replace(selection or Selection(), min_length=1, max_length=None)
    # Bins are counted by the engine, which sends back a number for each and no tasks.
    bins = " ".join(f"when n_windows < {edge} then {k}" for k, edge in enumerate(EDGES[1:]))
    counted = query_tasks(store, chosen, f"case {bins} end as bin, count(*) as n", "and n_windows > 0 group by 1")
    found = dict(zip(counted.column("bin").to_pylist(), counted.column("n").to_pylist(), strict=True))
    last = len(EDGES) - 2
    return tuple(Bin(low, None if k == last else EDGES[k + 1] - 1, found.get(k, 0)) for k, low in enumerate(EDGES[:-1]))


def drawn(bins: Sequence[Bin]) -> list[str]:
    """Draw bins as lines of text, down to the last that holds a trace; then the share of 5 to 50 points.

    Examples
    --------
    >>> for line in drawn([Bin(1, 4, 1), Bin(5, 9, 3), Bin(10, None, 0)]):
    ...     print(line)
          points        traces    share
             1–4             1   25.0 %  ████████████████▋
             5–9             3   75.0 %  ██████████████████████████████████████████████████
    5 to 50 points: 3 of 4 traces, 75.0 % (2011 as published: about 74 %)
    """
    total = sum(entry.traces for entry in bins)
    most = max((entry.traces for entry in bins), default=0) or 1
    used = [k for k, entry in enumerate(bins) if entry.traces]
    lines = [f"{'points':>12} {'traces':>13} {'share':>8}"]
    for entry in bins[: (used[-1] + 1) if used else 0]:
        share = f"{100 * entry.traces / (total or 1):.1f} %"
        lines.append(f"{entry.label:>12} {entry.traces:>13,} {share:>8}  {_bar(entry.traces / most)}".rstrip())
    middle = sum(entry.traces for entry in bins if entry.low >= 5 and entry.high is not None and entry.high <= 50)
    lines.append(
        f"5 to 50 points: {middle:,} of {total:,} traces, {100 * middle / (total or 1):.1f} % "
        "(2011 as published: about 74 %)"
    )
    return lines


def _bar(share: float) -> str:
    eighths = round(share * _WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
