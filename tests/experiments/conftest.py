"""Three tiny synthetic stores, which differ in their seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate


@pytest.fixture(scope="package")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stores ``a``, ``b`` and ``c``: four machines over two hours each."""
    root = tmp_path_factory.mktemp("experiments")
    for seed, name in enumerate("abc"):
        raw = root / f"raw-{name}"
        generate(raw, "2011", machines=4, hours=2, seed=seed)
        ingest([raw], root / name, IngestOptions(jobs=1))
    return root
