"""How long do tasks wait to be scheduled?

Quantiles of SCHEDULE − SUBMIT per tier and per scheduling class, exact to the microsecond.  Waits that began
before the trace are unknown and left out.

Reference: Zhu et al., Fig. 6; Tirmazi et al., EuroSys'20, Fig. 10.
"""

import ibis
import numpy as np

from borgtrace.analyses._attempts import HUNDREDTH, of_jobs
from borgtrace.analyses._breakdown import count_by_group, ranked, sum_by_group
from borgtrace.analyses._quantiles import PERCENTS, Counts
from borgtrace.question import NotApplicable, Recipe, Row, Tables

_SHOWN = (*PERCENTS, 100.0)


def compute(tables: Tables, *, tier_of: str = "schedule") -> list[Row]:
    """Return quantiles of the waits, for all tasks, per tier and per class.

    Parameters
    ----------
    tables
        The store's tables.
    tier_of
        Event whose priority decides the tier: ``"schedule"`` (else the attempt's other events) or ``"submit"``.
    """
    tasks = ranked(of_jobs(tables.instance_attempts), tier_of)
    coarse = (tasks.wait // HUNDREDTH).cast("int64")
    groups = count_by_group(tables, tasks, coarse, "waits")
    NotApplicable.unless(groups, "no wait lies within the trace")
    # The microseconds of a month of waits do not fit into memory: read are those that quantiles lie between.
    bins = np.unique(np.concatenate([found.around(_SHOWN) for found in groups.values()])).astype(
        np.int64
    )
    close = tasks.filter(coarse.isin(bins.tolist()))
    exact = count_by_group(tables, close, close.wait, "waits_at_quantiles")
    waited = tasks.filter(tasks.wait.notnull())
    sums = sum_by_group(tables, waited, "sums", total=waited.wait, n=ibis.literal(1, "int64"))
    means = {cut: found["total"] / found["n"] / 1e6 for cut, found in sums.items()}
    rows = []
    for cut, found in groups.items():
        others = found.chosen(~np.isin(found.values, bins))
        waits = Counts(others.values * HUNDREDTH, others.n) + exact[cut]
        rows += waits.per(1e6).rows(
            _SHOWN, grouping=cut[0], group=cut[1], mean=means[cut], n=len(found)
        )
    return rows


RECIPE = Recipe.declared(compute, reads=("instance_events",), order=42)
