"""Files that are opened ahead of the threads that read them are closed, whatever happens to the epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace import datasets
from borgtrace.datasets import Dataset, DatasetOptions, Split, build, dataset

from .stores import array_store

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the system does not list open files"
)


def open_files(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open."""
    targets = []
    for link in Path("/proc/self/fd").iterdir():
        # That of the listing itself is closed by now.
        if link.is_symlink():
            targets.append(str(link.readlink()))
    return [target for target in targets if target.startswith(str(folder))]


@pytest.fixture
def found(tmp_path: Path) -> Dataset:
    """Eighty traces in eight files."""
    options = DatasetOptions(shards=8, split=Split((1.0,)))
    build(array_store([5] * 80), tmp_path / "dataset", options)
    return datasets.open(tmp_path / "dataset")


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("run_bytes", [1, 4_000_000])
def test_an_epoch_closes_its_files(
    found: Dataset, monkeypatch: pytest.MonkeyPatch, threads: int, run_bytes: int
) -> None:
    monkeypatch.setattr(dataset, "RUN_BYTES", run_bytes)
    (traces,) = found.values()
    assert len(traces.paths) == 8
    assert sum(len(batch) for batch in traces.batches(4, threads=threads)) == 80
    begun = traces.batches(4, threads=threads)
    next(begun)
    # Who stops early drops the iterator.
    del begun
    assert not open_files(found.path)


@pytest.mark.parametrize("threads", [0, 2])
def test_a_file_that_is_gone_leaves_no_other_open(found: Dataset, threads: int) -> None:
    (traces,) = found.values()
    traces.paths[5].unlink()
    with pytest.raises(FileNotFoundError, match=traces.paths[5].name):
        list(traces.batches(4, threads=threads))
    assert not open_files(found.path)
