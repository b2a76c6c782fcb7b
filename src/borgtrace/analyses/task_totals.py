"""How many tasks are there, and what happened to them in all?

One row per tier and one for all: tasks that were submitted, their jobs and their events. What was there before
the trace counts too (time 0), as in the published totals. A task counts in the tier of its last SCHEDULE. *Alive*
is submissions minus all ends: what is pending or running at the end of the trace.

Reference: Zhu et al., Methods 3 and 3-1; Fig. 3.
"""

from collections.abc import Callable

import ibis
import pyarrow as pa

from borgtrace.analyses._answers import AZURE_2019, IN_2011, PODS, RESULTS, TOTALS_2011, Measure, part, ratio, value
from borgtrace.analyses._attempts import of_jobs
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claim, Recipe, Tables, equals, from_source, near
from borgtrace.recipe.charts import Chart, Plot, axis, bar
from borgtrace.schema import TERMINAL_EVENTS

ALL = "all"
_NONE = "no such task was submitted"
_ENDS = tuple(f"n_{name.lower()}" for name in TERMINAL_EVENTS)
_EVENTS = ("n_submit", "n_schedule", *_ENDS)
RESULT = RESULTS["task_totals"]


def compute(tables: Tables) -> ibis.Table:
    """Return tasks and their events, in all and per tier."""
    tasks = of_jobs(tables.tasks)
    tasks = tasks.mutate(tier=tier(tables, tasks.priority))
    is_new = tasks.n_submit > 0  # the index also holds instances that are seen in usage alone
    numbers = {
        "n_jobs": is_new.ifelse(tasks.collection_id, ibis.null("int64")).nunique(),
        "n_tasks": tasks.count(where=is_new),
        **{name: tasks[name].cast("int64").sum().fill_null(0).cast("int64") for name in _EVENTS},
    }
    # Not the sum of the tiers: a job may have tasks in two.
    total = tasks.aggregate(**numbers).mutate(tier=ibis.literal(ALL))
    rows = tasks.group_by("tier").aggregate(**numbers).select(RESULT.names[:-1])
    rows = rows.union(total.select(RESULT.names[:-1]))
    return rows.mutate(n_alive=rows.n_submit - sum((rows[name] for name in _ENDS[1:]), rows[_ENDS[0]]))


def plot(result: pa.Table) -> Chart:
    """Draw the number of tasks per tier."""
    rows = [row for row in result.to_pylist() if row["tier"] != ALL]
    return Plot(rows, x=axis("n_tasks", "tasks"), y="tier").add(bar(), tips=_EVENTS).draw("Tasks by tier", height=130)


def _total(column: str, name: str = ALL) -> Callable[[pa.Table], int]:
    measure = value(column, _NONE, tier=name)
    return lambda result: int(measure(result))


def _per_task(column: str) -> Measure:
    return ratio(column, "n_tasks", _NONE, tier=ALL)


# Some tasks have rows of two priorities: there they count in both.
_PRODUCTION = near(295_210, relative=0.001)
_AZURE = "AzurePublicDatasetV2.md"
CLAIMS = (
    *from_source(
        "Zhu et al., Method 3",
        Claim("S4-total-new", "new tasks", equals(25_424_731), _total("n_tasks")),
        Claim("S4-total-completed", "completions", equals(18_217_975), _total("n_finish")),
        Claim("S4-total-submitted", "submissions", equals(48_375_166), _total("n_submit")),
        Claim("S4-total-scheduled", "schedulings", equals(47_331_507), _total("n_schedule")),
        Claim("S4-total-tasks", "tasks, by the paper's text", equals(25_444_397), _total("n_tasks")),
        Claim("S4-total-finished", "of these completed, by the paper's text", equals(18_217_749), _total("n_finish")),
        scope=TOTALS_2011,
    ),
    *from_source(
        "Zhu et al., Fig. 9",
        Claim("S4-production-tasks", "tasks of production", equals(1_558_255), _total("n_tasks", "production")),
        Claim(
            "S4-production-share",
            "tasks of production, as a share of all",
            near(0.06, 0.005),
            part("n_tasks", _NONE, {"tier": ALL}, tier="production"),
        ),
        scope=TOTALS_2011,
    ),
    *from_source(
        "Zhu et al., Fig. 3: quotients of its totals",
        Claim("S4-weight-completed", "completions per new task", near(0.7165, 0.01), _per_task("n_finish")),
        Claim("S4-weight-submitted", "submissions per new task", near(1.9027, 0.01), _per_task("n_submit")),
        Claim("S4-weight-scheduled", "schedulings per new task", near(1.8616, 0.01), _per_task("n_schedule")),
        kind="derived",
        scope=IN_2011,
    ),
    *from_source(
        "full-trace Spark run over 2011",
        Claim("KOR-total-scheduled", "SCHEDULE events", equals(47_351_173), _total("n_schedule")),
        Claim("KOR-production-tasks", "tasks of production", _PRODUCTION, _total("n_tasks", "production")),
        Claim("KOR-alive", "tasks alive at the end: submissions minus all ends", equals(104_635), _total("n_alive")),
        Claim("EDA-jobs", "jobs that have task events", equals(672_004), _total("n_jobs")),
        kind="criterion",
        scope=TOTALS_2011,
    ),
    Claim("OPENB-pods", "pods", equals(8_152), _total("n_tasks"), "README of cluster-trace-gpu-v2023", scope=PODS),
    Claim("AZ19-vms", "2.70 million VMs", near(2_700_000, 5_000), _total("n_tasks"), _AZURE, scope=AZURE_2019),
)

RECIPE = Recipe.declared(compute, plot, CLAIMS, reads=("instance_events", "tasks"), order=25)
