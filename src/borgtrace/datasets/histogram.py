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
    """Traces with `low` to `high` points (both inclusive; None: no end), and the windows that they have together."""

    low: int
    high: int | None
    traces: int
    windows: int = 0

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
    chosen = replace(selection or Selection(), min_length=None, max_length=None)
    # Bins are counted by the engine, which sends back a number for each and no tasks.
    bins = " ".join(f"when n_windows < {edge} then {k}" for k, edge in enumerate(EDGES[1:]))
    columns = f"case {bins} end as bin, count(*) as n, sum(n_windows)::bigint as windows"
    counted = query_tasks(store, chosen, columns, "group by 1").to_pylist()
    found = {row["bin"]: (row["n"], row["windows"]) for row in counted}
    last = len(EDGES) - 2
    return tuple(
        Bin(low, None if k == last else EDGES[k + 1] - 1, *found.get(k, (0, 0)))
        for k, low in enumerate(EDGES[:-1])
    )


def drawn(bins: Sequence[Bin]) -> list[str]:
    """Draw bins as lines of text, down to the last that holds a trace; then the share of 5 to 50 points.

    Examples
    --------
    >>> for line in drawn([Bin(1, 4, 1, 4), Bin(5, 9, 3, 16), Bin(10, None, 0)]):
    ...     print(line)
          points        traces    share       windows    share
             1–4             1   25.0 %             4   20.0 %  ████████████████▋
             5–9             3   75.0 %            16   80.0 %  ██████████████████████████████████████████████████
    5 to 50 points: 3 of 4 traces, 75.0 % (2011 as published: about 74 %); 16 of 20 windows, 80.0 %
    """
    total, windows = (sum(getattr(entry, name) for entry in bins) for name in ("traces", "windows"))
    most = max((entry.traces for entry in bins), default=0) or 1
    used = [k for k, entry in enumerate(bins) if entry.traces]
    lines = [f"{'points':>12} {'traces':>13} {'share':>8} {'windows':>13} {'share':>8}"]
    for entry in bins[: (used[-1] + 1) if used else 0]:
        traces = f"{entry.traces:>13,} {_percent(entry.traces, total):>8}"
        of_windows = f"{entry.windows:>13,} {_percent(entry.windows, windows):>8}"
        lines.append(
            f"{entry.label:>12} {traces} {of_windows}  {_bar(entry.traces / most)}".rstrip()
        )
    middle = [
        entry for entry in bins if entry.low >= 5 and entry.high is not None and entry.high <= 50
    ]
    in_traces, in_windows = (
        sum(getattr(entry, name) for entry in middle) for name in ("traces", "windows")
    )
    lines.append(
        f"5 to 50 points: {in_traces:,} of {total:,} traces, {_percent(in_traces, total)} "
        f"(2011 as published: about 74 %); {in_windows:,} of {windows:,} windows, {_percent(in_windows, windows)}"
    )
    return lines


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / (whole or 1):.1f} %"


def _bar(share: float) -> str:
    eighths = round(share * _WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
