"""``borgtrace colocate``: samples of Table 1, and draws from percentiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.colocation import read_pool
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate

pytestmark = pytest.mark.wide


def run(*arguments: object) -> int:
    """Exit code of the command."""
    with pytest.raises(SystemExit) as stop:
        main(["colocate", *map(str, arguments)])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module", params=["2011", "2019"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"cell{request.param}")
    generate(
        folder / "raw",
        generation=request.param,
        machines=12,
        hours=4,
        seed=5,
    )
    ingest([folder / "raw"], folder / f"store{request.param}", IngestOptions(jobs=1))
    return folder / f"store{request.param}"


def test_percentiles(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run("pool", store, "--percentiles", "--out", tmp_path / "pool")
    talk = capsys.readouterr().err
    if store.name == "store2011":
        message = "2011 publishes no percentiles of CPU usage; take the sampled second"
        assert (code, talk) == (2, f"borgtrace: {store}: {message}\n")
        return
    assert code == 0
    few = ("--experiment", "sum_normality", "--samples", 7, "--realizations", 200)
    assert run("--pool", tmp_path / "pool", *few) == 0
    from_file = capsys.readouterr().out
    assert run(store, "--percentiles", *few) == 0
    assert capsys.readouterr().out == from_file
    assert from_file.splitlines()[1].startswith("10,7,200,")
    assert run(store, *few) == 0
    assert capsys.readouterr().out != from_file


def test_short_and_failing_tasks_are_in_the_file_where_they_are_included(
    store: Path, tmp_path: Path
) -> None:
    sizes = {}
    for words in ("", "short", "short,failing"):
        included = ("--include", words) if words else ()
        assert run("pool", store, *included, "--out", tmp_path / "pool") == 0
        pool = read_pool(tmp_path / "pool")
        sizes[words] = len(pool)
        assert (pool.retried is None) == ("failing" not in words)
    assert sizes[""] < sizes["short"] < sizes["short,failing"]


def test_what_is_included_is_a_known_kind(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "--include", "long") == 2
    assert (
        capsys.readouterr().err
        == "borgtrace: --include: unknown name: expected short or failing, got long\n"
    )


def test_no_samples(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(store, "--samples", 0) == 2
    assert (
        capsys.readouterr().err
        == "borgtrace: --samples: out of range: expected 1 to 1,000,000, got 0\n"
    )


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one hour: no task can run for two."""
    folder = tmp_path_factory.mktemp("short")
    generate(
        folder / "raw",
        generation="2011",
        machines=4,
        hours=1,
        seed=2,
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def test_a_store_without_long_tasks(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(short, "--experiment", "packing_advice") == 0
    out, err = capsys.readouterr()
    assert "packing_advice: not applicable: no long task is left of " in err
    assert "nan" not in out.lower()
    assert run("pool", short, "--out", tmp_path / "pool") == 5
    assert capsys.readouterr().err.startswith(
        f"borgtrace: {short}: no pool: no long task is left of "
    )


def test_a_store_without_usage(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = short.parent / "raw"
    sources = [part for part in raw.rglob("part-*") if "task_usage" not in part.parts]
    ingest(sources, tmp_path / "store", IngestOptions(jobs=1))
    assert run("pool", tmp_path / "store", "--out", tmp_path / "pool") == 5
    message = "no pool: no task has usage; colocation needs a trace with usage"
    assert capsys.readouterr().err == f"borgtrace: {tmp_path / 'store'}: {message}\n"
    assert run(tmp_path / "store", "--experiment", "packing_base") == 0
    assert "not applicable: the store holds no rows of instance_usage" in capsys.readouterr().err
