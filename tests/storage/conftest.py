from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bucket import Bucket, serving


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as bucket:
        yield bucket
