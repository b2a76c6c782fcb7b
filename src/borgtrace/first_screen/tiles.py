"""The three tiles of the first screen: how full the cell is, what waits, and what packing would save.

The first amount of a tile is its number; the others stand below it, smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import pyarrow as pa

from borgtrace.first_screen.lines import (
    Amount,
    ScreenLine,
    cell_level,
    check_queue,
    covered_hours,
)
from borgtrace.first_screen.packings import packings, way_in_words
from borgtrace.question import NotApplicable, Row
from borgtrace.store.manifest import Manifest


def fullness(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read the mean share of the CPU that is used and requested, then those of the memory."""
    hours = {}
    reasons = []
    for measure, table in (("used", "instance_usage"), ("allocated", "instance_events")):
        try:
            hours[measure] = covered_hours(answer, manifest, table)
        except NotApplicable as reason:
            reasons.append(str(reason))
    # What is requested can be told without usage, and the other way round.
    NotApplicable.unless(hours, "; ".join(dict.fromkeys(reasons)))
    words = {"used": "used", "allocated": "requested"}
    for resource, label in (("cpu", "CPU"), ("memory", "memory")):
        for measure, rows in hours.items():
            level = cell_level(rows, resource, measure)
            if level is not None:
                text = f"of the {label} {words[measure]}"
                yield Amount(f"tile-{resource}-{measure}", level, "percent", text)


def waiting(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read how many tasks are pending and running, within the trace."""
    steps = check_queue(answer, manifest)
    pending = median(steps["pending"].to_pylist())
    yield Amount("tile-pending-median", pending, "number", "tasks waiting (median)")
    peak = max(steps["pending_max"].to_pylist())
    yield Amount("tile-pending-peak", peak, "count", "waiting at the peak")
    running = median(steps["running"].to_pylist())
    yield Amount("tile-running-median", running, "number", "running (median)")


def savings(answer: pa.Table, manifest: Manifest) -> Iterator[Amount]:
    """Read how many machines the advised packing saves, against requests or else against the highest usage."""
    ways = packings(answer)
    best = ways.best
    if best is None:
        raise NotApplicable("nothing was packed")
    target = f"{best['target'] * 100:g} %"
    if ways.advised is None:
        label = f"packing tested is known to overload machines in at most {target} of the time"
        yield Amount("tile-saved", "none", "text", label, "No")
        text = f"{way_in_words(best)} with {best['machines']:.3g} machines"
        yield Amount("tile-packing", best["estimator"], "text", "comes nearest", text)
        return
    yield saving(best)
    tasks = f"{best['n_tasks']:,} long tasks".replace(",", "\u202f")
    yield Amount("tile-machines", best["machines"], "number", f"machines for {tasks}")
    label = f"overloads a machine at most {target} of the time"
    text = f"packing by {way_in_words(best)}"
    yield Amount("tile-packing", best["estimator"], "text", label, text)


def saving(best: Row) -> Amount:
    """Return the share of machines that a way of packing saves, with its interval.

    Examples
    --------
    >>> row = {"saved_request": 0.08, "saved_request_low": 0.07, "saved_request_high": 0.1}
    >>> saving(row).label
    'fewer machines than by requests [7–10 %]'
    """
    baseline, words = "saved_request", "by requests"
    if best[baseline] is None:
        baseline, words = "saved_maximum", "by the highest usage"
    saved, low, high = (best[baseline + end] for end in ("", "_low", "_high"))
    if saved is None:
        raise NotApplicable("there is nothing to compare the packing with")
    comparison = "fewer" if saved >= 0 else "more"
    interval = ""
    if low is not None and high is not None:
        ends = sorted((abs(low), abs(high))) if low * high > 0 else (low, high)
        interval = f" [{ends[0] * 100:.0f}–{ends[1] * 100:.0f} %]"
    label = f"{comparison} machines than {words}{interval}"
    return Amount("tile-saved", saved, "text", label, f"{abs(saved) * 100:.2g} %")


TILES = (
    ScreenLine(
        name="fullness",
        title="How full the cell is",
        question="utilization",
        needs="instance_usage",
        read=fullness,
    ),
    ScreenLine(
        name="waiting",
        title="What waits",
        question="queue_length",
        needs="instance_events",
        read=waiting,
    ),
    ScreenLine(
        name="savings",
        title="What packing would save",
        question="packing_advice",
        needs="instance_usage",
        read=savings,
    ),
)
"""The tiles in their order."""
