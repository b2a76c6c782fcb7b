"""How straight are the curves of submission and completion, and which of them coincide?

Largest distances between CDFs, exact to the microsecond: of each process to its chord (the straight line
from the first counted event of any process to the last), and of each pair. A curve is called linear if
the distance to the chord is at most .05; new tasks and completions coincide up to .05, submissions and
schedulings up to .01.

Reference: Zhu et al., Observations 1, 2 and 4.
"""

from itertools import combinations

import ibis

from borgtrace.analyses._attempts import PROCESSES, counted_events
from borgtrace.analyses._windows import int_sum
from borgtrace.question import NotApplicable, Recipe, Row, Tables

CHORD = "chord"


def compute(tables: Tables) -> list[Row]:
    """Return the largest distances between the four CDFs and to their chords."""
    rows = counted_events(tables.instance_attempts)
    instants = rows.group_by("time").aggregate(
        **{f"d_{name}": rows[name].sum().cast("int32") for name in PROCESSES}
    )
    numbers = {f"n_{name}": int_sum(rows[name]).fill_null(0) for name in PROCESSES}
    # A first pass for the totals: the second has no need of windows over all rows to divide by them.
    totals = rows.aggregate(
        begin=rows.time.min().fill_null(0), end=rows.time.max().fill_null(0), **numbers
    )
    # Without rows (as in a plan) the distances are still a query: over totals of 0.
    (total,) = tables.fetch(totals, "totals").to_pylist() or [dict.fromkeys(totals.columns, 0)]
    n = {name: total[f"n_{name}"] for name in PROCESSES}
    length = total["end"] - total["begin"]
    found = tables.fetch(
        _largest(instants, n, total["begin"], max(length, 1)), "distances"
    ).to_pylist()
    measured = length > 0 and any(n.values()) and found
    NotApplicable.unless(
        measured, "fewer than two instants with submissions, schedulings or completions"
    )
    pairs = [(name, CHORD) for name in PROCESSES if n[name]]
    pairs += [(a, b) for a, b in combinations(PROCESSES, 2) if n[a] and n[b]]
    return [
        {"process": a, "other": b, "distance": found[0][f"{a}_{b}"], "n": n[a]} for a, b in pairs
    ]


def _largest(instants: ibis.Table, n: dict[str, int], begin: int, length: int) -> ibis.Table:
    """Return one row with all distances, looked at just before and just after every jump."""
    so_far = ibis.cumulative_window(order_by="time")
    total = {name: float(max(n[name], 1)) for name in PROCESSES}
    after = instants.mutate(
        line=(instants.time - begin).cast("float64") / float(length),
        **{name: instants[f"d_{name}"].sum().over(so_far).cast("int64") for name in PROCESSES},
    )
    share = {name: after[name].cast("float64") / total[name] for name in PROCESSES}
    # The chord rises between two jumps, so that the largest distance may lie just before one.
    before = {
        name: (after[name] - after[f"d_{name}"]).cast("float64") / total[name] for name in PROCESSES
    }
    sides = {name: [(at[name] - after.line).abs() for at in (share, before)] for name in PROCESSES}
    chords = {f"{name}_{CHORD}": ibis.greatest(*both).max() for name, both in sides.items()}
    # Two step functions do not move between jumps: just before one is just after another.
    pairs = {f"{a}_{b}": (share[a] - share[b]).abs().max() for a, b in combinations(PROCESSES, 2)}
    return after.aggregate(**chords, **pairs)


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=22)
