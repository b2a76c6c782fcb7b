"""Columns of files of one's own: amounts, times and tasks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tests.ingest.cluster_samples import parquet_of
from tests.ingest.kinds.kind import AMOUNTS, MIDNIGHT, InputKind, cpu_entry, rows, written


def _memory(column: str, unit: str) -> dict[str, Any]:
    return {"usage.memory": {"column": column, "unit": unit, "kind": "average"}}


def _time(**entry: str) -> dict[str, Any]:
    return {"usage.time": {"column": "time", **entry}}


_FIRST = datetime(2026, 11, 1, tzinfo=UTC)
_MOMENTS = [_FIRST + timedelta(minutes=5) * (number // 2) for number in range(6)]
_DAYS = [(_FIRST + timedelta(days=1) * (number // 2)).date() for number in range(6)]


def _parquet(times: pa.Array) -> bytes:
    """Return usage of two pods at three times."""
    amounts = [float(AMOUNTS[number % 3]) for number in range(6)]
    return parquet_of({"pod": ["web", "db"] * 3, "time": times, "cpu": amounts})


_RECORDS = [
    {"pod": f"web-{pod}", "time": MIDNIGHT + 300 * slot, "cpu": 0.5 + slot % 3}
    for slot in range(6)
    for pod in range(2)
]
AMOUNT = "Amounts"
TIME = "Times"
TASK = "Tasks"

KINDS = (
    InputKind(AMOUNT, "cores", rows(), cpu_entry("cpu", "cores")),
    InputKind(
        AMOUNT,
        "a unit in the name",
        rows("pod,time,CPU(m)", ("500", "15", "250")),
        cpu_entry("CPU(m)", "millicores"),
    ),
    InputKind(
        AMOUNT,
        "nanocores in the name",
        rows("pod,time,cpu_nano", ("500000000", "1500000000", "2")),
        cpu_entry("cpu_nano", "nanocores"),
    ),
    InputKind(
        AMOUNT,
        "millicores in the name",
        rows("pod,time,cpu_mcores", ("500", "1500", "2")),
        cpu_entry("cpu_mcores", "millicores"),
    ),
    InputKind(
        AMOUNT,
        "NaN among numbers",
        rows(amounts=("0.5", "NaN", "1.5", "0.25")),
        cpu_entry("cpu", "cores"),
    ),
    InputKind(
        AMOUNT,
        "percent signs",
        rows(amounts=("50%", "25%")),
        refusal="percent of what",
    ),
    InputKind(
        AMOUNT,
        "how long it was throttled, alone",
        rows("pod,time,cpu_throttled_seconds", ("5", "1", "2")),
        refusal="cpu_throttled_seconds (another measure of cpu)",
    ),
    InputKind(
        AMOUNT,
        "how many CPUs there are, alone",
        rows("pod,time,num_cpus"),
        refusal="num_cpus (capacity of cpu)",
    ),
    InputKind(
        AMOUNT,
        "quantities of Kubernetes",
        rows(amounts=("250m", "1", "500m")),
        cpu_entry("cpu", "quantity"),
    ),
    InputKind(
        AMOUNT,
        "memory with its unit",
        rows("pod,time,memory", ("1Gi", "500 MB", "64Mi")),
        _memory("memory", "quantity"),
    ),
    InputKind(
        AMOUNT,
        "a counter of Prometheus",
        rows("pod,time,cpu_seconds_total", ("1", "2", "3")),
        cpu_entry("cpu_seconds_total", "s", "counter"),
    ),
    InputKind(
        AMOUNT,
        "decimal commas",
        rows("pod;time;cpu", ("0,5", "1,5"), separator=";"),
        {"decimal": ","},
    ),
    InputKind(
        AMOUNT,
        "French thousands",
        rows("pod;time;memory_mb", ("1\u202f500,5", "2,5"), separator=";"),
        {"thousands": "\u202f", "decimal": ","},
    ),
    InputKind(
        AMOUNT,
        "Swiss thousands",
        rows("pod,time,memory_mb", ("1'500.5", "2.5")),
        {"thousands": "'"},
    ),
    InputKind(
        AMOUNT,
        "requests and limits beside usage",
        rows("pod,time,cpu,cpu_request,cpu_limit", more=",1,2"),
        cpu_entry("cpu", "cores"),
    ),
    InputKind(
        AMOUNT,
        "usage and limit of docker stats",
        rows("pod,time,mem_usage", ("3.344MiB / 1.918GiB", "500MiB / 2GiB")),
        _memory("mem_usage", "quantity_of_limit"),
    ),
    InputKind(
        AMOUNT,
        "an average up to 16 of no unit",
        rows("vm,time,avg cpu", ("4", "12")),
        refusal="are its numbers, up to 12, cores or percentages",
    ),
    InputKind(
        AMOUNT,
        "an average of no unit, never above its limit",
        rows("vm,time,avg cpu,cpu_limit", ("4", "12"), more=",16"),
        cpu_entry("avg cpu", "cores"),
    ),
    InputKind(
        AMOUNT, "a ratio", rows("vm,time,cpu_ratio", ("0.5", "0.8")), refusal="a share of what"
    ),
    InputKind(
        AMOUNT,
        "ticks of a clock",
        rows("pod,time,cpu_ticks", ("500", "800")),
        refusal="counts ticks of a clock",
    ),
    InputKind(
        AMOUNT, "percentages", rows("pod,time,cpu_pct", ("50", "80")), refusal="percent of what"
    ),
    InputKind(
        AMOUNT,
        "more than 16 of no unit",
        rows(amounts=("500", "250")),
        refusal="cores, millicores or percentages",
    ),
    InputKind(
        AMOUNT,
        "memory of no unit",
        rows("pod,time,memory", ("500", "250")),
        refusal="in which unit",
    ),
    InputKind(
        AMOUNT,
        "a clock rate",
        rows("vm,time,cpu_mhz", ("500", "250")),
        refusal="a clock rate says no cores by itself",
    ),
    InputKind(
        AMOUNT,
        "a share beside its size",
        rows("vm,time,cpu,maxcpu", ("0.5", "0.2"), more=",4"),
        refusal="is it a share of maxcpu",
    ),
    InputKind(
        AMOUNT,
        "a maximum alone",
        rows("pod,time,cpu_max"),
        refusal="it is called like no mean of each step",
    ),
    InputKind(
        AMOUNT,
        "CPU seconds of each step",
        rows("pod,time,cpu_seconds", ("150", "20", "75")),
        refusal="called like a counter, but it falls",
    ),
    InputKind(
        AMOUNT,
        "1.500 beside semicolons",
        rows("pod;time;memory_mb", ("1.500", "2.500"), separator=";"),
        refusal="may stand before a fraction or between thousands",
    ),
    InputKind(AMOUNT, "an empty column", rows(amounts=("",)), refusal="no amounts"),
    InputKind(TIME, "seconds since 1970", rows(), _time(unit="s")),
    InputKind(
        TIME, "milliseconds since 1970", rows(time=lambda time: time * 1000), _time(unit="ms")
    ),
    InputKind(
        TIME,
        "ISO 8601 with an offset",
        rows(time=written("%Y-%m-%dT%H:%M:%S+02:00")),
        _time(unit="iso", zone="UTC"),
    ),
    InputKind(
        TIME,
        "a zone by its name",
        rows(time=written("%Y-%m-%d %H:%M:%S PST")),
        _time(unit="iso", zone="UTC"),
    ),
    InputKind(
        TIME,
        "01.11.2026 00:05",
        rows(time=written("%d.%m.%Y %H:%M")),
        _time(format="%d.%m.%Y %H:%M", zone="UTC"),
    ),
    InputKind(
        TIME,
        "01.11.26 00:05",
        rows(time=written("%d.%m.%y %H:%M")),
        _time(format="%d.%m.%y %H:%M", zone="UTC"),
    ),
    InputKind(
        TIME,
        "11/21/2026 12:05 AM",
        rows(time=written("%m/%d/%Y %I:%M %p", days_later=20)),
        _time(format="%m/%d/%Y %I:%M %p", zone="UTC"),
    ),
    InputKind(
        TIME, "202611010005", rows(time=written("%Y%m%d%H%M")), _time(unit="compact", zone="UTC")
    ),
    InputKind(
        TIME,
        "days of a spreadsheet",
        rows(time=lambda time: round(25_569 + time / 86_400, 8)),
        _time(unit="excel", zone="UTC"),
    ),
    InputKind(
        TIME,
        "dates of Kibana",
        rows(time=lambda time: f'"{written("%b %-d, %Y @ %H:%M:%S.000")(time)}"'),
        _time(format="%b %d, %Y @ %H:%M:%S.%f", zone="UTC"),
    ),
    InputKind(
        TIME,
        "timestamps of Parquet, with or without a zone",
        _parquet(pa.array(_MOMENTS, pa.timestamp("ms", "Europe/Berlin"))),
        _time(unit="iso", zone="UTC"),
        name="moments.parquet",
    ),
    InputKind(
        TIME,
        "dates of Parquet (`date32`): a row for each day",
        _parquet(pa.array(_DAYS, pa.date32())),
        {"step": "1d", **_time(unit="iso", zone="UTC")},
        name="days.parquet",
    ),
    InputKind(
        TIME,
        "times of day of Parquet (`time64`)",
        _parquet(pa.array([moment.time() for moment in _MOMENTS], pa.time64("us"))),
        refusal="times of day without a date",
        name="times.parquet",
    ),
    InputKind(
        TIME,
        "[01/Nov/2026:00:05:00 +0000] of a web server",
        rows(time=written("[%d/%b/%Y:%H:%M:%S +0000]")),
        {"usage.time": {"column": "time", "format": "[%d/%b/%Y:%H:%M:%S %z]", "zone": "UTC"}},
    ),
    InputKind(
        TIME,
        "01.11.2026, 00:05:00 of a browser",
        rows(time=written('"%d.%m.%Y, %H:%M:%S"')),
        {"usage.time": {"column": "time", "format": "%d.%m.%Y, %H:%M:%S", "zone": "UTC"}},
    ),
    InputKind(
        TIME,
        "Nov 01, 2026 @ 12:05:00 AM",
        rows(time=written('"%b %d, %Y @ %I:%M:%S %p"')),
        {"usage.time": {"column": "time", "format": "%b %d, %Y @ %I:%M:%S %p", "zone": "UTC"}},
    ),
    InputKind(
        TIME,
        "01-Nov-26 12.05.00.000000 AM of Oracle",
        rows(time=written("%d-%b-%y %I.%M.%S.000000 %p")),
        {"usage.time": {"column": "time", "format": "%d-%b-%y %I.%M.%S.%f %p", "zone": "UTC"}},
    ),
    InputKind(
        TIME,
        "Nov  1 00:05:00 of a system log",
        rows(time=written("%b %e %H:%M:%S")),
        refusal="dates without a year",
    ),
    InputKind(
        TIME,
        "units in the line below the names",
        rows().replace("cpu\n", "cpu\n-,s,cores\n", 1),
        {"usage.time": {"column": "time", "unit": "s"}},
    ),
    InputKind(
        TIME,
        "the names once more between the rows",
        rows() + rows().replace("web", "api"),
        {"usage.time": {"column": "time", "unit": "s"}},
    ),
    InputKind(
        TIME,
        "11/01/2026",
        rows(time=written("%m/%d/%Y %H:%M")),
        refusal="may begin with the month or with the day",
    ),
    InputKind(
        TIME,
        "minutes of no unit",
        rows(time=lambda time: time // 60 - 29_891_520),
        refusal="its times are 5 s apart",
    ),
    InputKind(
        TIME, "times of day", rows(time=written("%H:%M")), refusal="times of day without a date"
    ),
    InputKind(
        TIME,
        "a date, and the hour in a column of its own",
        "pod,date,hour,cpu\na,2026-11-01,0,1\na,2026-11-01,1,1\n",
        refusal="the date and the time of day in two columns",
    ),
    InputKind(
        TIME, "1.79E+09", rows(time=lambda time: f"{time:.2E}"), refusal="times that were rounded"
    ),
    InputKind(
        TIME,
        "CST, which is three zones",
        rows(time=written("%Y-%m-%d %H:%M:%S CST")),
        refusal="CST is the name of several time zones",
    ),
    InputKind(
        TASK,
        "namespace, pod and container",
        rows("pod,time,cpu,namespace,container", more=",shop,app"),
        {"usage.task": ["namespace", "pod", "container"]},
    ),
    InputKind(
        TASK,
        "namespace/pod/container in one column",
        rows("namespace/pod/container,time,cpu_cores"),
        {"usage.task": "namespace/pod/container"},
    ),
    InputKind(
        TASK,
        "fields of Elastic",
        rows("kubernetes.pod.name,@timestamp,cpu_cores"),
        {"usage.task": "kubernetes.pod.name"},
    ),
    InputKind(
        TASK,
        "JSON lines",
        "".join(json.dumps(record) + "\n" for record in _RECORDS),
        {"usage.task": "pod"},
        name="own.json",
    ),
    InputKind(
        TASK,
        "rows that another column tells apart",
        rows("job,time,cpu,core", more=",0") + rows("", more=",1").lstrip(),
        refusal="column core tells them apart",
    ),
    InputKind(TASK, "usage of machines", rows("host,time,cpu"), refusal="usage of whole machines"),
    InputKind(
        TASK,
        "a row for each metric",
        "time,metric,pod,value\n1,cpu,web,0.5\n",
        refusal="a row for each metric",
    ),
    InputKind(
        TASK,
        "a value of no name",
        rows("pod,time,Value #A"),
        refusal="of which quantity are its values",
    ),
)
