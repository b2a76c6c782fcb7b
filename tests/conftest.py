"""What all tests share: the real trace parts, and one synthetic cell with its store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

_TRACE = Path(__file__).parents[2] / "shared" / "trace"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for what is known of stores that were opened before, in place of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def trace() -> Path:
    """Folder of real trace parts beside the project; skips where it is absent."""
    if not _TRACE.is_dir():
        pytest.skip("no real trace parts beside the project (../shared/trace)")
    return _TRACE


@pytest.fixture(scope="session")
def real_store(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of all real 2011 parts (worker-local; about 6 s)."""
    from borgtrace.ingest import IngestOptions, ingest

    store = tmp_path_factory.mktemp("real") / "store"
    ingest([trace / "clusterdata-2011-2"], store, IngestOptions(jobs=1))
    return store
