"""On which platforms do hardware counters (CPI, MAI) lack?

Windows by the platform of their machine: how many there are, and the shares without cycles and without
memory accesses per instruction. The platform is the last that the machine's events name; windows of a
machine that none names count as ``unknown``.

Reference: format documents (task resource usage); ClusterData2011_2.md (known anomalies).
"""

import ibis.expr.types as ir

from borgtrace.analyses._joins import last_of, lookup
from borgtrace.analyses._windows import UNKNOWN
from borgtrace.question import Recipe, Tables


def compute(tables: Tables) -> ir.Table:
    """Return windows and shares without counters per platform."""
    machines = tables.machine_events
    platforms = last_of(machines.filter(machines.platform_id.notnull()), ["machine_id"])
    usage = tables.instance_usage
    columns = ("machine_id", "cycles_per_instruction", "memory_accesses_per_instruction")
    rows = lookup(
        usage.select(columns),
        platforms.select("machine_id", platform="platform_id"),
        ["machine_id"],
    )
    rows = rows.mutate(platform=rows.platform.fill_null(UNKNOWN))
    found = rows.group_by("platform").aggregate(
        n_machines=rows.machine_id.nunique(),
        n_windows=rows.count(),
        cpi=rows.cycles_per_instruction.count(),
        mai=rows.memory_accesses_per_instruction.count(),
    )
    n = found.n_windows.cast("float64")
    missing = {f"{name}_missing": 1.0 - found[name].cast("float64") / n for name in ("cpi", "mai")}
    return found.select("platform", "n_machines", "n_windows", **missing)


RECIPE = Recipe.declared(compute, reads=("instance_usage", "machine_events"), order=68)
