"""Commands of a few lines: drafts of a dialect, the explorer's address, and how others answer a store of one task."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.cli import main
from borgtrace.cli.machine_text import share_at_moment, share_over_hours
from borgtrace.errors import EngineError
from borgtrace.forecast import FORECAST, PACKED, ForecastOptions
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.report import Summary
from tests.ingest.raw import write_cell

Capture = pytest.CaptureFixture[str]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    ingest([write_cell(folder / "raw")], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def test_formats_are_listed(capsys: Capture) -> None:
    assert run("dialect", "list") == 0
    assert "2011: Google cluster trace 2011" in capsys.readouterr().out.splitlines()
    assert run("dialect", "list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["2011"] == "Google cluster trace 2011"


def test_a_format_is_drafted(tmp_path: Path, capsys: Capture) -> None:
    own = tmp_path / "own.csv"
    own.write_text("task,time,cpu\nweb-1,1700000000,0.5\nweb-1,1700000300,0.25\n")
    assert run("dialect", "sniff", own) == 0
    draft = tomllib.loads(capsys.readouterr().out)
    assert run("dialect", "sniff", own, "--json") == 0
    assert json.loads(capsys.readouterr().out) == draft


def test_a_task_without_usage_is_no_empty_table(tmp_path: Path, capsys: Capture) -> None:
    raw = write_cell(tmp_path / "raw")
    shutil.rmtree(raw / "task_usage")
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1))
    assert run("trace", store, 10, 0) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert out.endswith(": 0 windows\n")
    command = f"borgtrace trace {store} 10:0 --plot life.html"
    assert err == f"Its usage was not measured. To see its events: {command}\n"
    assert run("trace", store, 10, 0, "--plot", tmp_path / "life.html") == 0
    assert (tmp_path / "life.html").stat().st_size > 10_000


def test_nothing_is_sorted_where_there_is_no_usage(tmp_path: Path, capsys: Capture) -> None:
    raw = write_cell(tmp_path / "raw")
    shutil.rmtree(raw / "task_usage")
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1))
    assert run("overcommit", store) == 0
    first_line, *_ = capsys.readouterr().err.splitlines()
    reason = (
        "not applicable: the store holds no rows of instance_usage; ingest files that have some"
    )
    assert first_line == f"overcommit: {reason}"


def test_a_draft_needs_a_file(tmp_path: Path, capsys: Capture) -> None:
    assert run("dialect", "sniff") == 2
    assert (
        capsys.readouterr().err
        == "borgtrace: FILE: no file named; borgtrace dialect sniff FILE > own.toml\n"
    )
    assert run("dialect", "sniff", tmp_path / "none.csv") == 3
    assert (
        capsys.readouterr().err == f"borgtrace: {tmp_path}/none.csv: no such file; check the path\n"
    )


@pytest.mark.parametrize(
    ("words", "out"), [((), "http://x/\n"), (("--json",), '{"url": "http://x/"}\n')]
)
def test_the_explorer_prints_its_address_and_says_that_it_stopped(
    store: Path,
    words: tuple[str],
    out: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    options: dict[str, Any] = {}

    def serve(
        trace: object,
        port: int,
        *,
        ready: Callable[[str], None],
        **more: object,
    ) -> None:
        options.update(port=port, **more)
        ready("http://x/")
        raise KeyboardInterrupt

    monkeypatch.setattr("borgtrace.explore.server.serve", serve)
    assert (
        run(
            "explore",
            store,
            "--port",
            8321,
            "--no-browser",
            *words,
        )
        == 0
    )
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (out, "Press Ctrl-C to stop.\nStopped.\n")
    assert options == {
        "port": 8321,
        "browser": False,
        "at": "/",
    }


Asked = list[tuple[object, object]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The questions that commands ask, with their options; they are not answered."""
    questions: Asked = []

    def ask(question: object, store: object, options: object, **_: object) -> None:
        questions.append((question, options))

    monkeypatch.setattr("borgtrace.cli.answers.ask", ask)
    return questions


def test_a_forecast_has_the_defaults_of_the_library(store: Path, asked: Asked) -> None:
    assert run("forecast", store) == 0
    assert asked == [(FORECAST, ForecastOptions())]


def test_a_forecast_without_scikit_learn_says_what_is_left_out(
    store: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert run("forecast", store) == 0
    assert asked[0][1].forecasters == ("persistence", "seasonal", "autoregression")
    assert capsys.readouterr().err == (
        'boosting is left out: it needs scikit-learn; pip install "borgtrace[trees]"\n'
    )


@pytest.mark.parametrize("file_option", ["save", "model"])
def test_a_forecast_is_asked_with_what_the_options_say(
    file_option: str, store: Path, tmp_path: Path, asked: Asked
) -> None:
    arguments = ["--pack", "--resource", "cpu"]
    forecasters = ForecastOptions().forecasters
    # A file of trained forecasters says which they are.
    if file_option == "save":
        arguments += ["--forecaster", "persistence", "--forecaster", "seasonal"]
        forecasters = ("persistence", "seasonal")
    arguments += ["--tasks", "9", "--folds", "2", "--examples", "70", "--seed", "5"]
    arguments += [f"--{file_option}", str(tmp_path / "file")]
    assert run("forecast", store, *arguments) == 0
    options = ForecastOptions(
        forecasters=forecasters,
        resources=("cpu",),
        tasks=9,
        folds=2,
        examples=70,
        seed=5,
    )
    options = replace(options, **{file_option: str(tmp_path / "file")})
    assert asked == [(PACKED, options)]


def test_an_export_to_a_full_folder_is_refused_before_anything_is_copied(
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    calls: list[object] = []
    monkeypatch.setattr("borgtrace.ingest.subset.subset", lambda *given: calls.append(given))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    assert (
        run(
            "export",
            store,
            tmp_path / "out",
            "--tier",
            "free",
        )
        == 2
    )
    assert capsys.readouterr().err == (
        f"borgtrace: {tmp_path / 'out'}: holds something else: expected a new folder, got 1 entries; "
        "name another folder, or remove this one\n"
    )
    assert calls == []


def test_simulate_draws_no_images_without_a_folder(tmp_path: Path, capsys: Capture) -> None:
    assert run("simulate", tmp_path, "--png") == 2
    assert (
        capsys.readouterr().err == "borgtrace: --png: no folder to write to; name one: --out DIR\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "{store}"),
        ("doctor",),
        ("ingest", "{raw}", "--store", "{store}"),
    ],
)
def test_json_for_people_is_indented_by_a_blank(
    store: Path, words: tuple[str, ...], capsys: Capture
) -> None:
    places = {"store": store, "raw": store.parent / "raw"}
    arguments = [word.format(**places) for word in words]
    assert run(*arguments, "--json") == 0
    out = capsys.readouterr().out
    assert out == json.dumps(json.loads(out), indent=1) + "\n"


def test_stores_beside_each_other_in_words(store: Path, tmp_path: Path, capsys: Capture) -> None:
    options = ("--questions", "machine_shapes", "--out", tmp_path / "out")
    assert run("compare", store, store, *options) == 0
    heading, first, *_ = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["measure", "store", "against"]
    # A store is as far from itself as it can be near: their ratio is 1, their distance 0.  Two jobs have no interval.
    assert first.startswith("tasks of a job")
    assert first.split()[-6:] == ["1", "–", "–", "0", "–", "–"]


def test_a_part_of_a_store_in_json(store: Path, tmp_path: Path, capsys: Capture) -> None:
    assert (
        run(
            "subset",
            store,
            tmp_path / "part",
            "--time",
            "..1h",
            "--json",
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["tables"]["machine_events"] == 1


def test_a_machine_is_told_by_its_shares(store: Path, capsys: Capture) -> None:
    """A task uses .0015 of .5 CPU and .067 of .2493 memory, and requests .125 and .07446 of them."""
    assert run("machine", store, 5, "--at", "50s") == 0
    last_line = capsys.readouterr().out.splitlines()[-1]
    assert last_line == "CPU 0.3 % used, 25 % requested; memory 26.9 % used, 29.9 % requested"


def test_use_of_a_machine() -> None:
    """Half of the largest machine is its whole capacity; over hours the mean counts, at an instant the sum."""
    hours = [{"cpu": 0.1}, {"cpu": 0.2}]
    assert share_over_hours("cpu", 0.5, hours, 2) == "CPU 30 % used"
    # The second hour was measured for half of it.
    assert share_over_hours("cpu", 0.5, hours, 1.5) == "CPU 40 % used"
    tasks = [
        {"average_cpu": 0.1, "cpu_request": 0.25},
        {"average_cpu": None, "cpu_request": 0.15},
    ]
    assert share_at_moment("cpu", 0.5, tasks) == "CPU 20 % used by 1 of 2 tasks, 80 % requested"


def test_a_question_that_was_refused_is_named(
    store: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = {"queue_length": EngineError("query", "memory exhausted")}
    summary = Summary(
        store,
        n_questions=2,
        n_charts=1,
        n_kept=0,
        size=10**6,
        refused=refused,
    )
    monkeypatch.setattr("borgtrace.report.write", lambda *_, **__: summary)
    assert run("report", store, store.parent / "page.html") == EngineError.exit_code
    assert capsys.readouterr().err.splitlines() == [
        "queue_length: query: memory exhausted",
        "2 questions, 1 chart, 1.0 MB",
        "borgtrace: query: memory exhausted",
    ]


def test_how_much_disk_a_replay_takes_is_said_before_it_begins(
    store: Path, capsys: Capture
) -> None:
    run("overcommit", store)
    assert "Sorting usage by machine: up to " in capsys.readouterr().err


def test_experiments_are_listed_without_parameters_to_set(capsys: Capture) -> None:
    assert run("colocate", "--list") == 0
    out = capsys.readouterr().out
    assert "packing_base" in out
    assert "--set" not in out


def test_the_help_of_a_command_offers_no_completion(capsys: Capture) -> None:
    assert run("doctor", "--help") == 0
    assert "completion" not in capsys.readouterr().out
