"""Separators, encodings, packings and files of other programs: the same rows in each of them."""

from __future__ import annotations

import json
from typing import Any

from tests.ingest.kinds.kind import InputKind, cpu_entry, rows
from tests.ingest.packed_samples import CONTAINERS
from tests.ingest.shaped_samples import (
    CLOUDWATCH_SERIES,
    KRR,
    LONG,
    NODE_METRICS,
    TOP,
    WIDE,
    pod_metrics_list,
)
from tests.ingest.workbook_samples import ROWS, workbook

TEXT = "Separators and encodings"
PACKED = "Packings and archives"
TABLES = "Binary files"
JSON = "JSON"
SERVICES = "Answers and exports of other programs"

THREE_COLUMNS: dict[str, Any] = {
    "usage.task": "task",
    "usage.time": {"column": "time", "unit": "s"},
    **cpu_entry("cpu", "cores"),
}
"""What all samples of `CONTAINERS` are guessed to be."""


def _samples(group: str, names: dict[str, str]) -> tuple[InputKind, ...]:
    return tuple(
        InputKind(group, title, CONTAINERS[name], THREE_COLUMNS, name=name)
        for title, name in names.items()
    )


KINDS = (
    InputKind(TEXT, "semicolon", rows("pod;time;cpu", separator=";"), cpu_entry("cpu", "cores")),
    InputKind(TEXT, "tab", rows("pod\ttime\tcpu", separator="\t"), cpu_entry("cpu", "cores")),
    InputKind(TEXT, "|", rows("pod|time|cpu", separator="|"), cpu_entry("cpu", "cores")),
    InputKind(TEXT, "UTF-32", rows().encode("utf-32"), refusal="UTF-32 is not read"),
    InputKind(
        TEXT,
        "Shift JIS",
        rows().replace("web", "サーバ").encode("shift-jis"),
        refusal="no line below the first is text in an encoding that is read",
    ),
    InputKind(
        TEXT,
        "single quotes",
        rows("'pod','time','cpu','note'", more=",'a,b'").replace("web-0", "'web-0'"),
        {"usage.task": "pod", **cpu_entry("cpu", "cores")},
    ),
    InputKind(
        TEXT,
        "names that begin with that of their table",
        rows("usage.pod\tusage.time\tusage.cpu", separator="\t"),
        {"usage.task": "usage.pod", **cpu_entry("usage.cpu", "cores")},
    ),
    InputKind(
        TEXT,
        "bars, and the number of rows below",
        rows("pod|time|cpu", separator="|") + "(12 rows)\n",
        cpu_entry("cpu", "cores"),
    ),
    InputKind(TEXT, "quotes", rows('"pod","time","cpu"'), cpu_entry("cpu", "cores")),
    InputKind(
        TEXT, "UTF-8 with a mark", b"\xef\xbb\xbf" + rows().encode(), cpu_entry("cpu", "cores")
    ),
    InputKind(TEXT, "UTF-16 with a mark", rows().encode("utf-16"), cpu_entry("cpu", "cores")),
    InputKind(
        TEXT,
        "UTF-16 without a mark",
        rows().encode("utf-16-le"),
        refusal="UTF-16 without a byte order mark",
    ),
    InputKind(
        TEXT, "Latin-1", rows().replace("web", "wéb").encode("latin-1"), cpu_entry("cpu", "cores")
    ),
    InputKind(TEXT, "spaces alone", rows("pod time cpu", separator=" "), cpu_entry("cpu", "cores")),
    InputKind(
        TEXT,
        "a title above the header",
        "Report,,\n,,\n" + rows(),
        refusal="the first line names 1 of 3 columns",
    ),
    InputKind(TEXT, "no header", rows().partition("\n")[2], refusal="no line names the columns"),
    InputKind(TEXT, "an empty file", "", refusal="the file is empty"),
    InputKind(TEXT, "no text at all", bytes(range(256)) * 9, refusal="not part of a trace"),
    InputKind(
        TEXT, "a web page", "<html><body>Sign in</body></html>\n", refusal="a web page is not read"
    ),
    *_samples(
        PACKED,
        {
            "gzip": "own.csv.gz",
            "Zstandard": "own.csv.zst",
            "bzip2": "own.csv.bz2",
            "xz": "own.csv.xz",
            "lz4": "own.csv.lz4",
            "zip, with a description and the marks of macOS beside the table": "own.zip",
            "tar": "own.tar",
            "tar.gz": "own.tar.gz",
            "tar.xz": "own.tar.xz",
        },
    ),
    *_samples(
        TABLES,
        {
            "Parquet": "own.parquet",
            "Feather (Arrow IPC)": "own.feather",
            "a stream of Arrow": "own.arrows",
            "ORC": "own.orc",
            "SQLite": "own.db",
        },
    ),
    InputKind(
        TABLES,
        "a workbook (.xlsx; the extra `xlsx` reads it)",
        workbook(notes=[["by", "whom"]], usage=ROWS),
        THREE_COLUMNS,
        name="own.xlsx",
        needs="openpyxl",
    ),
    *_samples(
        JSON,
        {
            "records on lines": "own.json",
            "a list of records, as `orient='records'` of pandas": "records.json",
            "`orient='split'`": "split.json",
            "`orient='index'`": "index.json",
            "`orient='columns'`, the default of pandas": "columns.json",
            "`orient='table'`": "table.json",
            "a list for each column": "lists.json",
            "rows below a row of names": "header.json",
            "records below `data`": "data.json",
            "records below `items`, in an object": "items.json",
            "records below `rows`": "rows.json",
            "rows beside their `fields`": "fields.json",
            "an indented document": "indented records.json",
            "several documents in a file": "several answers.json",
        },
    ),
    InputKind(
        JSON,
        "`orient='values'`",
        json.dumps([["web", 0, 4], ["web", 300, 2]]),
        refusal="rows without the names of their columns, as orient='values' writes them",
        name="values.json",
    ),
    InputKind(
        SERVICES,
        "sep=; of Excel",
        "sep=;\n" + rows("pod;time;cpu", separator=";"),
        cpu_entry("cpu", "cores"),
    ),
    InputKind(
        SERVICES,
        "Grafana: a column for each series, with units",
        WIDE,
        {"usage.task": "series", **cpu_entry("value", "quantity")},
    ),
    InputKind(
        SERVICES,
        "Grafana: rows of series, with units",
        LONG,
        {"usage.task": "Series", **cpu_entry("Value", "quantity")},
    ),
    InputKind(
        SERVICES,
        "Grafana: numbers of no unit",
        WIDE.replace("m,", ","),
        refusal="of which quantity are its values",
    ),
    InputKind(
        SERVICES,
        "CloudWatch: `get-metric-data`",
        json.dumps({"MetricDataResults": CLOUDWATCH_SERIES, "Messages": []}),
        refusal="of which quantity are its values",
        name="cloudwatch.json",
    ),
    InputKind(
        SERVICES,
        "krr",
        json.dumps(KRR),
        refusal="krr's report: requests and recommendations, and no usage over time",
        name="krr.json",
    ),
    InputKind(
        SERVICES,
        "PodMetricsList of `metrics.k8s.io`",
        json.dumps(pod_metrics_list("2026-11-01T00:05:30Z", "250m")),
        {"usage.task": ["namespace", "pod", "container"]},
        name="pods.json",
    ),
    InputKind(
        SERVICES,
        "NodeMetricsList of `metrics.k8s.io`",
        json.dumps(NODE_METRICS),
        refusal="usage of nodes (NodeMetrics), which is not that of tasks",
        name="nodes.json",
    ),
    InputKind(
        SERVICES,
        "`kubectl top pods`, with the time printed before each table",
        "".join(f"{time}\n{TOP.format(cpu='250m')}\n" for time in (1793491500, 1793491560)),
        {"usage.task": ["namespace", "pod"], "usage.time": {"column": "time", "unit": "s"}},
        name="top.txt",
    ),
    InputKind(
        SERVICES,
        "`kubectl top pods`, alone",
        TOP.format(cpu="250m"),
        refusal="usage without times, as kubectl top prints it",
        name="top.txt",
    ),
    InputKind(
        SERVICES,
        "`kubectl top nodes`",
        "NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nn1     250m         12%    1Gi   30%\n",
        refusal="usage of nodes (kubectl top node), which is not that of tasks",
        name="top.txt",
    ),
)
