"""``borgtrace fetch`` from the shell: what it prints, how it stops, how it goes on."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import typer
from typer.testing import CliRunner

import borgtrace
from borgtrace.cli.commands.fetch import fetch
from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import FetchPlan, bucket

CELL_A, BORG = bucket("2019", "a"), bucket("2011")
PATHS = [CELL_A.path("instance_usage", part) for part in range(4)]


@pytest.fixture
def run():
    app = typer.Typer()
    # Without the decorator, which turns errors into exit codes.
    app.command()(fetch.__wrapped__)
    return lambda *words: CliRunner().invoke(
        app, [str(word) for word in words], catch_exceptions=True
    )


def words(server, dest, *more):
    return [
        "2019",
        dest,
        "--cell",
        "a",
        "--tables",
        "instance_usage",
        "--base-url",
        server.url,
        *more,
    ]


def indented(text):
    """Read JSON that stands in lines, as all commands indent it."""
    value = json.loads(text)
    assert text == json.dumps(value, indent=1) + "\n"
    return value


def test_a_dry_run_shows_size_and_free_disk_and_writes_nothing(serve, archives, run, tmp_path):
    files = archives(PATHS, size=250_000)
    server = serve(files)
    result = run(*words(server, tmp_path / "raw", "--dry-run"))
    assert result.exit_code == 0
    assert "instance_usage      4  1.0 MB   4 files" in result.stdout
    assert "Total 1.0 MB; to fetch 1.0 MB; free disk " in result.stdout
    assert not (tmp_path / "raw").exists()
    facts = indented(run(*words(server, tmp_path / "raw", "--dry-run", "--json")).stdout)
    assert facts["bytes_to_come"] == sum(map(len, files.values()))
    assert [file["path"] for file in facts["files"]] == PATHS


def test_a_dry_run_says_what_it_would_read_where_no_server_can_be_reached(run, tmp_path):
    result = run(
        "2011",
        tmp_path,
        "--parts",
        "0-2,7",
        "--tables",
        "machine_events,task_usage",
        "--base-url",
        "http://127.0.0.1:9",
        "--dry-run",
    )
    assert result.stdout.splitlines() == [
        "Reads http://127.0.0.1:9:",
        "  SHA256SUM",
        "  machine_events/part-00000-of-00001.csv.gz",
        "  task_usage/part-00000-of-00500.csv.gz … part-00007-of-00500.csv.gz (4 files)",
    ]
    assert "127.0.0.1 cannot be reached" in str(result.exception)
    assert result.exception.exit_code == 3


def test_a_dry_run_for_questions_says_what_parts_have_in_reach(serve, archives, run, tmp_path):
    """Ten parts of 2011 are 13.9 h, too little for claims about the queue; the machines' five are in reach at once.

    Claims about openb, Azure and Alibaba are no claims of this trace.
    """
    paths = [
        BORG.path("machine_events", 0),
        *(BORG.path("task_events", part) for part in range(10)),
    ]
    server = serve(files := archives([*paths, BORG.path("task_usage", 0)], size=100_000))
    asked = (
        "2011",
        tmp_path,
        "--parts",
        "0-9",
        "--for",
        "queue_length,machine_shapes",
        "--base-url",
        server.url,
    )
    result = run(*asked, "--dry-run")
    assert result.exit_code == 0
    first, second = (sum(len(files[path]) for path in paths[:n]) / 1e3 for n in (2, 11))
    assert result.stdout.splitlines()[:4] == [
        f"Reads {server.url}:",
        "  SHA256SUM",
        "  machine_events/part-00000-of-00001.csv.gz",
        "  task_events/part-00000-of-00500.csv.gz … part-00009-of-00500.csv.gz (10 files)",
    ]
    assert [" ".join(line.split()) for line in result.stdout.splitlines()[4:8]] == [
        "queue_length, machine_shapes: reads machine_events, task_events",
        "parts time to fetch claims in reach",
        f"1 83.5 min {first:.1f} kB 5 of 12",
        f"10 13.9 h {second / 1e3:.1f} MB 5 of 12",
    ]
    reach = json.loads(run(*asked, "--dry-run", "--json").stdout)["reach"]
    assert [(row["parts"], row["claims_in_reach"], row["claims"]) for row in reach] == [
        (1, 5, 12),
        (10, 5, 12),
    ]
    assert run("2011", tmp_path, "--for", "queue_lenght").exception.exit_code == 2


def test_a_fetch_prints_where_the_files_are(serve, archives, run, tmp_path):
    files = archives(PATHS)
    server = serve(files)
    result = run(*words(server, tmp_path))
    folder = tmp_path / "clusterdata_2019_a"
    assert result.exit_code == 0
    assert result.stdout == f"{folder}\n"
    assert (
        f"4 files complete and verified. Next: borgtrace ingest {folder} --store store"
        in result.stderr
    )
    facts = indented(run(*words(server, tmp_path, "--json")).stdout)
    assert facts["bytes_to_come"] == 0
    assert all(file["is_here"] for file in facts["files"])
    assert server.body_bytes.total() == sum(map(len, files.values()))


def test_files_that_cannot_be_had_are_named(serve, archives, run, tmp_path):
    server = serve(archives([*PATHS[:2], PATHS[3], CELL_A.path("instance_usage", 4)]))
    result = run(*words(server, tmp_path))
    assert isinstance(result.exception, SourceError)
    assert str(result.exception) == (
        f"{tmp_path / 'clusterdata_2019_a'}: 1 of 5 files could not be fetched: got {PATHS[2]}; "
        "run the same command again: what has arrived is kept"
    )
    assert result.exception.exit_code == 3


def test_deleting_raw_files_needs_a_store(run, tmp_path):
    result = run("2011", tmp_path, "--delete-raw")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == (
        "--delete-raw: nothing would be left; name a store for the rows: --store store"
    )


@pytest.mark.wide
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_command_goes_on_where_it_was(serve, archives, run, tmp_path, kill):
    files = archives(PATHS, size=400_000)
    server = serve(files, pause=0.3)
    server.choose = lambda method, path: "slow" if method == "GET" else None
    command = [
        sys.executable,
        "-m",
        "borgtrace",
        "fetch",
        *map(str, words(server, tmp_path)),
    ]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
    )
    while not any(path.stat().st_size for path in tmp_path.rglob("*.incomplete")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(kill)
    said = process.communicate(timeout=20)[1]
    if kill == signal.SIGINT:
        assert process.returncode == 130
        assert (
            "borgtrace: interrupted: what has arrived is kept; run the same command again to go on"
            in said
        )
    kept = {
        path.name.removesuffix(".incomplete"): path.stat().st_size
        for path in tmp_path.rglob("*.incomplete")
    }
    assert sum(kept.values()) > 0
    time.sleep(0.7)  # for the server to notice
    server.choose = lambda method, path: None
    server.body_bytes.clear()
    assert run(*words(server, tmp_path)).exit_code == 0
    for path, content in files.items():
        assert (tmp_path / "clusterdata_2019_a" / path).read_bytes() == content
        assert server.body_bytes[path] == len(content) - kept.get(path, 0)


@pytest.fixture
def rows_2011(serve):
    """Serve two parts of job_events with one event each, and the machines."""
    year = bucket("2011")
    files = {year.path("machine_events", 0): b"0,5,0,platform,0.5,0.25\n"}
    for part in range(2):
        files[year.path("job_events", part)] = (
            f"{part}00000000,,{part + 1},0,user,1,name,logical\n".encode()
        )
    return serve({path: gzip.compress(text, mtime=0) for path, text in files.items()})


def words_2011(server, dest, *more):
    tables = "machine_events,job_events"
    return ["2011", dest, "--tables", tables, "--parts", "0-1", "--base-url", server.url, *more]


def test_part_by_part_into_a_store_leaves_no_raw_file_and_the_same_store(
    rows_2011,
    run,
    tmp_path,
):
    thin, whole = tmp_path / "thin", tmp_path / "whole"
    result = run(
        *words_2011(
            rows_2011,
            tmp_path / "a",
            "--store",
            thin,
            "--delete-raw",
            "--jobs",
            "1",
        )
    )
    assert result.exit_code == 0, result.exception
    assert result.stdout == f"{thin}\n"
    assert f"3 files in the store. Next: borgtrace info {thin}" in result.stderr
    assert not list((tmp_path / "a").rglob("*.gz"))
    assert run(*words_2011(rows_2011, tmp_path / "b")).exit_code == 0
    assert run(*words_2011(rows_2011, tmp_path / "b", "--store", whole)).exit_code == 0
    assert len(list((tmp_path / "b").rglob("*.gz"))) == 3
    manifests = [borgtrace.open(store).manifest for store in (thin, whole)]
    assert manifests[0].tables["collection_events"] == 2
    assert manifests[0].digest == manifests[1].digest
    before = rows_2011.body_bytes.total()
    again = run(*words_2011(rows_2011, tmp_path / "a", "--store", thin, "--delete-raw"))
    assert again.exit_code == 0, again.exception
    assert rows_2011.body_bytes.total() == before, "what the store has is not fetched again"


def test_a_disk_that_is_too_small_takes_only_files_that_go_as_they_come(
    rows_2011,
    run,
    tmp_path,
    monkeypatch,
):
    monkeypatch.setattr(FetchPlan, "free", property(lambda plan: plan.remaining - 1))
    refused = run(*words_2011(rows_2011, tmp_path, "--store", tmp_path / "store"))
    assert isinstance(refused.exception, UsageError)
    assert "the disk is too small" in str(refused.exception)
    assert not rows_2011.body_bytes
    assert (
        run(
            *words_2011(
                rows_2011,
                tmp_path,
                "--store",
                tmp_path / "store",
                "--delete-raw",
            )
        ).exit_code
        == 0
    )


def test_a_file_that_cannot_be_staged_is_kept_and_named(rows_2011, run, tmp_path):
    path = bucket("2011").path("job_events", 1)
    rows_2011.files[path] = gzip.compress(b"this,is,no,trace\n", mtime=0)
    store = tmp_path / "store"
    result = run(*words_2011(rows_2011, tmp_path, "--store", store, "--delete-raw"))
    assert isinstance(result.exception, SourceError)
    assert str(result.exception).startswith(
        f"{tmp_path / 'clusterdata-2011-2'}: 1 of 3 files could not be fetched: got {path}"
    )
    assert [file.name for file in tmp_path.rglob("*.csv.gz")] == ["part-00001-of-00500.csv.gz"]
