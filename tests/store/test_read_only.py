"""A store that may only be read answers; what would have to be written says so in one line."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from borgtrace.engine import embedded
from borgtrace.errors import EngineError
from borgtrace.ingest import IngestOptions, ingest
from tests.conftest import Commands
from tests.ingest.raw import write_cell


@pytest.fixture(scope="module")
def closed() -> Iterator[Path]:
    """A folder with a store and its raw files that nobody may write to, in a place that all may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ingest([write_cell(folder / "raw")], folder / "store", IngestOptions(jobs=1))
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield folder
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run commands without the rights of root, and without a home."""
    environment = {**os.environ, "HOME": "/nonexistent"}
    programs = commands(tmp_path_factory.mktemp("commands") / "bin", is_root=False)
    return lambda folder, *words: subprocess.run(
        [programs / "borgtrace", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _written(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize(
    "words",
    [
        ("info", "store"),
        ("sql", "store", "select count(*) as n from tasks"),
        ("trace", "store", "10", "0"),
        ("analyze", "store", "job_durations"),
        ("analyze", "store", "job_durations", "--where", "priority >= 0"),
    ],
    ids=" ".join,
)
def test_a_store_that_may_only_be_read_answers(
    closed: Path, run: Run, words: tuple[str, ...]
) -> None:
    before = _written(closed)
    done = run(closed, *words)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout or done.stderr
    assert _written(closed) == before


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("report", "store", "page.html", "job_durations"), "page.html"),
        (("analyze", "store", "job_durations", "--out", "answers"), "answers"),
        (("ingest", "raw", "--store", "store"), "store/.lock"),
        (("ingest", "raw", "--store", "other"), "other"),
    ],
    ids=str,
)
def test_a_place_that_cannot_be_written_to_is_named_in_one_line(
    closed: Path,
    run: Run,
    words: tuple[str, ...],
    place: str,
) -> None:
    done = run(closed, *words)
    assert done.returncode == 2, done.stderr
    message = done.stderr.splitlines()[-1]
    assert message.startswith(f"borgtrace: {place}")
    assert message.endswith(": permission denied; choose another place, or open this one")
    assert "Traceback" not in done.stderr


def test_without_a_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(EngineError) as caught:
        embedded.raw_connection()
    assert str(caught.value) == (
        "temporary folder: none can be written to; set TMPDIR to a folder that can be written to"
    )


def test_an_array_of_a_store_that_cannot_be_written_to_is_kept_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import borgtrace

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    ingest([write_cell(tmp_path / "raw")], tmp_path / "store", IngestOptions(jobs=1))
    # A file where a folder should be cannot be written into, not even by root.
    (tmp_path / "store" / "cache").touch()
    assert borgtrace.open(tmp_path / "store").array("maximum_cpu").shape == (1,)
    assert list((tmp_path / "mine" / "borgtrace").rglob("maximum_cpu.npy"))
