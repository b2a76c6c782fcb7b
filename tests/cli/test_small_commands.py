"""Commands and helpers of a few lines: moments, drafts of a dialect, the explorer's address, why a command failed."""

from __future__ import annotations

import errno
import gzip
import inspect
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from borgtrace.cli import _moments, main
from borgtrace.cli._console import counted
from borgtrace.cli._criteria import takes_criteria
from borgtrace.cli._grid import Column, fitted
from borgtrace.cli.app import _not_writable, damage_behind
from borgtrace.colocation.from_moments import Moments
from borgtrace.errors import EngineError, StoreError, UsageError
from borgtrace.forecast import FORECAST, PACKED
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.placement import Average, Gpa, Percentile, Request
from tests.ingest.raw import write_cell


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return int(ended.value.code or 0)


TASKS = Moments(
    ["a", "b", "c", "d", "e"],
    np.array([0.4, 0.4, 0.4, 0.4, 2.0]),
    np.full(5, 0.01),
    np.array([0.5, 0.5, 0.5, 0.5, 2.0]),
    np.array([0.6, 0.6, 0.6, 0.6, 3.0]),
)
"""Two of them fit on a machine of 1 by their mean or their maximum, one by its request; the last fits none."""
ALONE = "From means and deviations alone: the tasks are taken as independent and their sum as Gaussian; "


def test_machines_that_tasks_need_by_their_moments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _moments.run(TASKS, 1.0, 0.001, "", "best-fit", tmp_path / "placed.csv", as_json=True)
    out, err = capsys.readouterr()
    rows = json.loads(out)
    assert [
        (row["estimator"], row["machines"], row["unplaceable"], row["mean_load"]) for row in rows
    ] == [
        (Gpa(0.001).label, 2, 1, 0.8),
        (Average(1.0).label, 2, 1, 0.8),
        (Percentile(100).label, 2, 1, 0.8),
        (Request(1.0).label, 4, 1, 0.4),
    ]
    assert max(row["largest_overflow"] for row in rows) < 1e-9
    assert err.startswith(
        f"By {Gpa(0.001).label}, 4 tasks need 2 machines of capacity 1. "
        f"That is an overcommit of 1.20 on their requests. {ALONE}"
    )
    assert (tmp_path / "placed.csv").read_text() == "task,machine\na,0\nb,0\nc,1\nd,1\ne,\n"


def test_moments_without_maximum_and_request(capsys: pytest.CaptureFixture[str]) -> None:
    bare = Moments(["a"], np.array([0.25]), np.array([0.01]))
    _moments.run(bare, 0.5, 0.001, "average:2", "best-fit", None, as_json=False)
    out, err = capsys.readouterr()
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0][:4] == ["estimator", "machines", "unplaceable", "mean_load"]
    # The way that is named comes first.
    assert [line[:4] for line in lines[1:]] == [
        [label, "1", "0", "0.5"]
        for label in (Average(2.0).label, Gpa(0.001).label, Average(1.0).label)
    ]
    assert err.startswith(
        f"By {Average(2.0).label}, 1 task need 1 machine of capacity 0.5. {ALONE}"
    )


def test_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    large = Moments(["a"], np.array([2.0]), np.array([0.0]), request=np.array([1.0]))
    _moments.run(large, 1.0, 0.001, "", "best-fit", None, as_json=True)
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["machines"], row["mean_load"], row["mean_overflow"], row["largest_overflow"]) == (
        0,
        0,
        0,
        0,
    )


def test_formats_are_listed_and_drafted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dialect", "list") == 0
    assert "2011: Google cluster trace 2011" in capsys.readouterr().out.splitlines()
    assert run("dialect", "list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["2011"] == "Google cluster trace 2011"
    own = tmp_path / "own.csv"
    own.write_text("task,time,cpu\nweb-1,1700000000,0.5\nweb-1,1700000300,0.25\n")
    assert run("dialect", "sniff", own) == 0
    draft = tomllib.loads(capsys.readouterr().out)
    assert run("dialect", "sniff", own, "--json") == 0
    assert json.loads(capsys.readouterr().out) == draft
    assert run("dialect", "sniff") == 2
    assert (
        capsys.readouterr().err
        == "borgtrace: FILE: no file named; borgtrace dialect sniff FILE > own.toml\n"
    )
    assert run("dialect", "sniff", tmp_path / "none.csv") == 3
    assert (
        capsys.readouterr().err == f"borgtrace: {tmp_path}/none.csv: no such file; check the path\n"
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    write_cell(folder / "raw")
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.mark.parametrize(
    ("words", "out"), [((), "http://x/\n"), (("--json",), '{"url": "http://x/"}\n')]
)
def test_the_explorer_prints_its_address_and_says_that_it_stopped(
    store: Path,
    words: tuple[str],
    out: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: dict[str, Any] = {}

    def serve(trace: object, port: int, *, ready: Callable[[str], None], **more: object) -> None:
        asked.update(port=port, **more)
        ready("http://x/")
        raise KeyboardInterrupt

    monkeypatch.setattr("borgtrace.explore.server.serve", serve)
    assert run("explore", store, "--port", 8321, "--no-browser", *words) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == (out, "Press Ctrl-C to stop.\nStopped.\n")
    assert asked == {"port": 8321, "browser": False, "at": "/"}


def test_a_forecast_is_asked_with_what_the_options_say(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr(
        "borgtrace.cli._answers.ask",
        lambda question, store, given, **_: asked.append((question, given)),
    )
    assert run("forecast", store) == 0
    chosen = (
        "--forecaster",
        "persistence",
        "--forecaster",
        "mean",
        "--resource",
        "cpu",
        "--tasks",
        9,
        "--folds",
        2,
    )
    files = ("--save", tmp_path / "new", "--model", tmp_path / "old")
    assert run("forecast", store, "--pack", *chosen, *files, "--examples", 70, "--seed", 5) == 0
    assert asked == [
        (
            FORECAST,
            {"tasks": 10_000, "folds": 3, "examples": 50_000, "seed": 0, "save": "", "model": ""},
        ),
        (
            PACKED,
            {
                **{"tasks": 9, "folds": 2, "examples": 70, "seed": 5},
                **{"save": str(tmp_path / "new"), "model": str(tmp_path / "old")},
                **{"forecasters": ("persistence", "mean"), "resources": ("cpu",)},
            },
        ),
    ]


def test_a_generation_is_refused_before_a_store_is_fitted(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[object] = []
    monkeypatch.setattr(
        "borgtrace.analyses.fidelity.likeness.fit",
        lambda *given: begun.append(given) or Mock(note="fitted"),
    )
    assert run("synth", tmp_path / "twin", "--like", store, "--generation", "2012") == 2
    assert (
        capsys.readouterr().err
        == "borgtrace: --generation: unknown value: expected one of 2011, 2019, got '2012'\n"
    )
    assert begun == []


def test_an_export_to_a_full_folder_is_refused_before_anything_is_copied(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[object] = []
    monkeypatch.setattr("borgtrace.ingest.subset.subset", lambda *given: begun.append(given))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").touch()
    assert run("export", store, tmp_path / "out", "--tier", "free") == 2
    assert capsys.readouterr().err == (
        f"borgtrace: {tmp_path / 'out'}: holds something else: expected a new folder, got 1 entries; "
        "name another folder, or remove this one\n"
    )
    assert begun == []


def test_options_that_choose_tasks_are_added_to_those_of_a_command() -> None:
    asked: list[object] = []

    # Annotations are text in this file; a command line needs their types.
    def command(store: Path, *, criteria: dict[str, Any], rows: int = 3) -> None:
        asked.extend((store, criteria, rows))

    taking = takes_criteria(command)
    options = inspect.signature(taking).parameters
    assert {
        name: (options[name].annotation, options[name].default)
        for name in ("rows", "user", "fraction", "seed")
    } == {"rows": (int, 3), "user": (str, ""), "fraction": (float | None, None), "seed": (int, 0)}
    assert options["store"].annotation is Path
    assert "criteria" not in options
    texts = {
        "jobs": "5,7-8",
        "machines": "",
        "time": "1s..2s",
        "tier": "free,other",
        "priority": "9",
        "user": "u",
    }
    texts |= {"scheduling_class": "0-1", "end_type": "KILL", "where": ""}
    taking(store=Path("s"), rows=4, **texts, fraction=0.5, seed=6)
    assert asked == [
        Path("s"),
        {
            **{
                "jobs": (5, 7, 8),
                "machines": (),
                "time": (1_000_000, 2_000_000),
                "tiers": ("free", "other"),
            },
            **{
                "priorities": (9,),
                "scheduling_classes": (0, 1),
                "users": ("u",),
                "end_types": ("KILL",),
            },
            **{"where": None, "fraction": 0.5, "seed": 6},
        },
        4,
    ]


def test_only_what_is_not_explained_is_looked_into(store: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(store, tmp_path / "copy")
    (copy / "tasks" / "part-00000.parquet").write_bytes(b"PAR1")
    failed = ValueError("no magic bytes")
    assert isinstance(damage_behind(failed, copy), StoreError)
    # A store that is whole, a folder that is none, no folder at all.
    assert damage_behind(failed, store) is None
    assert damage_behind(failed, tmp_path) is None
    assert damage_behind(failed, None) is None
    # What a command refuses, and what it says of a store itself, needs no further reason.
    assert damage_behind(UsageError("--where", "wrong"), copy) is None
    assert damage_behind(StoreError("store", "damaged"), copy) is None
    # An engine's error may come from a damaged file, but for what it says of the query.
    for cause, is_damage in (
        (OSError("truncated"), True),
        (OSError("Binder Error: no column"), False),
    ):
        error = EngineError("query", "failed")
        error.__cause__ = cause
        assert isinstance(damage_behind(error, copy), StoreError) == is_damage


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_place_that_cannot_be_written_to_is_named(number: int) -> None:
    told = _not_writable(OSError(number, "Permission denied", "/etc/x"))
    assert str(told) == "/etc/x: permission denied; choose another place, or open this one"


def test_other_errors_are_not_about_writing() -> None:
    assert _not_writable(OSError(errno.ENOENT, "No such file")) is None
    assert _not_writable(ValueError("x")) is None


def test_numbers_of_things() -> None:
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


@pytest.mark.parametrize(
    ("column", "whole", "least"),
    [
        (Column("n", ["x" * 20]), 20, 16),
        (Column("n", ["x" * 9]), 9, 9),
        # A number is never cut, a heading is.
        (Column("n", ["1" * 20], True), 20, 20),
        (Column("n" * 30, ["1"], True), 30, 16),
        (Column("n" * 9, []), 9, 9),
    ],
)
def test_how_narrow_a_column_may_be(column: Column, whole: int, least: int) -> None:
    assert (column.whole, column.least) == (whole, least)


@pytest.mark.parametrize(
    ("sizes", "width", "shown"),
    [
        # Two columns of 10 and the gap are 22.
        ((10, 10), 22, [(0, 10), (1, 10)]),
        ((50, 50), 34, [(0, 16), (1, 16)]),
        ((50, 50), 33, [(0, 30), (None, 1)]),
        ((50, 50, 50, 50), 56, [(0, 17), (1, 16), (None, 1), (3, 16)]),
        # Up to 40 from left to right, then what is left.
        ((60, 60), 112, [(0, 60), (1, 50)]),
        ((60, 60), 90, [(0, 48), (1, 40)]),
        ((), 80, []),
    ],
)
def test_columns_share_a_line(
    sizes: tuple[int], width: int, shown: list[tuple[int | None, int]]
) -> None:
    assert fitted([Column("n", ["x" * size]) for size in sizes], width) == shown


def test_synth_tells_the_rows_of_each_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(
            "synth", tmp_path / "out", "--machines", 2, "--hours", 0.5, "--tables", "machine_events"
        )
        == 0
    )
    # Two machines and an event of each at least.
    (part,) = (tmp_path / "out" / "machine_events").iterdir()
    rows = len(gzip.decompress(part.read_bytes()).splitlines())
    assert rows >= 2
    assert f"  machine_events: {rows} rows" in capsys.readouterr().err.splitlines()


def test_a_folder_that_is_no_synthetic_trace_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("synth", tmp_path, "--check") == 2
    assert capsys.readouterr().err == (
        f"borgtrace: {tmp_path}: not a synthetic trace: expected a folder with truth.json; "
        "make one with `borgtrace synth`\n"
    )


def test_simulate_draws_no_images_without_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("simulate", tmp_path, "--png") == 2
    assert (
        capsys.readouterr().err == "borgtrace: --png: no folder to write to; name one: --out DIR\n"
    )
