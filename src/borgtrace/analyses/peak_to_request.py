"""How much of its request does a task ever use?

The peak of a task is the largest ``maximum_cpu`` (``maximum_memory``) of its windows, divided by
its request (on its last SCHEDULE). Tasks of jobs only; one without usage, maximum or request has no
ratio. A second count covers only the tasks whose CPU *and* memory stayed within the request, as the
published histogram does.

Reference: published histogram of 20 million tasks (5 % bins).
"""

import ibis

from borgtrace.analyses._windows import RESOURCES, peaks_of_request
from borgtrace.question import Recipe, Tables


def compute(tables: Tables, *, n_bins: int = 40) -> ibis.Table:
    """Return the histogram of peak ÷ request in steps of 5 %; the last of `n_bins` + 1 holds the rest."""
    rows = peaks_of_request(tables)
    # A task that lacks one of the two requests cannot be said to stay within both.
    rows = rows.mutate(is_within=((rows.cpu <= 1.0) & (rows.memory <= 1.0)).fill_null(False))
    return ibis.union(*(_histogram(rows, name, n_bins) for name in RESOURCES))


def _histogram(rows: ibis.Table, resource: str, n_bins: int) -> ibis.Table:
    known = rows.filter(rows[resource].notnull())
    # A peak of exactly the request belongs to the last bin below it, like the published 95-100 % bin.
    number = (known[resource] * 20.0).floor().cast("int64")
    number = (known[resource] == 1.0).ifelse(ibis.literal(19, "int64"), number)
    known = known.mutate(bin=ibis.least(number, n_bins), resource=ibis.literal(resource))
    within = known.count(where=known.is_within)
    return known.group_by(["resource", "bin"]).aggregate(n_tasks=known.count(), n_within=within)


RECIPE = Recipe.declared(compute, reads=("instance_usage", "tasks"), order=62)
