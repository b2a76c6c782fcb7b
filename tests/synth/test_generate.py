"""Generating a trace: the same bytes from the same seed, what can be asked for, what is left alone."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import UsageError
from borgtrace.schema.dialects import dialect
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth import generate
from borgtrace.synth.generate import measure_usage
from borgtrace.synth.measure.usage_windows import windows_of
from borgtrace.synth.model.machines import draw_machines
from borgtrace.synth.options import SynthOptions, part_bounds
from borgtrace.synth.simulate.event_log import Execution, TraceSegment
from borgtrace.synth.write.gzip_files import compressed
from borgtrace.synth.write.raw_files import PartFiles
from tests.synth.reading import digests, read_rows
from tests.synth.scripted import GOOGLE_2011, job_of


@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_same_seed_same_bytes_with_any_number_of_threads(tmp_path: Path, generation: str) -> None:
    made = [
        generate(
            tmp_path / name,
            generation,
            10,
            3,
            seed,
            jobs=jobs,
        )
        for name, seed, jobs in (("a", 1, 1), ("b", 1, 3), ("c", 2, 1))
    ]
    a, b, c = map(digests, made)
    assert a == b
    assert pq.read_table(made[0] / "truth.parquet").equals(pq.read_table(made[1] / "truth.parquet"))
    assert a.keys() == c.keys()
    assert not any(a[k] == c[k] for k in a if "usage" in k)


def test_progress_is_told_in_hours_and_rows(tmp_path: Path) -> None:
    told: list[tuple[float, int]] = []
    generate(
        tmp_path / "x",
        machines=1,
        hours=1,
        parts=3,
        progress=lambda hours, rows: told.append((hours, rows)),
    )
    # Twelve windows: four in each part.
    assert [hours for hours, _ in told] == pytest.approx([1 / 3, 2 / 3, 1])
    rows = read_rows(tmp_path / "x", "task_usage")
    assert [n for _, n in told] == sorted(n for _, n in told)
    assert told[-1][1] == len(list(rows)) > 0


def test_the_function_has_the_options_and_their_defaults() -> None:
    parameters = inspect.signature(generate).parameters
    for field in dataclasses.fields(SynthOptions):
        assert parameters[field.name].default == field.default
    assert parameters.keys() - {field.name for field in dataclasses.fields(SynthOptions)} == {
        "out",
        "progress",
    }


def test_a_month_has_the_parts_of_the_published_trace() -> None:
    assert len(part_bounds(29 * 24)) == 501


def test_tables_of_machines_are_one_file_however_many_parts(tmp_path: Path) -> None:
    names = ("task_events", "machine_events", "machine_attributes")
    machines = draw_machines(GOOGLE_2011, 2, 1)
    files = PartFiles(tmp_path, dialect("2011"), machines, names, 3)
    files.close()
    assert files.n_files == {
        "task_events": 3,
        "machine_events": 1,
        "machine_attributes": 1,
    }


def test_a_part_without_rows_is_no_file(tmp_path: Path) -> None:
    names = ("task_constraints", "machine_attributes")
    files = PartFiles(
        tmp_path,
        dialect("2011"),
        draw_machines(GOOGLE_2011, 2, 1),
        names,
        3,
    )
    for number, text in enumerate(("a\n", "", "b\n")):
        files.add("task_constraints", number, {0: compressed(text)}, len(text) // 2)
    files.close()
    written = sorted(path.name for path in (tmp_path / "task_constraints").iterdir())
    assert written == ["part-00000-of-00003.csv.gz", "part-00002-of-00003.csv.gz"]
    # As many as the account of the trace says.
    assert files.n_files == {"task_constraints": 2, "machine_attributes": 1}
    assert "part-00001" not in (tmp_path / "SHA256SUM").read_text()


def test_usage_of_a_part_is_one_piece() -> None:
    run = Execution(job_of().tasks[0], 0, TRACE_START, TRACE_START + 600 * SECOND)
    windows = windows_of(
        TraceSegment(
            0,
            TRACE_START,
            TRACE_START + 600 * SECOND,
            executions=[run],
        ),
        np.array([5]),
    )
    pieces, blocks = measure_usage(windows, SynthOptions(machines=1, hours=1))
    assert (list(pieces), blocks.n_rows) == ([0], 2)


def test_one_table_alone(tmp_path: Path) -> None:
    out = generate(
        tmp_path / "x",
        machines=3,
        hours=1,
        tables=("job_events",),
    )
    assert sorted(p.name for p in out.iterdir()) == [
        "SHA256SUM",
        "job_events",
        "schema.csv",
        "truth.json",
        "truth.parquet",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machines": 0}, "--machines: out of range: expected 1 to 1,000,000, got 0"),
        ({"hours": -1}, "--hours: out of range: expected 0.0833 to 10,000, got -1"),
        (
            {"generation": "2015"},
            "--generation: unknown value: expected one of 2011, 2019, got '2015'",
        ),
        (
            {"generation": "2019", "cell": "z"},
            "--cell: unknown value: expected one of a, b, c, d, e, f, g, h, got 'z'",
        ),
        ({"seed": -1}, "--seed: out of range: expected 0 to 4,294,967,295, got -1"),
    ],
)
def test_bad_options_say_what_is_allowed_and_write_nothing(
    tmp_path: Path,
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(UsageError) as caught:
        generate(tmp_path / "out", **options)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        generate(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]


def test_what_a_killed_run_left_behind_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / "out.4711.incomplete"
    left.mkdir()
    (left / "truth.json").touch()
    generate(tmp_path / "out", machines=2, hours=1)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_an_apostrophe_gets_the_same_truth(tmp_path: Path) -> None:
    plain, quoted = (
        generate(
            tmp_path / name,
            machines=3,
            hours=1,
            jobs=1,
        )
        for name in ("its", "it's")
    )
    assert pq.read_table(quoted / "truth.parquet").equals(pq.read_table(plain / "truth.parquet"))
