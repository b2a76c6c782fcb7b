"""The store that the tests of exports share with those of datasets."""

from __future__ import annotations

from tests.datasets.conftest import store, synthetic_store

__all__ = ["store", "synthetic_store"]
