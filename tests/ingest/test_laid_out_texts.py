"""Texts that are tables otherwise than by fields under a header: a column for each series, and printed tables."""

from __future__ import annotations

import pytest

from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.own_data import hashed, rows
from tests.ingest.shaped_samples import LONG, TOP, WIDE

# 00:00 is a multiple of five minutes, and so 600 s; 8 cores are 1.  web-1 was not measured at first.
STORED = sorted(
    [
        (hashed("web-0"), 600 * SECOND, 900 * SECOND, 0.03125),
        (hashed("web-0"), 900 * SECOND, 1200 * SECOND, 0.0625),
        (hashed("web-1"), 900 * SECOND, 1200 * SECOND, 0.125),
    ]
)
PRINTED = "TASK   TIME        CPU\nweb-0  1793491200  250m\nweb-0  1793491500  500m\nweb-1  1793491500  1\n"
TABLES = {
    "wide.csv": WIDE,
    "wide for Excel.csv": "sep=;\n" + WIDE.replace(",", ";"),
    "wide by tabs.tsv": WIDE.replace(",", "\t"),
    "wide without values.csv": WIDE.replace("250m,\n", "250m,null\n"),
    "wide with a mark.csv": b"\xef\xbb\xbf" + WIDE.encode(),
    "wide in milliseconds.csv": WIDE.replace("2026-11-01 00:00:00", "1793491200000").replace(
        "2026-11-01 00:05:00", "1793491500000"
    ),
    "rows.csv": LONG,
    "rows for Excel.csv": "sep=;\n" + LONG,
    "printed.txt": PRINTED,
    "printed small.txt": PRINTED.lower(),
    "printed with a rule.txt": PRINTED.replace("CPU\n", "CPU\n-----  ----------  ----\n"),
}


def _ingested(path):
    store = path.parent / "store"
    ingest([path], store, IngestOptions(jobs=1, capacity="8cores,4GiB"))
    return Store.open(store)


@pytest.mark.parametrize("name", TABLES)
def test_layouts_of_one_table_give_the_same_windows(tmp_path, name):
    content = TABLES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    store = _ingested(tmp_path / name)
    columns = "collection_id, start_time, end_time, average_cpu"
    assert rows(store, "instance_usage", columns) == STORED


def test_values_in_units_of_memory_are_memory(tmp_path):
    path = tmp_path / "panel.csv"
    path.write_text(
        WIDE.replace("250m", "1 GiB").replace("500m", "1.5 GiB").replace("m,1\n", "m,1")
    )
    path.write_text(path.read_text().replace(",1\n", ",512 MiB\n"))
    store = _ingested(path)
    # 4 GiB are 1.
    assert sorted(rows(store, "instance_usage", "average_memory, average_cpu")) == [
        (0.125, None),
        (0.25, None),
        (0.375, None),
    ]


LOOPS = {
    "date": ("Sun Nov  1 00:05:00 UTC 2026", "Sun Nov  1 00:06:00 UTC 2026"),
    "iso": ("--- 2026-11-01T00:05:00Z ---", "--- 2026-11-01T00:06:00Z ---"),
    "seconds": ("1793491500", "1793491560"),
}


@pytest.mark.parametrize("times", LOOPS.values(), ids=LOOPS)
def test_tables_of_kubectl_top_have_the_times_printed_between_them(tmp_path, times):
    first, second = times
    path = tmp_path / "top.txt"
    path.write_text(f"{first}\n{TOP.format(cpu='250m')}\n{second}\n{TOP.format(cpu='1   ')}")
    store = _ingested(path)
    columns = "collection_id, start_time, end_time, average_cpu, average_memory"
    task = hashed("shop/web-0")
    assert rows(store, "instance_usage", columns) == [
        (task, 600 * SECOND, 660 * SECOND, 0.03125, 0.25),
        (task, 660 * SECOND, 720 * SECOND, 0.125, 0.25),
    ]


def test_the_name_of_a_file_is_the_time_of_a_table_without_one(tmp_path):
    declaration = tmp_path / "own.toml"
    declaration.write_text(
        'clock = "epoch"\nstep = "60s"\n[usage]\ntask = ["namespace", "pod"]\n'
        'time = { column = "time", unit = "iso" }\n'
        'cpu = { column = "cpu", unit = "quantity", kind = "instant" }\n'
    )
    paths = []
    for minute, cpu in ((5, "250m"), (6, "1   ")):
        path = tmp_path / f"top-2026-11-01T00:0{minute}:00Z.txt"
        path.write_text(TOP.format(cpu=cpu))
        paths.append(path)
    options = IngestOptions(jobs=1, capacity="8cores", dialect=str(declaration))
    ingest(paths, tmp_path / "store", options)
    store = Store.open(tmp_path / "store")
    assert rows(store, "instance_usage", "start_time, sampled_cpu") == [
        (600 * SECOND, 0.03125),
        (660 * SECOND, 0.125),
    ]


SETTLED = (
    "column {column}: of which quantity are its values; borgtrace dialect sniff {path} > own.toml, add "
    'cpu = {{ column = "{column}", unit = "cores", kind = "average" }} or '
    'memory = {{ column = "{column}", unit = "bytes", kind = "average" }}, and --dialect own.toml'
)
REFUSED = {
    "wide without a quantity": (WIDE.replace("m,", ","), SETTLED.replace("{column}", "value")),
    "rows without a quantity": (LONG.replace("m\n", "\n"), SETTLED.replace("{column}", "Value")),
    "a short line": (
        WIDE + "2026-11-01 00:10:00,250m\n",
        "line 4 has another number of fields than the header: expected 3, got 2; correct the line, or export it again",
    ),
    "kubectl top": (
        TOP.format(cpu="250m"),
        "usage without times, as kubectl top prints it; print the time before each table: "
        "while date -u; do kubectl top pods -A; sleep 60; done > top.txt; "
        "or name each file by its time, such as top-2026-11-01T00:05:00Z.txt",
    ),
    "kubectl top node": (
        "NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nn1     250m         12%    1024Mi          30%\n",
        "usage of nodes (kubectl top node), which is not that of tasks; print that of pods: "
        "while date -u; do kubectl top pods -A; sleep 60; done > top.txt",
    ),
    "a message among rows": (
        "1793491500\n"
        + TOP.format(cpu="250m")
        + TOP.format(cpu="250m") * 20
        + "error: Metrics API not available\n",
        "line 44 has another number of fields than the header: expected namespace, pod, cpu, memory, "
        "got 'error: Metrics API not available'; correct the line, or print it again",
    ),
    "one task without a name": (
        "time,cpu,memory\n0,1,2\n300,1,2\n",
        "no column is called like a task: got time, cpu, memory; "
        "write a file with [usage] and task = its column, and add --dialect FILE.toml",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_table_of_usage_is_refused_with_the_reason(tmp_path, text, message):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(BorgtraceError) as error:
        find_raw_files([path])
    expected = message.replace("{path}", str(path)).replace("{{", "{").replace("}}", "}")
    assert str(error.value) == f"{path}: {expected}"
