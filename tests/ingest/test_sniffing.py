"""What is guessed of a file of own data, by names and sizes."""

from __future__ import annotations

import gzip
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from borgtrace.engine.guard import open_file
from borgtrace.errors import SourceError
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.ingest.find.sniffing import sniff


def draft(tmp_path: Path, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    path = tmp_path / "own.csv"
    path.write_text(text)
    found = sniff(path)
    return found.declaration, found.remarks


@pytest.mark.parametrize(
    ("times", "unit", "clock", "step"),
    [
        ([0, 300, 600], "s", "relative", "5m"),
        ([1_793_491_200, 1_793_491_260], "s", "epoch", "1m"),
        ([99_999_879, 99_999_939], "s", "relative", "1m"),
        ([1_793_491_200_000, 1_793_491_201_000], "ms", "epoch", "1s"),
        ([1_793_491_200 * 10**6, 1_793_491_201 * 10**6], "us", "epoch", "1s"),
        ([1_793_491_200 * 10**9, 1_793_491_201 * 10**9], "ns", "epoch", "1s"),
    ],
)
def test_times_are_guessed_by_their_size(
    tmp_path: Path,
    times: list[int],
    unit: str,
    clock: str,
    step: str,
) -> None:
    lines = "".join(
        f"web,{time},{place % 2 + 1}.5\n"
        for place, time in enumerate([*times, times[-1] * 2 - times[-2]])
    )
    declared, said = draft(tmp_path, f"pod,ts,cpu\n{lines}")
    assert declared == {
        "name": "own",
        "clock": clock,
        "step": step,
        "label": "start",
        "usage": {
            "task": "pod",
            "time": {"column": "ts", "unit": unit},
            "cpu": {
                "column": "cpu",
                "unit": "cores",
                "kind": "average",
            },
        },
    }
    since = "1970" if clock == "epoch" else "the start of the trace"
    assert said["usage.time"] == f"column ts: guessed from its size to be {unit} since {since}"


def test_a_single_file_of_no_known_format_is_taken_for_usage(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("pod,ts,cpu\nweb,0,1.5\nweb,300,2.5\nweb,600,1.5\n")
    found = find_raw_files([path])
    assert [(source.path, source.table) for source in found.discovery.sources] == [(path, "usage")]
    drawn = sniff(path)
    assert (found.declaration, found.guesses) == (drawn.declaration, drawn.guesses)
    with pytest.raises(SourceError):
        find_raw_files([path], may_guess=False)
    # A folder may hold it in parts.
    (tmp_path / "part-2.csv").write_text("pod,ts,cpu\nweb,900,1.5\n")
    in_parts = find_raw_files([tmp_path])
    assert [source.path.name for source in in_parts.discovery.sources] == ["own.csv", "part-2.csv"]


@pytest.mark.parametrize(
    ("header", "values", "usage"),
    [
        ("cpu_usage_seconds_total", "1 2 3", {"cpu": {"unit": "s", "kind": "counter"}}),
        ("cpu_instant_milli", "3 2 3", {"cpu": {"unit": "millicores", "kind": "instant"}}),
        ("cpu_percent", "3 2 3", {"cpu": {"kind": "average"}}),
        ("cpu", "1 2 3", {"cpu": {"unit": "cores"}}),  # it never falls: it may be a counter
        ("mem_MiB", "3 2 3", {"memory": {"unit": "MiB", "kind": "average"}}),
        ("current_memory", "3000000 2 1000000", {"memory": {"unit": "bytes", "kind": "instant"}}),
        ("memory", "999999 999999 1", {"memory": {"kind": "average"}}),
        ("memory_bytes", "3 2 3", {"memory": {"unit": "bytes", "kind": "average"}}),
    ],
)
def test_usage_is_guessed_by_name_and_size(
    tmp_path: Path,
    header: str,
    values: str,
    usage: dict[str, Any],
) -> None:
    lines = "".join(
        f"7,{index},n1,{300 * index},{300 * index + 300},{value}\n"
        for index, value in enumerate(values.split())
    )
    lines = lines.replace("7,1,", "7,0,").replace("7,2,", "7,0,")
    declared, _ = draft(tmp_path, f"job_id,task_index,node,start,end_time,{header}\n{lines}")
    ((name, facts),) = usage.items()
    assert declared["usage"] == {
        "task": "job_id",
        "time": {"column": "start", "unit": "s"},
        "end": {"column": "end_time", "unit": "s"},
        "instance": "task_index",
        "machine": "node",
        name: {"column": header, **facts},
    }
    # The end of each window is said: no step is guessed.
    assert "step" not in declared


@pytest.mark.parametrize(
    ("header", "called", "what", "columns"),
    [
        ("a,ts,cpu", "a task", "task", "a, ts, cpu"),
        ("pod,whence,cpu", "a time", "time", "pod, whence, cpu"),
        ("pod,ts,disk", "usage of CPU or memory", "cpu", "pod, ts, disk"),
        ("pod,ts,cpu_limit", "usage of CPU or memory", "cpu", "pod, ts, cpu_limit (limit of cpu)"),
    ],
)
def test_a_column_that_is_not_there_is_asked_for(
    tmp_path: Path, header: str, called: str, what: str, columns: str
) -> None:
    with pytest.raises(SourceError) as caught:
        draft(tmp_path, f"{header}\n1,2,3\n")
    assert str(caught.value) == (
        f"{tmp_path / 'own.csv'}: no column is called like {called}: got {columns}; "
        f"write a file with [usage] and {what} = its column, and add --dialect FILE.toml"
    )


@pytest.mark.parametrize("name", ["own.txt", "own.json.gz"])
def test_lines_of_json_are_known_by_their_name_or_their_first_byte(
    tmp_path: Path,
    name: str,
) -> None:
    text = b'{"pod":"web","ts":0,"cpu_cores":2}\n{"pod":"web","ts":300,"cpu_cores":1}\n'
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert sniff(path).declaration["usage"] == {
        "task": "pod",
        "time": {"column": "ts", "unit": "s"},
        "cpu": {
            "column": "cpu_cores",
            "unit": "cores",
            "kind": "average",
        },
    }


def test_names_of_columns_are_written_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("«pod»,«ts»,«cpu»\nweb,0,2\nweb,300,1\n")
    text = sniff(path).text()
    assert 'task = "«pod»"\n' in text
    assert 'time = { column = "«ts»", unit = "s" }' in text


def test_a_draft_says_beside_each_line_what_was_guessed(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("pod,date,memory\nweb,2026-01-01 00:00:00,5\nweb,2026-01-01 00:05:00,4\n")
    found = sniff(path)
    assert found.text() == (
        "# A first draft: each guess is stated beside it. Correct what is wrong, and fill in what is left open.\n"
        'name = "own"\n'
        'clock = "epoch"\n'
        'step = "5m"  # step 5m: guessed, the most common time between two rows of a task\n'
        'label = "start"  # label start: guessed, a row is about the step that begins at its time\n'
        "\n[usage]\n"
        'task = "pod"\n'
        'time = { column = "date", unit = "iso", zone = "UTC" }'
        "  # column date: guessed that times which do not state their zone are UTC\n"
        'memory = { column = "memory", kind = "average" }'
        '  # column memory: in which unit; add unit = "MiB", or what it is\n'
    )
    assert len(found.guesses) == 4


@pytest.mark.parametrize(
    "cpu",
    [
        """cpu") FROM raw; COPY (SELECT 1) TO '{folder}/written' --""",
        """cpu"") FROM raw; COPY (SELECT 1) TO '{folder}/written' --""",
        "cpu;\nname = 'other'",
    ],
)
def test_a_strange_name_of_a_column_is_a_name_and_nothing_else(tmp_path: Path, cpu: str) -> None:
    header = cpu.format(folder=tmp_path)
    quoted_header = '"' + header.replace('"', '""') + '"'
    path = tmp_path / "own.csv"
    path.write_text(f"pod,ts,{quoted_header}\nweb,0,2\nweb,300,1\nweb,600,2\n")
    found = sniff(path)
    assert found.declaration["usage"]["cpu"] == {
        "column": header,
        "unit": "cores",
        "kind": "average",
    }
    assert tomllib.loads(found.text()) == found.declaration
    assert [entry.name for entry in tmp_path.iterdir()] == ["own.csv"]


def test_a_connection_that_looks_at_a_file_reads_no_other(tmp_path: Path) -> None:
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    for path in (own, other):
        path.write_text("a\n1\n")
    with open_file(own) as connection:
        read = "SELECT a FROM read_csv(?)"
        assert connection.execute(read, [str(own)]).fetchall() == [(1,)]
        for statement in (
            f"SELECT a FROM read_csv('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path / 'written'}'",
            "SET enable_external_access = true",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
