"""Lines of a table that are no rows, and fields between single quotes: what is stored of the rows around them."""

from __future__ import annotations

from pathlib import Path

import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
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
