"""A dataset for those who publish it: loaded by Hugging Face, validated by Croissant and by DataCite's schema."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Selection, Split, build
from borgtrace.datasets.citation import datacite
from borgtrace.datasets.metadata import Metadata, read
from borgtrace.datasets.publishing import croissant, front_matter
from borgtrace.schema import Dialect
from borgtrace.schema.dialects import PUBLISHED, dialect
from tests.datasets.stores import array_store

SIZES = {"train": 12, "validation": 3, "test": 5}
HUGGING_FACE = """
import json, sys
from datasets import load_dataset
by_folder = load_dataset("parquet", data_dir=sys.argv[1])
by_card = load_dataset(sys.argv[1])
first = by_folder["train"][0]
print(json.dumps([
    {name: part.num_rows for name, part in by_folder.items()},
    {name: part.num_rows for name, part in by_card.items()},
    first,
]))
"""
CROISSANT = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1] + "/croissant.json")
issues = dataset.metadata.ctx.issues
records = [
    {name: value.tolist() if hasattr(value, "tolist") else value for name, value in record.items()}
    for record in dataset.records("testing")
]
print(json.dumps([sorted(issues.errors), sorted(issues.warnings), records]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty traces of five windows and more, in three sets."""
    path = tmp_path_factory.mktemp("published") / "set"
    options = DatasetOptions(
        format="parquet",
        selection=Selection(min_length=5),
        split=Split((0.6, 0.15, 0.25), by="task"),
    )
    build(array_store([5 + n % 3 for n in range(20)]), path, options)
    return path


def answer_of(code: str, folder: Path, home: Path) -> Any:
    """Run code in a process of its own, offline: what these libraries import warns, and must not meet our filters."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "HF_DATASETS_OFFLINE": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **offline},
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.ParquetDataset(folder / name).read().to_pylist()


@pytest.mark.wide
def test_hugging_face_loads_the_folder(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="the library datasets is not installed")
    by_folder, by_card, first = answer_of(HUGGING_FACE, folder, tmp_path)
    assert by_folder == SIZES
    # The card has the names of our sets.
    assert by_card == {"training": 12, "validation": 3, "testing": 5}
    assert first == rows_of(folder, "training")[0]


def test_the_card_is_valid(folder: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    card = hub.DatasetCard.load(folder / "README.md")
    facts = card.data.to_dict()
    # The cell is synthetic, so it is not what Google published under a license.
    assert facts["license"] == "other"
    assert "synthetic" in facts["tags"]
    assert facts["pretty_name"] == (
        "Usage of tasks over time: synthetic cell in the format of Google cluster trace 2011"
    )
    assert [one["split"] for one in facts["configs"][0]["data_files"]] == [
        "training",
        "validation",
        "testing",
    ]
    assert card.text.lstrip().startswith("# Traces of tasks for learning")


@pytest.mark.wide
def test_croissant_validates_the_metadata_and_reads_the_records(
    folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    errors, warnings, records = answer_of(CROISSANT, folder, tmp_path)
    assert errors == []
    # Nothing in a dataset depends on the time at which it is made, and a synthetic trace has no license.
    assert [
        warning
        for warning in warnings
        if "datePublished" not in warning and "/license" not in warning
    ] == []
    expected = rows_of(folder, "testing")
    assert len(records) == len(expected)
    for record, row in zip(records, expected, strict=True):
        assert record["testing/collection_id"] == row["collection_id"]
        assert record["testing/average_cpu"] == pytest.approx(row["average_cpu"])


def test_the_terms_of_datacite_are_kept(folder: Path) -> None:
    schema = pytest.importorskip("datacite.schema45", reason="datacite is not installed")
    facts = datasets.open(folder).datacite(
        creators=["Lovelace, Ada"], publisher="Zenodo", year=2026
    )
    schema.validate(facts)
    assert facts["creators"] == [{"name": "Lovelace, Ada"}]
    assert "rightsIdentifier" not in facts["rightsList"][0]
    # 7 × 5 + 7 × 6 + 6 × 7 windows.
    assert facts["sizes"] == ["20 traces", "119 windows"]
    assert {one["relationType"] for one in facts["relatedIdentifiers"]} == {"IsDerivedFrom"}


def recorded(folder: Path) -> Metadata:
    """Return the metadata as if the trace had been recorded."""
    about = read(folder)
    about.raw["store"]["synthetic"] = None
    return about


@pytest.mark.parametrize("trace_format", PUBLISHED, ids=lambda one: one.name)
def test_a_license_is_named_only_where_the_publisher_names_it(
    folder: Path, trace_format: Dialect
) -> None:
    about = recorded(folder)
    names_it = "CC-BY 4.0" in (trace_format.licence or "")
    assert ('license: "cc-by-4.0"' in front_matter(about, trace_format)) == names_it
    assert ("license" in croissant(about, trace_format)) == names_it
    cited = datacite(about, trace_format, creators=["A"], publisher="B", year=2026)
    assert ("rightsIdentifier" in cited["rightsList"][0]) == names_it
    # None of it for a synthetic cell in the same format.
    assert "license" not in croissant(read(folder), trace_format)


def test_a_hostile_cell_stays_a_value(folder: Path) -> None:
    about = read(folder)
    about.raw["store"]["cell"] = 'a"\n---\nlicense: mit\n'
    head = front_matter(about, dialect("2011"))
    assert head.count("\n---\n") == 1
    assert "\nlicense: mit" not in head
