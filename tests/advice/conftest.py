"""The advice about one invented cluster, made once."""

from __future__ import annotations

import pytest

from borgtrace.advice import Advice, advise
from borgtrace.interactive import Store
from tests.advice.cluster import cluster_store

SLOTS_PER_DAY = 288


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Three days of the invented cluster."""
    return cluster_store(tmp_path_factory.mktemp("cluster"), 3 * SLOTS_PER_DAY)


@pytest.fixture(scope="session")
def advice(shop: Store) -> Advice:
    """What is advised about them."""
    return advise(shop)
