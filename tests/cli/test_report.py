"""``borgtrace report`` and ``borgtrace trace --plot``: pages from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.cli import main


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.synth import generate

    folder = tmp_path_factory.mktemp("report")
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
        main([*map(str, arguments)])
    return int(ended.value.code or 0)


@pytest.mark.wide
def test_report_of_some_questions(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "r.html"
    assert run("report", store, page, "machine_shapes", "transitions", "utilization") == 0
    out, err = capfd.readouterr()
    assert out == f"{page}\n"
    assert err == f"3 questions, 3 charts, {page.stat().st_size / 1e6:.1f} MB\n"
    html = page.read_text()
    assert "SYNTHETIC" in html
    for name in ("machine-shapes", "transitions", "utilization"):
        assert f'<details class="question" id="{name}"' in html
    again = tmp_path / "again.html"
    assert run("report", store, again, "machine_shapes", "transitions", "utilization") == 0
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    assert capfd.readouterr().err == f"3 questions, 3 charts, {size}; 3 answers kept from before\n"
    assert again.read_bytes() == page.read_bytes()


def test_unknown_question_is_named(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("report", store, tmp_path / "r.html", "nothing") == 2
    assert "NAME: no such question: got nothing" in capfd.readouterr().err


def test_life_of_a_task(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import borgtrace

    query = (
        "select collection_id, instance_index from tasks where n_windows > 3 order by all limit 1"
    )
    (task,) = borgtrace.open(store).sql(query).to_pylist()
    page = tmp_path / "life.html"
    assert (
        run(
            "trace",
            store,
            str(task["collection_id"]),
            str(task["instance_index"]),
            "--plot",
            page,
        )
        == 0
    )
    assert capfd.readouterr().out == f"{page}\n"
    assert f"<h1>Task {task['collection_id']}:{task['instance_index']}</h1>" in page.read_text()
