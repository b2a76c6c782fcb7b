"""How much of its request does a task ever use?

The peak of a task is the largest ``maximum_cpu`` (``maximum_memory``) of its windows, divided by
its request (on its last SCHEDULE). Tasks of jobs only; one without usage, maximum or request has no
ratio. A second count covers only the tasks whose CPU *and* memory stayed within the request, as the
published histogram does.

Reference: published histogram of 20 million tasks (5 % bins).
"""

import ibis
import pyarrow as pa

from borgtrace.analyses._measures import matching
from borgtrace.analyses._windows import RESOURCES, peaks_of_request
from borgtrace.recipe import NotApplicable, Recipe, Tables
from borgtrace.recipe.charts import HEIGHT, Chart, Plot, added, axis, bar


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


def plot(result: pa.Table) -> Chart:
    """Draw the two histograms."""
    rows = added(result, low=lambda row: row["bin"] * 5, high=lambda row: row["bin"] * 5 + 5)
    x = axis("low", "peak (% of the request; the last bar holds all above)", bin="binned")
    plotted = Plot(rows, x=x, x2="high", y=axis("n_tasks", "tasks"), color=axis("resource", legend=None))
    plotted.add(bar(opacity=0.8), tips=("n_within",)).facet(row="resource", independent=("y",))
    return plotted.draw("Peak usage as a share of the request", height=HEIGHT // 2)


def mean(result: pa.Table, resource: str) -> float:
    """Return the mean peak of the tasks that stay within their requests, as a share of the request.

    Parameters
    ----------
    result
        A result of this question.
    resource
        "cpu" or "memory".
    """
    bins = {row["bin"]: row["n_within"] for row in matching(result, {"resource": resource})}
    NotApplicable.unless(any(bins.values()), f"no task has a {resource} peak within its request")
    # Midpoints of the bins: so the published means were computed.
    return sum((number + 0.5) * 0.05 * n for number, n in bins.items()) / sum(bins.values())


RECIPE = Recipe.declared(compute, (mean,), plot=plot, reads=("instance_usage", "tasks"), order=62)
