"""Kinds of files that people have, each with what becomes of it: the table in the documentation, and its test.

Each sample is the shortest text of its kind: two pods, six times five minutes apart.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

MIDNIGHT = 1_793_491_200
AMOUNTS = ("0.5", "1.5", "0.25")


@dataclass(frozen=True)
class InputKind:
    """A kind of file.

    Parameters
    ----------
    group
        The heading it stands below.
    title
        What it is.
    content
        A sample.
    reads
        Entries of the guessed declaration, by ``section.column`` or name; for a file that is read.
    refusal
        What is said; for one that is refused or asked about.
    name
        What the sample is called.
    """

    group: str
    title: str
    content: str | bytes
    reads: Mapping[str, Any] = field(default_factory=dict)
    refusal: str = ""
    name: str = "own.csv"


def rows(
    header: str = "pod,time,cpu",
    amounts: Sequence[str] = AMOUNTS,
    time: Callable[[int], object] = str,
    separator: str = ",",
    more: str = "",
) -> str:
    """Return delimited text whose amounts go round and round."""
    lines = [header]
    for slot in range(6):
        for pod in range(2):
            amount = amounts[(slot + pod) % len(amounts)]
            fields = [f"web-{pod}", time(MIDNIGHT + 300 * slot), amount]
            lines.append(separator.join(map(str, fields)) + more)
    return "\n".join(lines) + "\n"


def written(pattern: str, *, days_later: int = 0) -> Callable[[int], str]:
    """Return how a time is written by a pattern of strftime."""
    return lambda time: datetime.fromtimestamp(time + 86_400 * days_later, UTC).strftime(pattern)


def _cpu(column: str, unit: str, kind: str = "average") -> dict[str, Any]:
    return {"usage.cpu": {"column": column, "unit": unit, "kind": kind}}


def _memory(column: str, unit: str) -> dict[str, Any]:
    return {"usage.memory": {"column": column, "unit": unit, "kind": "average"}}


def _time(**entry: str) -> dict[str, Any]:
    return {"usage.time": {"column": "time", **entry}}


_RECORDS = [
    {"pod": f"web-{pod}", "time": MIDNIGHT + 300 * slot, "cpu": 0.5 + slot % 3}
    for slot in range(6)
    for pod in range(2)
]
_POD_METRICS = json.dumps(
    {
        "kind": "PodMetricsList",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "items": [
            {
                "metadata": {"name": "web-0", "namespace": "shop"},
                "timestamp": "2026-11-01T00:00:00Z",
                "window": "30s",
                "containers": [{"name": "app", "usage": {"cpu": "250m", "memory": "512Mi"}}],
            }
        ],
    }
)
AMOUNT = "Amounts"
TIME = "Times"
TASK = "Tasks"
FORM = "Separators, encodings and packings"
PRINTED = "What other programs print"

KINDS: tuple[InputKind, ...] = (
    InputKind(AMOUNT, "cores", rows(), _cpu("cpu", "cores")),
    InputKind(
        AMOUNT,
        "a unit in the name",
        rows("pod,time,CPU(m)", ("500", "15", "250")),
        _cpu("CPU(m)", "millicores"),
    ),
    InputKind(
        AMOUNT,
        "quantities of Kubernetes",
        rows(amounts=("250m", "1", "500m")),
        _cpu("cpu", "quantity"),
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
        _cpu("cpu_seconds_total", "s", "counter"),
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
        _cpu("cpu", "cores"),
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
        _time(format="%b %d, %Y @ %H:%M:%S.%g", zone="UTC"),
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
    InputKind(FORM, "semicolon", rows("pod;time;cpu", separator=";"), _cpu("cpu", "cores")),
    InputKind(FORM, "tab", rows("pod\ttime\tcpu", separator="\t"), _cpu("cpu", "cores")),
    InputKind(FORM, "|", rows("pod|time|cpu", separator="|"), _cpu("cpu", "cores")),
    InputKind(FORM, "quotes", rows('"pod","time","cpu"'), _cpu("cpu", "cores")),
    InputKind(FORM, "UTF-8 with a mark", b"\xef\xbb\xbf" + rows().encode(), _cpu("cpu", "cores")),
    InputKind(FORM, "UTF-16 with a mark", rows().encode("utf-16"), _cpu("cpu", "cores")),
    InputKind(
        FORM,
        "gzip",
        gzip.compress(rows().encode(), mtime=0),
        _cpu("cpu", "cores"),
        name="own.csv.gz",
    ),
    InputKind(
        FORM, "bzip2", bz2.compress(rows().encode()), _cpu("cpu", "cores"), name="own.csv.bz2"
    ),
    InputKind(FORM, "xz", lzma.compress(rows().encode()), _cpu("cpu", "cores"), name="own.csv.xz"),
    InputKind(
        FORM,
        "UTF-16 without a mark",
        rows().encode("utf-16-le"),
        refusal="UTF-16 without a byte order mark",
    ),
    InputKind(
        FORM, "Latin-1", rows().replace("web", "wéb").encode("latin-1"), _cpu("cpu", "cores")
    ),
    InputKind(FORM, "spaces alone", rows("pod time cpu", separator=" "), _cpu("cpu", "cores")),
    InputKind(
        FORM,
        "a title above the header",
        "Report,,\n,,\n" + rows(),
        refusal="the first line names 1 of 3 columns",
    ),
    InputKind(FORM, "no header", rows().partition("\n")[2], refusal="no line names the columns"),
    InputKind(FORM, "an empty file", "", refusal="the file is empty"),
    InputKind(FORM, "no text at all", bytes(range(256)) * 9, refusal="not part of a trace"),
    InputKind(
        FORM, "a web page", "<html><body>Sign in</body></html>\n", refusal="a web page is not read"
    ),
    InputKind(
        PRINTED,
        "usage metering of GKE",
        "namespace,resource_name,sku_id,start_time,end_time,usage.amount\n"
        "shop,cpu,x,2026-11-01 00:00:00 UTC,2026-11-01 00:05:00 UTC,150\n",
        refusal="a bill of usage (GKE usage metering)",
    ),
    InputKind(PRINTED, "XML", '<?xml version="1.0"?>\n<rows/>\n', refusal="XML: not read"),
    InputKind(
        PRINTED,
        "a dump of SQL",
        "CREATE TABLE usage (pod text);\n",
        refusal="a dump of SQL: not read",
    ),
    InputKind(PRINTED, "YAML", "- pod: web-0\n  cpu: 0.5\n", refusal="YAML: not read"),
    InputKind(
        PRINTED,
        "tables of MySQL",
        "+-----+-----+\n| pod | cpu |\n+-----+-----+\n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        PRINTED,
        "tables of psql",
        " pod | cpu \n-----+-----\n web | 0.5 \n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        PRINTED,
        "tables of Markdown",
        "| pod | cpu |\n|---|---|\n| web | 0.5 |\n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        PRINTED,
        "sep=; of Excel",
        "sep=;\n" + rows("pod;time;cpu", separator=";"),
        _cpu("cpu", "cores"),
    ),
    InputKind(
        PRINTED,
        "a wide table of Grafana",
        '"Time","web-0","web-1"\n'
        + "".join(
            f"{written('%Y-%m-%d %H:%M:%S')(MIDNIGHT + 60 * n)},0.5,0.25\n" for n in range(4)
        ),
        refusal="of which quantity are its values",
    ),
    InputKind(
        PRINTED, "a JSON array", json.dumps(_RECORDS), _cpu("cpu", "cores"), name="array.json"
    ),
    InputKind(
        PRINTED,
        "PodMetricsList",
        _POD_METRICS,
        {"usage.task": ["namespace", "pod", "container"]},
        name="top.json",
    ),
    InputKind(
        PRINTED,
        "kubectl top pods",
        "NAME    CPU(cores)   MEMORY(bytes)\nweb-0   250m         512Mi\nweb-1   1            1Gi\n",
        refusal="time",
    ),
    InputKind(
        PRINTED,
        "Export-Csv of PowerShell",
        '#TYPE Selected\n"pod","cpu"\n',
        refusal="a line of PowerShell, not the names of columns",
    ),
    InputKind(
        PRINTED,
        "annotated CSV of InfluxDB",
        "#group,false,true\n#datatype,string,long\n",
        refusal="annotated CSV of InfluxDB: not read",
    ),
    InputKind(PRINTED, "dstat", '"Dstat 0.7.4 CSV output"\n', refusal="CSV of dstat: not read"),
    InputKind(
        PRINTED,
        "sar, mpstat, iostat, pidstat",
        "Linux 5.10.0 (h1) \t11/01/26 \t_x86_64_\t(4 CPU)\n",
        refusal="numbers of a whole machine (sar, mpstat, iostat, pidstat): not read",
    ),
    InputKind(
        PRINTED,
        "sadf -d",
        "# hostname;interval;timestamp;CPU;%user\n",
        refusal="numbers of a whole machine (sar, mpstat, iostat, pidstat): not read",
    ),
    InputKind(
        PRINTED,
        "vmstat",
        "procs -----------memory---------- ---swap--\n",
        refusal="vmstat, which is about a whole machine: not read",
    ),
    InputKind(
        PRINTED,
        "top",
        "top - 00:00:01 up 1 day,  1 user\n",
        refusal="a list of processes at one moment (top): not read",
    ),
    InputKind(
        PRINTED,
        "ps",
        "USER         PID %CPU %MEM\n",
        refusal="a list of processes at one moment (ps): not read",
    ),
    InputKind(
        PRINTED,
        "docker stats",
        "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT\n",
        refusal="docker stats at one moment: not read",
    ),
    InputKind(
        PRINTED,
        "sreport",
        "----\nCluster/Account/User Utilization 2026-11-01\n",
        refusal="a report of sreport, without jobs: not read",
    ),
    InputKind(
        PRINTED,
        "sreport --parsable2",
        "Cluster|Account|Login|Used\n",
        refusal="a report of sreport, without jobs: not read",
    ),
    InputKind(
        PRINTED,
        "squeue",
        "   JOBID PARTITION     NAME     USER ST\n",
        refusal="the queue at one moment (squeue): not read",
    ),
    InputKind(
        PRINTED,
        "sinfo",
        "PARTITION AVAIL  TIMELIMIT  NODES\n",
        refusal="the nodes at one moment (sinfo): not read",
    ),
    InputKind(
        PRINTED,
        "bhist of LSF",
        "Summary of time in seconds spent in various states:\n",
        refusal="bhist of LSF, which says no times of day: not read",
    ),
    InputKind(
        PRINTED,
        "lsb.acct of LSF",
        '"JOB_FINISH" "10.1" 1793491200 101\n',
        refusal="the accounting log of LSF: not read",
    ),
    InputKind(
        PRINTED,
        "accounting of PBS",
        "11/01/2026 00:00:00;E;101.server;user=alice\n",
        refusal="the accounting log of PBS: not read",
    ),
    InputKind(
        PRINTED,
        "accounting of Grid Engine",
        "all.q:node1:g:alice:train:101:sge:0:1793491100:1793491110:1793491200\n",
        refusal="the accounting log of Grid Engine: not read",
    ),
    InputKind(
        PRINTED,
        "event logs of Spark",
        '{"Event":"SparkListenerLogStart"}\n',
        refusal="an event log of Spark: not read",
    ),
)
"""All kinds, in the order of the page."""
