"""What commands print, of answers and stores made by hand: tables, claims, notices and JSON, to the letter."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import typer
from borgtrace.question.result import Provenance

from borgtrace import __version__
from borgtrace.cli import (
    _answers,
    _experiments,
    _manifest,
    _moments,
    app,
    demo,
    doctor,
    main,
    overcommit,
    report,
    synth,
)
from borgtrace.cli._grid import Column, print_grid
from borgtrace.cli._printing import print_json
from borgtrace.colocation.from_moments import Moments
from borgtrace.errors import EngineError, StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle import DERIVED
from borgtrace.question import Finding
from borgtrace.store import open as open_store
from tests.ingest.raw import write_cell

Capture = pytest.CaptureFixture[str]
JUDGED = Finding("A-1", "many", "> 1", "2", "holds")
ASIDE = Finding("A-2", "few", "< 1", "", "not applicable", reason="needs all parts")
FROM = Provenance("store", "ab" * 32, "2011", "", False, "", "duckdb", "0.1.0", seconds=1.5)


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0)


def answer(name: str = "counted", *findings: Finding, reason: str | None = None) -> Any:
    """An answer of two rows."""
    table = pa.table({"n": [3, 1]})
    recipe = SimpleNamespace(name=name)
    return SimpleNamespace(
        recipe=recipe,
        table=table,
        findings=findings,
        not_applicable=reason,
        provenance=FROM,
        plot=lambda: None,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    ingest([write_cell(folder / "raw")], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def test_one_answer_is_its_table_and_the_claims_that_are_judged(capfd: Capture) -> None:
    _answers.publish([answer("counted", JUDGED, ASIDE)], out=None, png=False, as_json=False)
    out, err = capfd.readouterr()
    assert out == '"n"\n3\n1\n'
    lines = err.splitlines()
    # The judged one, how many hold, and why the other is not judged.
    assert len(lines) == 3
    assert "many" in lines[0]
    assert lines[2] == "Not applicable, 1 claim: needs all parts: A-2"


def test_several_answers_are_their_claims(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [answer("one", JUDGED), answer("two", ASIDE)]
    _answers.publish(two, out=None, png=False, as_json=False)
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("recipe,id,kind,statement")
    assert [line.split(",")[:2] for line in lines[1:]] == [["one", "A-1"], ["two", "A-2"]]
    # On a terminal they are a table of those that are judged.
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _answers.publish(two, out=None, png=False, as_json=False)
    heading, *rows = capfd.readouterr().out.splitlines()
    assert heading.split() == ["recipe", "id", "published", "tolerance", "measured", "verdict"]
    assert [row.split()[:2] for row in rows] == [["one", "A-1"]]


def test_a_file_says_where_it_comes_from_and_why_it_is_empty() -> None:
    told = json.loads(_answers._described(answer()).schema.metadata[b"borgtrace"])
    assert list(told) == sorted(told)
    assert (told["store"], "seconds" in told, "not_applicable" in told) == ("store", False, False)
    told = json.loads(_answers._described(answer(reason="no usage")).schema.metadata[b"borgtrace"])
    assert told["not_applicable"] == "no usage"


def test_a_table_comes_after_what_was_printed_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    print("before")
    _answers.publish([answer()], out=None, png=False, as_json=False)
    stream.flush()
    assert stream.buffer.getvalue() == b'before\n"n"\n3\n1\n'  # type: ignore[attr-defined]


def test_a_picture_has_two_pixels_for_each_of_its_chart(tmp_path: Path) -> None:
    bare = {"width": 40, "height": 30, "padding": 0, "config": {"view": {"stroke": None}}}
    spec = {
        "data": {"values": [{}]},
        "mark": "rect",
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    }
    result = answer()
    result.plot = lambda: SimpleNamespace(to_json=lambda indent: json.dumps(spec | bare))
    _answers.write(result, tmp_path, png=True)
    # Width and height stand behind the signature and the name of the first chunk.
    assert struct.unpack(">II", (tmp_path / "counted.png").read_bytes()[16:24]) == (80, 60)
    _answers.write(result, tmp_path / "none", png=False)
    assert not (tmp_path / "none" / "counted.png").exists()


def test_shared_tables_are_printed_once_and_what_follows_them_is(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("borgtrace.engine.bigquery.compile_sql", lambda stage: f"SELECT {stage}")
    monkeypatch.setattr("borgtrace.lifecycle.hosted.what_it_reads", lambda sql: "-- reads")
    shared = next(iter(DERIVED))
    asked = [
        SimpleNamespace(
            name=name, parameters={}, stages=lambda *_, own=own: {shared: 0, "own": own}
        )
        for name, own in (("one", 1), ("two", 2))
    ]
    _answers.print_sql(asked, {})  # type: ignore[arg-type]
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("SELECT")]
    assert lines == ["SELECT 0;", "SELECT 1;", "SELECT 2;"]


def test_a_table_has_no_blank_lines_and_two_blanks_between_columns(capsys: Capture) -> None:
    assert print_grid([Column("name", ["a", "bcdef"]), Column("n", ["1", "23"], True)]) == 2
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "name    n",
        "a       1",
        "bcdef  23",
    ]


@pytest.mark.parametrize(("cells", "least"), [(["x" * 9, "x"], 9), (["x", "x" * 30], 16)])
def test_a_column_is_as_wide_as_its_longest_cell_up_to_a_limit(
    cells: list[str], least: int
) -> None:
    assert Column("n", cells).least == least


def test_json_is_there_when_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        flushed = ""

        def flush(self) -> None:
            self.flushed = self.getvalue()

    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"n": 1})
    assert stream.flushed == '{"n": 1}\n'


def test_json_for_people_is_indented_by_a_blank(store: Path, capsys: Capture) -> None:
    asked = (("verify", store), ("doctor",), ("ingest", store.parent / "raw", "--store", store))
    told = []
    for words in asked:
        assert run(*words, "--json") == 0
        told.append(capsys.readouterr().out)
    bare = Moments(["a"], np.array([0.25]), np.array([0.01]))
    _moments.run(bare, 0.5, 0.001, "", "best-fit", None, as_json=True)
    for out in (*told, capsys.readouterr().out):
        assert out == json.dumps(json.loads(out), indent=1) + "\n"


def test_a_store_in_words(store: Path, capsys: Capture) -> None:
    manifest = open_store(store).manifest
    _manifest.print_manifest(manifest, store)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:9]] == [
        *(["machine_events", "1"], ["machine_attributes", "1"], ["collection_events", "1"]),
        *(
            ["instance_events", "1"],
            ["instance_constraints", "1"],
            ["instance_usage", "1"],
            ["tasks", "1"],
        ),
    ]
    assert "task_usage: 1 file, parts 0 of 500" in lines
    assert (
        lines[-1]
        == f"digest {manifest.digest}, borgtrace {__version__}, format {manifest.format_version}"
    )
    sized = replace(
        manifest, synthetic={"seed": 7, "version": 3}, basis={"cores": 8, "bytes": 2**34}
    )
    _manifest.print_manifest(sized, store)
    out = capsys.readouterr().out
    assert "(seed 7, generator 3)" in out.splitlines()[0]
    assert "amounts are fractions of the largest machine: 8 cores, 16 GiB" in out


def test_the_schema_in_words(capsys: Capture) -> None:
    _manifest.print_schema(as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("machine_events: one row per machine event; key time, machine_id")
    assert "  machine_id (int64, id, never NULL): The machine." in lines


def test_stores_beside_each_other_in_words(store: Path, tmp_path: Path, capsys: Capture) -> None:
    assert (
        run("compare", store, store, "--questions", "machine_shapes", "--out", tmp_path / "out")
        == 0
    )
    heading, first, *_ = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["measure", "store", "against"]
    # A store is as far from itself as it can be near: their ratio is 1, their distance 0.
    assert first.startswith("tasks of a job")
    assert first.split()[-6:] == ["1", "1", "1", "0", "0", "0"]


def test_a_part_of_a_store_in_json(store: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run("subset", store, tmp_path / "part", "--time", "0s..1h", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tables"]["machine_events"] == 1


def test_a_machine_is_told_by_its_shares(store: Path, capsys: Capture) -> None:
    """A task uses .0015 of .5 CPU and .067 of .2493 memory, and requests .125 and .07446 of them."""
    assert run("machine", store, 5, "--at", "650s") == 0
    said = "CPU 0.3% used, 25.0% requested; memory 26.9% used, 29.9% requested"
    assert capsys.readouterr().out.splitlines()[-1] == said


def test_a_question_that_was_refused_is_named(
    store: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = {"queue_length": EngineError("query", "memory exhausted")}
    summary = SimpleNamespace(refused=refused, n_questions=2, n_charts=1, size=10**6, path=store)
    monkeypatch.setattr("borgtrace.report.write", lambda *_, **__: summary)
    with pytest.raises(EngineError):
        report.report(store, store / "page.html")
    assert capsys.readouterr().err.splitlines() == [
        "queue_length: query: memory exhausted",
        "2 questions, 1 charts, 1.0 MB",
    ]


def test_a_trace_that_was_made_says_where_its_answers_are(tmp_path: Path, capsys: Capture) -> None:
    assert run("synth", tmp_path / "made", "--machines", 1, "--hours", 1, "--seed", 3) == 0
    lines = capsys.readouterr().err.splitlines()
    assert f"Synthetic trace, seed 3. Known answers: {tmp_path / 'made' / 'truth.json'}" in lines


def test_targets_have_four_digits(capsys: Capture) -> None:
    row = {
        "measure": "share",
        "tier": "free",
        "published": 0.123456,
        "measured": 0.654321,
        "deviation": 0.1234,
    }
    row |= {
        "low": 0.111111,
        "high": 0.222222,
        "verdict": "fits",
        "grade": "exact",
        "reference": "paper",
    }
    synth._print_targets([row])
    _, line, total = capsys.readouterr().out.splitlines()
    assert line.split() == [
        *(
            "share,",
            "free",
            "0.1235",
            "0.6543",
            "+12.3%",
            "0.1111",
            "…",
            "0.2222",
            "fits",
            "exact:",
            "paper",
        )
    ]
    assert total == "1 of 1 judged targets fit"


def test_terms_have_five_digits(capsys: Capture) -> None:
    overcommit._print([{"term": "peak", "value": 0.12345678}], as_json=False)
    assert capsys.readouterr().out.splitlines()[1].split() == ["peak", "0.12346"]


def test_a_step_of_the_demo_takes_the_time_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 12.5])
    monkeypatch.setattr(demo, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    done = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(demo, "subprocess", SimpleNamespace(run=lambda *_, **__: done))
    assert demo._run(SimpleNamespace(command="doctor"), tmp_path / "log") == 2.5  # type: ignore[arg-type]


def test_a_url_is_refused_before_a_command_begins(capsys: Capture) -> None:
    begun: list[str] = []
    for place in (Path("gs://bucket/x"), [Path("gs://bucket/x")]):
        with pytest.raises(typer.Exit) as ended:
            app.ending_well(lambda **_: begun.append("begun"))(out=place)
        assert ended.value.exit_code == 2
    assert begun == []
    assert capsys.readouterr().err.count("gs:") == 2


def test_after_a_closed_pipe_nothing_more_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed() -> None:
        raise BrokenPipeError

    put: list[int] = []
    with (tmp_path / "pipe").open("w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        monkeypatch.setattr(app.os, "dup2", lambda new, old: put.append(old))
        app.ending_well(closed)()
        assert put == [pipe.fileno()]


def test_tasks_by_their_moments_come_from_their_file(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("task,mean,std\na,0.5,0.25\n")
    sources = SimpleNamespace(moments=tmp_path / "tasks.csv")
    found = _experiments.moments_of(sources, "", "1", tasks=1, seed=1)  # type: ignore[arg-type]
    assert (found.task, found.mean.tolist(), found.std.tolist()) == (["a"], [0.5], [0.25])


def test_only_tables_of_own_usage_name_their_collections() -> None:
    pool = SimpleNamespace(source=SimpleNamespace(dialect=SimpleNamespace(conversion="own")))
    assert _experiments._names(pool) == {}  # type: ignore[arg-type]


def test_a_capacity_of_a_number_alone_is_one_of_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        _experiments,
        "ingest",
        lambda usage, store, options: (
            asked.append(options.capacity) or SimpleNamespace(manifest=None)
        ),
    )
    for capacity in ("8", "1.5", "8cores", "1.2.3"):
        _experiments._own_store(tmp_path, tmp_path / "store", "auto", capacity)
    assert asked == ["8cores", "1.5cores", "8cores", "1.2.3"]


def test_what_is_no_objective_is_refused() -> None:
    assert _experiments.target_of("0.999") == 0.001
    with pytest.raises(UsageError, match="not a service level"):
        _experiments.target_of("1")


def test_experiments_are_listed_without_parameters_to_set(capsys: Capture) -> None:
    assert run("colocate", "--list") == 0
    out = capsys.readouterr().out
    assert "packing_base" in out
    assert "--set" not in out


@pytest.mark.parametrize(
    ("said", "found"),
    [('openjdk version "17.0.1"\nOpenJDK 64-Bit', 'openjdk version "17.0.1"'), ("", "/bin/java")],
)
def test_java_is_told_by_the_first_line_it_says(
    monkeypatch: pytest.MonkeyPatch, said: str, found: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/bin/java")
    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: SimpleNamespace(stderr=said))
    assert doctor._java() == found


def test_a_store_that_cannot_even_be_verified_is_damaged(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = StoreError(str(store), "the manifest is damaged")

    def refuse(*_: object, **__: object) -> None:
        raise damaged

    monkeypatch.setattr("borgtrace.store.verify.verify", refuse)
    assert app.damage_behind(ValueError("of a library"), store) is damaged


def test_a_notice_is_shown_as_errors_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    app.ending_well(lambda: None)()
    assert (
        warnings.formatwarning("rows differ", UserWarning, "x.py", 1) == "borgtrace: rows differ\n"
    )


def test_places_in_buckets_are_found_among_the_options() -> None:
    options: dict[str, Any] = {
        "store": Path("gs://b/x"),
        "sources": [Path("s3://b/y"), Path("z")],
        "n": 3,
    }
    options |= {"out": Path("o"), "none": []}
    found = app._take_urls(options, ("store", "sources"))
    assert [(name, str(remote)) for name, remote in found] == [
        ("store", "gs://b/x"),
        ("sources", "s3://b/y"),
    ]
    assert options["store"] is found[0][1]
    assert options["sources"] == [found[1][1], Path("z")]
    assert (options["n"], options["out"], options["none"]) == (3, Path("o"), [])


def test_the_help_of_a_command_offers_no_completion(capsys: Capture) -> None:
    assert run("doctor", "--help") == 0
    assert "completion" not in capsys.readouterr().out


def test_how_much_disk_a_replay_takes_is_said_before_it_begins(
    store: Path, capsys: Capture
) -> None:
    run("overcommit", store)
    assert capsys.readouterr().err.startswith("usage by machine: at most ")


def test_a_trace_that_cannot_be_measured_says_why(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "truth.json").write_text("{}")
    nothing = SimpleNamespace(table=pa.table({}), not_applicable="no usage")
    monkeypatch.setattr("borgtrace.ingest.ingest", lambda *_: None)
    monkeypatch.setattr(
        "borgtrace.question.find", lambda name: SimpleNamespace(run=lambda store: nothing)
    )
    synth.print_check(tmp_path, as_json=True)
    out, err = capsys.readouterr()
    assert (out, err) == ("[]\n", "not applicable: no usage\n")
