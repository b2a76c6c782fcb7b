"""``borgtrace synth``: what it says of a trace, of its targets, and what it refuses."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.cli import main
from borgtrace.cli.commands.synth import print_check, print_targets
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import write_cell

Capture = pytest.CaptureFixture[str]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["synth", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_a_generation_is_refused_before_a_store_is_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    store = tmp_path / "store"
    ingest([write_cell(tmp_path / "raw")], store, IngestOptions(jobs=1))
    calls: list[object] = []
    monkeypatch.setattr(
        "borgtrace.analyses.fidelity.likeness.fit", lambda *given: calls.append(given)
    )
    assert (
        run(
            tmp_path / "twin",
            "--like",
            store,
            "--generation",
            "2012",
        )
        == 2
    )
    assert (
        capsys.readouterr().err
        == "borgtrace: --generation: unknown value: expected one of 2011, 2019, got '2012'\n"
    )
    assert calls == []


def test_it_tells_the_rows_of_each_table(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert run(out, "--machines", 2, "--hours", 0.5, "--tables", "machine_events") == 0
    # Two machines and an event of each at least.
    (part,) = (out / "machine_events").iterdir()
    rows = len(gzip.decompress(part.read_bytes()).splitlines())
    assert rows >= 2
    assert f"  machine_events: {rows} rows" in capsys.readouterr().err.splitlines()


def test_a_trace_that_was_made_says_where_its_answers_are(tmp_path: Path, capsys: Capture) -> None:
    assert (
        run(
            tmp_path / "made",
            "--machines",
            1,
            "--hours",
            1,
            "--seed",
            3,
        )
        == 0
    )
    lines = capsys.readouterr().err.splitlines()
    assert f"Synthetic trace, seed 3. Known answers: {tmp_path / 'made' / 'truth.json'}" in lines


def test_a_folder_that_is_no_synthetic_trace_is_not_checked(
    tmp_path: Path, capsys: Capture
) -> None:
    assert run(tmp_path, "--check") == 2
    assert capsys.readouterr().err == (
        f"borgtrace: {tmp_path}: not a synthetic trace: expected a folder with truth.json; "
        "make one with `borgtrace synth`\n"
    )


def test_a_trace_that_cannot_be_measured_says_why(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "truth.json").write_text("{}")
    nothing = SimpleNamespace(table=pa.table({}), not_applicable="no usage")
    question = SimpleNamespace(run=lambda store: nothing)
    monkeypatch.setattr("borgtrace.ingest.ingest", lambda *_: None)
    monkeypatch.setattr("borgtrace.catalog.find", lambda name: question)
    monkeypatch.setattr("borgtrace.open", lambda store, memory: store)
    print_check(tmp_path, "4GB", as_json=True)
    out, err = capsys.readouterr()
    assert (out, err) == ("[]\n", "not applicable: no usage\n")


def target(**changes: Any) -> dict[str, Any]:
    """A measured target, as a row of the question fidelity."""
    row = {
        "measure": "mean_cpu",
        "tier": "free",
        "published": 0.25,
        "measured": 0.3,
        "deviation": 0.2,
        "low": 0.1,
        "high": 0.35,
        "verdict": "fits",
        "grade": "A",
        "reference": "counted",
    }
    return {**row, **changes}


def test_targets_of_a_synthetic_trace(capsys: Capture) -> None:
    reported = target(
        deviation=None,
        low=None,
        high=None,
        verdict="reported",
        measured=None,
    )
    print_targets(
        [
            target(),
            reported,
            target(verdict="does not fit"),
        ]
    )
    _, first, second, _, total = capsys.readouterr().out.splitlines()
    assert first.split() == [
        "mean_cpu,",
        "free",
        "0.25",
        "0.3",
        "+20.0",
        "%",
        "0.1",
        "…",
        "0.35",
        "fits",
        "A:",
        "counted",
    ]
    assert second.split() == ["mean_cpu,", "free", "0.25", "–", "reported", "A:", "counted"]
    assert total == "1 of 2 judged targets fit"


def test_targets_have_four_digits(capsys: Capture) -> None:
    row = target(
        published=0.123456,
        measured=0.654321,
        deviation=0.1234,
        low=0.111111,
        high=0.222222,
    )
    print_targets([row])
    _, line, total = capsys.readouterr().out.splitlines()
    numbers = line.split()[2:9]
    assert numbers == ["0.1235", "0.6543", "+12.3", "%", "0.1111", "…", "0.2222"]
    assert total == "1 of 1 judged targets fit"
