"""``borgtrace analyze``: files, claims, parameters, SQL, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sqlglot

from borgtrace.catalog import questions
from borgtrace.cli import main


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.synth import generate

    folder = tmp_path_factory.mktemp("analyze")
    generate(
        folder / "raw",
        "2011",
        4,
        2.0,
        1,
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["analyze", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_one_question_prints_its_table_and_tells_its_claims(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(store, "transitions") == 0
    out, err = capfd.readouterr()
    rows = list(csv.DictReader(out.splitlines()))
    assert {"from_type", "to_type", "n", "is_legal_zhu"} <= set(rows[0])
    # What was measured is shown, and why two hours of four machines cannot decide.
    lacks = "not judged: needs instance_events of 24 h or more, has 2 h"
    assert err.splitlines()[-3:] == [
        "S4-pending-evict: a pending task can be evicted: published SUBMIT→EVICT exists (> 0), "
        f"measured 0: {lacks}",
        "S4-no-double-submit: SUBMIT never directly follows SUBMIT: published SUBMIT→SUBMIT 0 (0), "
        f"measured 0: {lacks}",
        "None of the claims can be judged.",
    ]


def test_files_appear_whole_beside_the_claims(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(
            store,
            "transitions",
            "machine_downtime",
            "--out",
            tmp_path / "answers",
            "--png",
        )
        == 0
    )
    names = {path.name for path in (tmp_path / "answers").iterdir()}
    assert names == {
        "claims.csv",
        "machine_downtime.csv",
        "machine_downtime.parquet",
        "transitions.csv",
        "transitions.parquet",
        "transitions.svg",
        "transitions.png",
        "transitions.vl.json",
    }
    claims = list(csv.DictReader((tmp_path / "answers" / "claims.csv").read_text().splitlines()))
    assert [(row["recipe"], row["id"], row["verdict"]) for row in claims][1:] == [
        ("transitions", "S4-no-double-submit", "not judged"),
        ("machine_downtime", "ME-away-median", "not applicable"),
        ("machine_downtime", "ME-away-day", "not applicable"),
    ]
    assert capsys.readouterr().out == (tmp_path / "answers" / "claims.csv").read_text()
    table = pq.read_table(tmp_path / "answers" / "machine_downtime.parquet")
    facts = json.loads(table.schema.metadata[b"borgtrace"])
    assert facts["not_applicable"] == "no machine was removed and came back"
    assert facts["is_synthetic"] is True
    assert (tmp_path / "answers" / "transitions.svg").read_text().startswith("<svg")


def test_files_are_the_same_every_time(store: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert (
            run(
                store,
                "queue_length",
                "run_times",
                "--out",
                tmp_path / name,
            )
            == 0
        )
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_json_is_one_object_a_question(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "machine_shapes", "machine_downtime", "--json") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["recipe"], first["claims"][0]["id"]) == ("machine_shapes", "R12-table1")
    assert sum(row["n_last"] for row in first["rows"]) == 4
    assert (second["rows"], second["not_applicable"]) == (
        [],
        "no machine was removed and came back",
    )


def test_parameters_and_a_predicate(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(store, "queue_length", "--set", "step=3600000000", "--where", "priority >= 9", "--json")
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["provenance"]["parameters"] == {"step": 3600000000}
    assert answer["provenance"]["where"] == "priority >= 9"
    assert [row["time"] for row in answer["rows"]][:2] == [3600000000, 7200000000]


def test_sql_for_bigquery_runs_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "queue_length", "submissions", "--show-sql", "bigquery") == 0
    out = capsys.readouterr().out
    assert out.count("CREATE TEMP TABLE instance_attempts AS") == 1
    assert "-- queue_length: flows" in out
    assert len(sqlglot.parse(out, dialect="bigquery")) >= 5


def test_the_list_says_what_is_asked(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("queue_length ") and line.endswith("surge?") for line in lines)
    assert run(store, "queue_length", "--list") == 0
    assert capsys.readouterr().out == (
        "queue_length  Does the queue grow, and does the number of running tasks surge?\n"
        "              --set step=5m (5m to 31d)\n"
    )


def test_the_list_needs_no_store(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["--list"],
        ["machine_shapes", "--list"],
        ["machine_shapes", "tails", "--list"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["analyze", *arguments])
        assert ended.value.code == 0
        listed = [
            line.split()[0]
            for line in capsys.readouterr().out.splitlines()
            if not line.startswith(" ")
        ]
        assert listed == (arguments[:-1] or list(questions()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "STORE: no store named; borgtrace analyze STORE [NAME…], or borgtrace analyze --list"),
        (
            ["tails", "some-store"],
            "STORE: not a store: got tails, a question; the store comes first: borgtrace analyze STORE tails",
        ),
    ],
)
def test_without_a_store_it_says_so(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["analyze", *arguments])
    assert (ended.value.code, capsys.readouterr().err) == (2, f"borgtrace: {message}\n")


def test_a_terminal_gets_tables_and_a_pipe_gets_csv(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "160")
    shown = {}
    for is_terminal in (True, False):
        monkeypatch.setattr(
            "borgtrace.cli.answers.sys.stdout.isatty", lambda is_terminal=is_terminal: is_terminal
        )
        assert run(store, "machine_shapes") == 0
        single_answer = capsys.readouterr().out
        assert run(store, "machine_shapes", "transitions") == 0
        shown[is_terminal] = single_answer, capsys.readouterr().out
    assert shown[False][0].startswith('"')
    assert shown[False][1].startswith(
        "recipe,id,kind,statement,published,tolerance,measured,verdict,"
    )
    assert "," not in shown[True][0].splitlines()[0]
    headings = shown[True][1].splitlines()[0].split()
    assert set(headings) >= {"id", "measured", "verdict"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["queue"],
            2,
            "borgtrace: NAME: no such question: got queue; did you mean queue_length or queueing? ",
        ),
        (
            ["queue_length", "--set", "stop=1"],
            2,
            "borgtrace: --set: no such parameter: expected one of step, got stop=1\n",
        ),
        (
            ["queue_length", "--set", "step=short"],
            2,
            "borgtrace: --set step: not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got 'short'\n",
        ),
        (
            ["queue_length", "--show-sql", "oracle"],
            2,
            "borgtrace: --show-sql: unknown dialect: expected bigquery, got oracle\n",
        ),
        (
            ["queue_length", "--png"],
            2,
            "borgtrace: --png: no folder to write to; name one: --out DIR\n",
        ),
        (
            ["queue_length", "--engine", "mysql"],
            2,
            "borgtrace: --engine: unknown engine: expected duckdb, local[n] or spark://host:port, got 'mysql'\n",
        ),
        (
            ["queue_length", "--where", "prio > 1"],
            2,
            "borgtrace: --where: not a predicate over tasks: ",
        ),
    ],
)
def test_what_it_refuses(
    store: Path,
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(store, *arguments) == code
    out, err = capsys.readouterr()
    assert (out, err[: len(message)]) == ("", message)


def test_a_store_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "transitions") == 5
    assert capsys.readouterr().err.startswith(f"borgtrace: {tmp_path}: ")
