"""Lines of a table that are no rows, and fields between single quotes: what is stored of the rows around them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.refusals import lines_of_refusals
from tests.ingest.own_data import rows

ROWS = "web,1793491200,2\nweb,1793491500,4\nweb,1793491800,1\n"
CORES = [(0.125,), (0.25,), (0.5,)]


def _store(folder: Path, text: str) -> borgtrace.Store:
    (folder / "own.csv").write_text(text)
    options = IngestOptions(jobs=1, capacity="8cores")
    ingest([folder / "own.csv"], folder / "store", options)
    return borgtrace.open(folder / "store")


@pytest.mark.parametrize(
    ("text", "n_refused"),
    [
        ("pod,time,cpu\n-,s,cores\n" + ROWS, 1),
        ("pod,time,cpu\n" + ROWS + "Total,,7\n", 1),
        ("pod,time,cpu\n" + ROWS + "pod,time,cpu\n" + ROWS.replace("web", "api"), 1),
        ("pod|time|cpu\n" + ROWS.replace(",", "|") + "(3 rows)\n", 1),
        ("pod,time,cpu\n" + ROWS, 0),
    ],
    ids=["units", "total", "names again", "number of rows", "nothing else"],
)
def test_other_lines_are_refused_and_counted(tmp_path: Path, text: str, n_refused: int) -> None:
    store = _store(tmp_path, text)
    assert rows(store, "instance_usage", "distinct average_cpu") == CORES
    assert sum(source.quarantined for source in store.manifest.sources) == n_refused


@pytest.mark.parametrize(
    "text",
    [
        "pod,time,cpu,note\n'web,1',1793491200,2,'x'\n'web,1',1793491500,4,'y'\n'web,1',1793491800,1,''\n",
        "'pod';'time';'cpu'\n'web,1';'1793491200';'2'\n'web,1';'1793491500';'4'\n'web,1';'1793491800';'1'\n",
        '"pod","time","cpu"\n"web,1","1793491200","2"\n"web,1","1793491500","4"\n"web,1","1793491800","1"\n',
    ],
    ids=["some single", "all single", "all double"],
)
def test_quotes_are_no_part_of_names(tmp_path: Path, text: str) -> None:
    store = _store(tmp_path, text)
    assert rows(store, "collection_events", "distinct collection_name") == [("web,1",)]
    assert rows(store, "instance_usage", "average_cpu") == CORES


@pytest.mark.parametrize(
    ("header", "halves"),
    [
        ("pod,time,cpu,note", ('web,1793491500,4,"a', 'b"')),
        ("pod,note,time,cpu", ('web,"a', 'b",1793491500,4')),
    ],
    ids=["last field", "middle"],
)
def test_a_line_break_between_quotes_is_said(
    tmp_path: Path, header: str, halves: tuple[str, str]
) -> None:
    columns = header.split(",")
    values = {"pod": "web", "note": "x", "cpu": "2"}
    lines = [header]
    for time in (1793491200, 1793491800, 1793492100):
        lines.append(",".join((values | {"time": str(time)})[column] for column in columns))
    # Behind the first row.
    lines[2:2] = halves
    store = _store(tmp_path, "\n".join(lines) + "\n")
    lines_of_store = lines_of_refusals(store.manifest.sources)
    places = [line.partition(": own.csv ")[2] for line in sorted(lines_of_store)]
    expected = "expected quotes that end on the line on which they begin"
    # The first half of three fields is misquoted; of a middle field both halves are too short, the first is told.
    first = f"line 3: {expected}, got {halves[0]!r}"
    second = f"line 4: {expected}, got {halves[1]!r}"
    assert places == ([first, second] if header.endswith("note") else [first])


NAMES = (("shop/web-0", "n1"), ("shop /web-0  ", " n1"), ("\tshop/ web-0", "n1\t"))
"""Namespace and pod, and machine: one name each, between blanks that are none of theirs."""


def _padded_text(separator: str) -> str:
    lines = [separator.join(("namespace", "pod", "node", "time", "cpu"))]
    for number, (task, machine) in enumerate(NAMES):
        time = str(1793491200 + 300 * number)
        lines.append(separator.join((*task.split("/"), machine, time, "2")))
    return "\n".join(lines) + "\n"


def _padded_records() -> str:
    lines = []
    for number, (task, machine) in enumerate(NAMES):
        namespace, pod = task.split("/")
        row = {"namespace": namespace, "pod": pod, "node": machine, "cpu": 2}
        lines.append(json.dumps(row | {"time": 1793491200 + 300 * number}))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "text",
    [_padded_text(","), _padded_text(";"), _padded_records()],
    ids=["commas", "semicolons", "JSON"],
)
def test_blanks_around_names_are_none_of_theirs(tmp_path: Path, text: str) -> None:
    store = _store(tmp_path, text)
    assert rows(store, "tasks", "namespace, pod, n_windows") == [("shop", "web-0", 3)]
    assert rows(store, "machine_events", "count(*)") == [(1,)]


def test_names_are_read_alike_by_both_readers(tmp_path: Path) -> None:
    # Parquet, and text without quotes, are read fast; a quote anywhere leaves a file to the other reader.
    padded = "pod,time,cpu,note\n" + "".join(
        f"{name},{1793491200 + 300 * number},2,x\n"
        for number, name in enumerate(("web", "web ", " web\t"))
    )
    table = csv.read_csv(io.BytesIO(padded.encode()))
    pq.write_table(table, tmp_path / "own.parquet")
    options = IngestOptions(jobs=1, capacity="8cores")
    ingest([tmp_path / "own.parquet"], tmp_path / "parquet", options)
    for folder, text in (("fast", padded), ("validating", padded.replace("2,x", '2,"x"'))):
        (tmp_path / folder).mkdir()
        _store(tmp_path / folder, text)
    for folder in ("parquet", "fast/store", "validating/store"):
        store = borgtrace.open(tmp_path / folder)
        assert rows(store, "collection_events", "distinct collection_name") == [("web",)]
        assert rows(store, "tasks", "n_windows") == [(3,)]


def test_a_name_of_blanks_alone_is_missing(tmp_path: Path) -> None:
    store = _store(tmp_path, "pod,time,cpu\n" + ROWS + " ,1793492100,2\n")
    assert [source.quarantined for source in store.manifest.sources] == [1]
    assert rows(store, "collection_events", "distinct collection_name") == [("web",)]


def test_an_apostrophe_is_no_quote(tmp_path: Path) -> None:
    store = _store(tmp_path, "pod,time,cpu\n" + ROWS.replace("web", "it's"))
    assert rows(store, "collection_events", "distinct collection_name") == [("it's",)]


def test_usage_is_read_before_its_limit(tmp_path: Path) -> None:
    texts = ("512MiB / 2GiB", "1 GiB/ 2 GiB", "-")
    lines = [f"web,{1793491200 + 300 * slot},{text}" for slot, text in enumerate(texts)]
    (tmp_path / "own.csv").write_text(
        "\n".join(["container,time,MEM USAGE / LIMIT", *lines]) + "\n"
    )
    ingest(
        [tmp_path / "own.csv"], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores,4GiB")
    )
    store = borgtrace.open(tmp_path / "store")
    assert rows(store, "instance_usage", "average_memory") == [(0.125,), (0.25,), (None,)]


def test_an_amount_without_its_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'clock = "epoch"\nstep = "300s"\n[usage]\ntask = "pod"\ntime = { column = "time", unit = "s" }\n'
        'memory = { column = "memory", unit = "quantity_of_limit", kind = "average" }\n'
    )
    (tmp_path / "own.csv").write_text(
        "pod,time,memory\nweb,1793491200,1GiB / 2GiB\nweb,1793491500,1GiB\n"
    )
    options = IngestOptions(jobs=1, capacity="8cores,4GiB", dialect=str(tmp_path / "own.toml"))
    result = ingest([tmp_path / "own.csv"], tmp_path / "store", options)
    (refusal,) = result.staged[0].refusals
    assert (refusal.line, refusal.expected) == (3, "an amount and its limit such as 100MiB / 1GiB")
