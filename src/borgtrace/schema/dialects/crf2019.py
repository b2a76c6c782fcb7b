"""Usage of 2019 as the Cluster Resource Forecast project joins it with events: one row per task and window.

Each row has the request in force, and percentiles of CPU, whose last one is the maximum of the window. Times are those
of the trace, amounts fractions of the largest machine, as Google publishes them. Rows say no end: a window ends where
the next one of its task begins, after 300 s at the latest. Rows of alloc sets are not told apart.

Sources: the files of cloud-traces-comparison, and trace_data.py of cluster-resource-forecast.
"""

from datetime import timedelta

from borgtrace.schema.dialects.google import LICENCE
from borgtrace.schema.dialects.google2019 import DIALECT as GOOGLE_2019
from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.trace_format import EVENTS_FROM_TIMES, Conversion, Dialect
from borgtrace.schema.records.usage_rows import (
    CPU_PERCENTILES,
    CPU_TAIL_PERCENTILES,
    percentile_column,
)
from borgtrace.schema.time import TRACE_START

_PERCENTILES = (*CPU_PERCENTILES[:-1], *CPU_TAIL_PERCENTILES)

INSTANCE_USAGE = RawTable(
    name="crf_instance_usage",
    table="usage_rows",
    fields=(
        RawField("time", "time", is_mandatory=True),
        RawField("unique_id", is_mandatory=True),
        RawField("collection_id", "task", is_mandatory=True),
        RawField("instance_index", "instance", is_mandatory=True),
        RawField("priority", "priority"),
        RawField("scheduling_class"),
        RawField("machine_id", "machine"),
        RawField("alloc_collection_id"),
        RawField("alloc_instance_index"),
        RawField("collection_type"),
        RawField("avg_cpu_usage", "average_cpu", is_mandatory=True),
        RawField("avg_memory_usage", "average_memory"),
        RawField("max_cpu_usage", "maximum_cpu"),
        RawField("max_memory_usage", "maximum_memory"),
        RawField("random_sample_cpu_usage", "instant_cpu"),
        RawField("assigned_memory", "assigned_memory"),
        RawField("sample_rate", "sample_rate"),
        *(RawField(f"p{n}_cpu_usage", percentile_column(n)) for n in _PERCENTILES[:-1]),
        RawField("p99_cpu_usage", percentile_column(99), is_mandatory=True),
        RawField("memory_limit", "memory_request"),
        RawField("cpu_limit", "cpu_request"),
        RawField("abstract_usage"),
        RawField("abstract_limit"),
    ),
)

DIALECT = Dialect(
    name="crf-2019",
    title="Google cluster trace 2019, joined by the Cluster Resource Forecast project",
    tables={INSTANCE_USAGE.name: INSTANCE_USAGE},
    formats=("csv", "parquet"),
    codes={"event_type": EVENTS_FROM_TIMES},
    # A window without percentiles has −1 for each of them.
    none={"machine": (0, -1), **{percentile_column(n): (-1,) for n in _PERCENTILES}},
    tiers=GOOGLE_2019.tiers,
    origin=GOOGLE_2019.origin,
    conversion=Conversion(
        zero=TRACE_START,
        step=300_000_000,
        share_of={"cpu": "largest", "memory": "largest"},
        shares=("cpu", "memory"),
    ),
    span=timedelta(days=31),
    licence=LICENCE,
    citations=GOOGLE_2019.citations,
)
