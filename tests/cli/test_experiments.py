"""The tasks of experiments: where they come from, what a service level means, and pools that cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.cli import experiments
from borgtrace.cli.experiments import (
    TaskSource,
    export_pool,
    ingest_own_usage,
    moments_of,
    names_of_collections,
    parse_target,
)
from borgtrace.colocation import Study, synthetic_pool
from borgtrace.errors import SourceError, StoreError, UsageError
from borgtrace.ingest import IngestOptions
from borgtrace.ingest.ingestion import PreparedIngest
from borgtrace.question import EngineTables, Provenance


def test_a_pool_that_cannot_be_made_names_its_store(tmp_path: Path) -> None:
    study = Study(EngineTables({}, Provenance("cell")))
    with pytest.raises(StoreError, match=r"^cell: no pool: "):
        export_pool(study, tmp_path / "pool", tasks=100, seed=0)
    assert not (tmp_path / "pool").exists()


@pytest.mark.parametrize(
    ("slo", "target"),
    [
        # Without rounding errors.
        ("0.999", 0.001),
        ("0.5", 0.5),
        # Of several tiers the strictest: the advice has one.
        ("production=0.999,free=0.95", 0.001),
    ],
)
def test_a_service_level_becomes_a_target(slo: str, target: float) -> None:
    assert parse_target(slo) == target


@pytest.mark.parametrize("slo", ["0.0", "1", "-0.5", "1.5", "high", ""])
def test_what_is_no_service_level_is_refused(slo: str) -> None:
    with pytest.raises(UsageError, match="not a service level"):
        parse_target(slo)


def test_tasks_by_their_moments_come_from_their_file(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("task,mean,std\na,0.5,0.25\n")
    source = TaskSource(moments=tmp_path / "tasks.csv")
    moments = moments_of(source, "", "1", tasks=1, seed=1)
    assert moments.task == ["a"]
    assert moments.mean.tolist() == [0.5]
    assert moments.std.tolist() == [0.25]


def test_only_tables_of_own_usage_name_their_collections() -> None:
    assert names_of_collections(Study(synthetic_pool(10, 0))) == {}
    assert names_of_collections(Study(EngineTables({}, Provenance("cell")))) == {}


@pytest.mark.parametrize(
    ("capacity", "size"),
    [
        ("8", "8cores"),
        ("1.5", "1.5cores"),
        ("8cores", "8cores"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_a_capacity_of_a_number_alone_is_one_of_cores(
    capacity: str,
    size: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    sizes: list[str] = []

    def prepare(usage: object, store: object, options: IngestOptions) -> PreparedIngest:
        sizes.append(options.capacity)
        raise SourceError("own.csv", "not to be read")

    monkeypatch.setattr(experiments, "prepare_ingest", prepare)
    with pytest.raises(SourceError):
        ingest_own_usage(tmp_path, tmp_path / "store", "auto", capacity)
    assert sizes == [size]
