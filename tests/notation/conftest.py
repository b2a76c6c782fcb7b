"""What the tests of names, amounts and times share."""

from __future__ import annotations

import pytest

from borgtrace.store import Store
from tests.notation.cluster import named_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return named_cluster(tmp_path_factory.mktemp("cluster"))
