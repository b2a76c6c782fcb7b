"""Commands about stores, as a user types them: output, exit codes, whole messages."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from borgtrace.cli import main
from borgtrace.cli.app import COMMANDS
from tests.ingest.raw import USAGE, write_cell, write_part


def borgtrace(*arguments):
    """Run a command line in this process; return its code and what it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main(list(map(str, arguments)))
    out.flush()
    err.flush()
    printed = (stream.buffer.getvalue().decode() for stream in (out, err))
    return SimpleNamespace(
        returncode=ended.value.code or 0, **dict(zip(("stdout", "stderr"), printed, strict=True))
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    write_cell(folder / "raw")
    write_part(folder / "raw", "task_usage", [USAGE[0], "garbage"])
    done = borgtrace(
        "ingest",
        folder / "raw",
        "--store",
        folder / "store",
        "--jobs",
        1,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        "Read 6 files; 0 already in the store",
        "rows in 7 = stored 6 + quarantined 1",
        "wrong_column_count: 1 row: part-00000-of-00500.csv.gz line 2: expected 20 fields, got 'garbage'",
        "data_loss instance_usage: 1 × wrong_column_count: The line has more or fewer fields than its table.",
    ]
    assert lines[-1] == (
        f"14.3 % of the rows were refused (1 of 7): look at them in {folder / 'store' / 'quarantine'} "
        "(Parquet: file, line, column, value, reason)"
    )
    return folder / "store"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    done = borgtrace(*command.split(), "--help")
    assert done.returncode == 0
    assert f"Example: borgtrace {command}" in done.stdout


def test_info(store):
    done = borgtrace("info", store)
    assert ": Google cluster trace 2011, America/New_York" in done.stdout
    assert "rows in 7, quarantined 1" in done.stdout
    manifest = json.loads(borgtrace("info", store, "--json").stdout)
    assert manifest["tables"]["instance_usage"] == 1
    schema = borgtrace("info", "--schema").stdout
    assert "instance_usage: one row per instance and measurement window" in schema
    # The format document of 2011: neither binaries nor what lies in GFS counts.
    assert (
        "mean_disk_space (float32, fraction): Mean local disk space used, without binaries and GFS"
        in schema
    )
    assert json.loads(borgtrace("info", "--schema", "--json").stdout)["tasks"]["key"] == [
        "collection_id",
        "instance_index",
    ]


def test_trace(store):
    assert borgtrace("trace", store, 10, 0, "--format", "csv").stdout == (
        "start_time,duration,average_cpu,sampled_cpu,average_memory\n600,300,0.0015,0,0.067\n"
    )
    assert json.loads(
        borgtrace("trace", store, 10, 0, "--format", "json", "--columns", "maximum_cpu").stdout
    ) == {
        "start_time": [600],
        "duration": [300.0],
        "maximum_cpu": [0.039],
    }


def test_sql_answers_and_cannot_write(store):
    done = borgtrace("sql", store, "select count(*) as n from instance_usage", "--format", "csv")
    assert done.stdout == '"n"\n1\n'
    refused = borgtrace("sql", store, "copy tasks to 'x.csv'")
    assert refused.returncode == 2
    assert refused.stdout == ""


def test_verify_and_machine(store):
    done = borgtrace("verify", store)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert all(line.startswith("ok  ") for line in lines)
    assert {"files", "arrays"} <= {line.split()[1].removesuffix(":") for line in lines}
    shown = borgtrace("machine", store, 5, "--at", "50s").stdout
    assert shown.splitlines()[0] == (
        "machine 5 at 2011-05-01 19:00 EDT, 0.01389 h after the start: up, "
        "CPU 0.5, memory 0.2493 of the largest machine, platform HofLGzk1"
    )
    assert json.loads(borgtrace("machine", store, 5, "--json").stdout)["rows"][0]["n_tasks"] == 1


def test_a_dry_run_writes_nothing(store, tmp_path):
    done = borgtrace(
        "ingest",
        store.parent / "raw",
        "--store",
        tmp_path / "none",
        "--dry-run",
    )
    assert done.returncode == 0
    assert "task_usage: 1 file," in done.stdout
    assert "columns: start_time, end_time, collection_id" in done.stdout
    assert not (tmp_path / "none").exists()
    planned = json.loads(
        borgtrace(
            "ingest",
            store.parent / "raw",
            "--store",
            tmp_path / "none",
            "--dry-run",
            "--json",
        ).stdout
    )
    assert planned["generation"] == "2011"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("ingest", "/nowhere", "--store", "s"),
            3,
            "borgtrace: /nowhere: no such file or folder; check the path",
        ),
        (
            ("info", "/nowhere"),
            5,
            "borgtrace: /nowhere: there is no such store; make one: borgtrace ingest SRC --store /nowhere",
        ),
        (
            ("info",),
            2,
            "borgtrace: STORE: no store named; borgtrace info STORE, or borgtrace info --schema",
        ),
        (
            ("ingest", ".", "--store", "s", "--memory", "lots"),
            2,
            "borgtrace: --memory: not an amount of memory: expected a number and a unit, up to 1024 TiB, "
            "got 'lots'; try 4GB or 512MiB",
        ),
        (
            ("subset", "STORE", "out", "--time", "5"),
            2,
            "borgtrace: --time: not a time range: expected A..B, such as 1h30m..24h, 2h.. or ..2d, got '5'",
        ),
        (
            ("subset", "STORE", "out", "--priority", "ten"),
            2,
            "borgtrace: --priority: not a list of numbers: "
            "expected numbers and ranges such as 5, 0-9,12 or 500-, or all, got ten",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_with_the_exit_code_of_its_kind(
    arguments,
    code,
    message,
    tmp_path,
    monkeypatch,
):
    monkeypatch.chdir(tmp_path)
    done = borgtrace(*arguments)
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (code, "", [message])


def test_version_and_unknown_command():
    command = [
        sys.executable,
        "-m",
        "borgtrace",
        "--version",
    ]
    assert (
        subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        == "borgtrace 0.1.0\n"
    )
    unknown = borgtrace("analyse")
    assert unknown.returncode == 2
    assert "No such command 'analyse'. Did you mean 'analyze'?" in unknown.stderr


def test_verify_ends_with_one_line_and_5_for_a_damaged_store(store, tmp_path):
    copy = shutil.copytree(store, tmp_path / "copy")
    (copy / "tasks" / "part-00000.parquet").write_bytes(b"PAR1")
    done = borgtrace("verify", copy)
    assert done.returncode == 5
    assert done.stderr.splitlines()[-1].startswith(
        f"borgtrace: {copy}: the store is damaged: got files, tasks: rows"
    )
    assert "Traceback" not in done.stderr


def test_compare_writes_one_page(store, tmp_path):
    done = borgtrace(
        "compare",
        store,
        store,
        "--questions",
        "transitions",
        "--out",
        tmp_path / "out",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {(row["store"], row["against"], row["distance"]) for row in rows} == {
        ("store 2", "store 1", 0)
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "compare.html",
        "distances.csv",
        "transitions.csv",
    ]
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "Amounts of these stores are fractions of the same machine" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert borgtrace("compare", store).stderr == (
        "borgtrace: STORE…: nothing to compare: expected two stores or more, got 1\n"
    )
    assert borgtrace("compare", store, store, "--questions", "transitions").stderr == (
        "borgtrace: --questions: no folder for the answers; name one: --out DIR\n"
    )
