"""The commands ``dataset`` and ``export``: what they write, what they say, how they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from borgtrace import datasets
from borgtrace.cli import main
from borgtrace.datasets.histogram import LengthBin, drawn


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    code = caught.value.code
    out, err = capsys.readouterr()
    return (code if isinstance(code, int) else 0), out, err


def test_dataset_builds_and_tells(
    synthetic_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(
        capsys,
        "dataset",
        synthetic_store,
        tmp_path / "d",
        "--sample",
        100,
        "--split-by",
        "job",
        "--format",
        "npz",
        "--static",
        "tier,cpu_request",
        "--features",
        "average_cpu,maximum_memory",
        "--seed",
        3,
        "--tier",
        "free,other",
        "--class",
        "0-2",
        "--time",
        "..30d",
        "--gaps",
        "grid",
        "--where",
        "n_windows > 6",
    )
    assert code == 0
    assert out == f"{tmp_path / 'd'}\n"
    assert "testing: 0 of " in err
    found = datasets.open(tmp_path / "d")
    assert sum(map(len, found.values())) == 100
    assert found.features == ("average_cpu", "maximum_memory")
    assert set(found.metadata.names.words["tier"]) <= {"free", "other"}
    code, out, err = _run(
        capsys,
        "dataset",
        synthetic_store,
        tmp_path / "e",
        "--json",
    )
    assert json.loads(out)["counts"]["training"] > 0


def test_histogram_needs_no_folder(
    synthetic_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(capsys, "dataset", synthetic_store, "--histogram")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["points", "traces", "share", "windows", "share"]
    assert lines[-1].startswith("5 to 50 points: ")
    total = sum(int(line.split()[1].replace(",", "")) for line in lines[1:-2])
    assert f" of {total:,} traces, " in lines[-2]


def test_a_histogram_of_nothing() -> None:
    assert drawn([LengthBin(1, 4, 0), LengthBin(5, None, 0)])[1:] == [
        "5 to 50 points: 0 of 0 traces, 0.0 % (2011 as published: about 74 %)",
        "5 to 50 points: 0 of 0 windows, 0.0 %",
    ]


@pytest.mark.parametrize("output_format", ["csv", "sqlite"])
def test_export_writes_jobs(
    synthetic_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    output_format: str,
) -> None:
    out = tmp_path / "jobs"
    code, said, _ = _run(
        capsys,
        "export",
        synthetic_store,
        out,
        "--format",
        output_format,
        "--granularity",
        1,
        "--workers",
        1,
        "--json",
        "--no-header",
        "--columns",
        "start_time,instance_index,average_cpu",
    )
    assert code == 0
    told = json.loads(said)
    assert told["files"] == len(
        list(out.glob(f"?/*.{'csv' if output_format == 'csv' else 'sqlite3'}"))
    )
    assert len((out / "index.csv").read_text().splitlines()) == told["tasks"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("dataset", "STORE", "OUT", "--split", "0.9,0.2"),
            "borgtrace: --split: fractions exceed 1: expected a sum of at most 1, got 0.9,0.2; try 0.7,0.1,0.2",
        ),
        (
            ("dataset", "STORE", "OUT", "--split", "half"),
            "borgtrace: --split: not a fraction: expected numbers such as 0.7,0.1,0.2, or train=0.8,test=0.2, got half",
        ),
        (
            ("dataset", "STORE", "OUT", "--min-length", "5000", "--max-length", "6000"),
            "borgtrace: selection: no task matches: expected at least one, got 0 where collection_type = 'JOB' and "
            "n_windows > 0 and n_windows >= 5000 and n_windows <= 6000; see borgtrace dataset {store} --histogram",
        ),
        (("dataset", "STORE", "OUT", "--features", "speed"), None),
        (
            ("dataset", "STORE", "OUT", "--priority", "high"),
            "borgtrace: --priority: not a list of numbers: "
            "expected numbers and ranges such as 5, 0-9,12 or 500-, or all, got high",
        ),
        (
            ("dataset", "STORE", "OUT", "--time", "10h"),
            "borgtrace: --time: not a time range: expected A..B, such as 1h30m..24h, 2h.. or ..2d, got '10h'",
        ),
        (
            ("dataset", "STORE", "OUT", "--time", "1w.."),
            "borgtrace: --time: not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got '1w'",
        ),
        (
            ("dataset", "STORE"),
            "borgtrace: OUT: no folder named; borgtrace dataset {store} OUT, or --histogram",
        ),
        (
            ("export", "STORE", "OUT", "--layout", "tasks"),
            "borgtrace: --layout: unknown layout: expected one of jobs, opendc, swf, cloudsim, omega, "
            "planetlab, batsim, alea, kwok, raw, got tasks",
        ),
        (("export", "STORE", "OUT", "--columns", "speed"), None),
    ],
)
def test_refusals_are_one_line_exit_2_and_write_nothing(
    synthetic_store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str | None,
) -> None:
    places = {"STORE": synthetic_store, "OUT": tmp_path / "out"}
    code, out, err = _run(capsys, *(places.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    if message:
        message = message.replace("{store}", str(synthetic_store))
    assert message is None or err == f"{message}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_usage_is_refused(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from borgtrace.ingest import IngestOptions, ingest

    ingest(
        [trace / "clusterdata-2011-2" / "machine_events"],
        tmp_path / "store",
        IngestOptions(jobs=1),
    )
    for command in ("dataset", "export"):
        code, _, err = _run(capsys, command, tmp_path / "store", tmp_path / "out")
        assert code == 2
        assert err == (
            f"borgtrace: {tmp_path / 'store'}: the store has no usage: expected rows in instance_usage, got none; "
            "ingest task_usage or instance_usage files first\n"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_export_of_what_is_chosen(
    synthetic_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import borgtrace

    tables = borgtrace.open(synthetic_store)
    high = "collection_type = 'JOB' and n_windows > 0 and priority between 9 and 11"
    (wanted,) = tables.sql(
        f"select count(*) as tasks, sum(n_windows)::bigint as rows from tasks where {high}"
    ).to_pylist()
    arguments = (
        "export",
        synthetic_store,
        tmp_path / "jobs",
        "--tier",
        "production",
        "--workers",
        1,
        "--json",
    )
    code, said, _ = _run(capsys, *arguments)
    told = json.loads(said)
    assert code == 0
    assert told["tasks"] == wanted["tasks"]
    assert told["rows"] == wanted["rows"]
    assert told["files"] == len(list((tmp_path / "jobs").glob("*/*.csv"))) > 0
    # What was chosen is copied beside it, and gone.
    assert [path.name for path in tmp_path.iterdir()] == ["jobs"]
