"""How long are the traces?  Counts of traces and windows by length, drawn as text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from borgtrace.datasets.selection import Selection
from borgtrace.datasets.trace_index import query_tasks
from borgtrace.store import Store

EDGES = (1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 51, 101, 201, 501, 1001, 2001, 5001, 10**9)
"""Where bins begin; 5 to 50 points, what the papers select, are whole bins."""
BAR_WIDTH = 20
"""Characters: a line fits a terminal of 80 columns."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Traces with `low` to `high` points (both inclusive; None: no end), and the windows that they have together."""

    low: int
    high: int | None
    traces: int
    windows: int = 0

    @property
    def label(self) -> str:
        """The range, in words."""
        return f"{self.low:,} or more" if self.high is None else f"{self.low:,}–{self.high:,}"


def lengths(store: Store, selection: Selection | None = None) -> tuple[LengthBin, ...]:
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
    # Without bounds on the length: the histogram shows what they would cut off.
    unbounded = replace(
        selection or Selection(),
        min_length=None,
        max_length=None,
    )
    # Bins are counted by the engine, which sends back a number for length_bin and no tasks.
    bins = " ".join(f"when n_windows < {edge} then {k}" for k, edge in enumerate(EDGES[1:]))
    columns = f"case {bins} end as bin, count(*) as n, sum(n_windows)::bigint as windows"
    counts = {}
    for row in query_tasks(store, unbounded, columns, "group by 1").to_pylist():
        counts[row["bin"]] = (row["n"], row["windows"])
    length_bins = []
    for k, low in enumerate(EDGES[:-1]):
        is_last = k == len(EDGES) - 2
        high = None if is_last else EDGES[k + 1] - 1
        traces, windows = counts.get(k, (0, 0))
        length_bins.append(LengthBin(low, high, traces, windows))
    return tuple(length_bins)


def drawn(bins: Sequence[LengthBin]) -> list[str]:
    """Draw bins as lines of text, down to the last that holds a trace; then the share of 5 to 50 points.

    Examples
    --------
    >>> for line in drawn([LengthBin(1, 4, 1, 4), LengthBin(5, 9, 3, 16), LengthBin(10, None, 0)]):
    ...     print(line)
          points      traces    share     windows    share
             1–4           1   25.0 %           4   20.0 %  ██████▋
             5–9           3   75.0 %          16   80.0 %  ████████████████████
    5 to 50 points: 3 of 4 traces, 75.0 % (2011 as published: about 74 %)
    5 to 50 points: 16 of 20 windows, 80.0 %
    """
    all_traces = sum(length_bin.traces for length_bin in bins)
    all_windows = sum(length_bin.windows for length_bin in bins)
    most_traces = max((length_bin.traces for length_bin in bins), default=0) or 1
    used = [k for k, length_bin in enumerate(bins) if length_bin.traces]
    n_shown = used[-1] + 1 if used else 0

    title = "points".rjust(12)
    for heading in ("traces", "windows"):
        title += f" {heading:>11} {'share':>8}"
    lines = [title]
    for length_bin in bins[:n_shown]:
        traces = f"{length_bin.traces:>11,} {percent(length_bin.traces, all_traces):>8}"
        windows = f"{length_bin.windows:>11,} {percent(length_bin.windows, all_windows):>8}"
        bar = drawn_bar(length_bin.traces / most_traces)
        lines.append(f"{length_bin.label:>12} {traces} {windows}  {bar}".rstrip())

    selected_by_papers = [
        length_bin
        for length_bin in bins
        if length_bin.low >= 5 and length_bin.high is not None and length_bin.high <= 50
    ]
    traces_of_papers = sum(length_bin.traces for length_bin in selected_by_papers)
    windows_of_papers = sum(length_bin.windows for length_bin in selected_by_papers)
    traces = f"{traces_of_papers:,} of {all_traces:,} traces"
    traces += f", {percent(traces_of_papers, all_traces)} (2011 as published: about 74 %)"
    windows = f"{windows_of_papers:,} of {all_windows:,} windows"
    windows += f", {percent(windows_of_papers, all_windows)}"
    lines += [f"5 to 50 points: {traces}", f"5 to 50 points: {windows}"]
    return lines


def percent(part: int, whole: int) -> str:
    """Return a share in per cent; 0 of nothing."""
    return f"{100 * part / (whole or 1):.1f} %"


def drawn_bar(share: float) -> str:
    """Draw a share as a bar, to an eighth of a character."""
    eighths = round(share * BAR_WIDTH * 8)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()
