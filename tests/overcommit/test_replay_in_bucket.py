"""Overcommit on Spark over a store in a bucket: usage by machine is made by the workers, and stays there."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import clustering
from borgtrace.synth import generate
from tests.bucket import Bucket, known_to, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# pyspark leaves its sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

URL = "s3://cells/store"
OPTIONS = ("--horizon", "1h", "--resource", "cpu", "--policy", "limit", "--policy", "nsigma")


@pytest.fixture(scope="module")
def bucket(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket with a store of several files, and workers that share nothing else."""
    folder = tmp_path_factory.mktemp("overcommit bucket")
    with pytest.MonkeyPatch.context() as patch, serving(folder / "s3", "cells", patch) as made:
        known_to(spark, patch)
        environment = spark.sparkContext.environment
        patch.setitem(environment, "XDG_CACHE_HOME", str(folder / "cache of a worker"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(clustering, "WORTH_SHARING", 500)
        generate(folder / "raw", "2011", machines=20, hours=4, seed=1)
        ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
        shutil.copytree(folder / "store", made.root / "store")
        yield made


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, str]:
    """Return the rows of an answer of the command, and what it said."""
    with suppress(SystemExit):
        main(["overcommit", *words, *OPTIONS, "--json", "--memory", "1GB"])
    printed, said = capsys.readouterr()
    return json.loads(printed)["rows"], said


def test_the_answer_is_that_of_this_machine_and_no_usage_comes_here(
    bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    here = bucket.root.parents[1] / "store"
    n_files = len(list((here / "instance_usage").iterdir()))
    assert n_files > 2
    expected, _ = answer(capsys, str(here))
    bucket.of_driver.clear()
    rows, said = answer(capsys, URL, "--engine", "local[2]")
    assert rows == expected
    assert rows
    assert "of the bucket, half of it kept" in " ".join(said.split())
    (kept,) = (here / "cache").glob("machines-*")
    (made,) = (bucket.root / "store" / "cache").glob("machines-*/*")
    assert digests_of(made) == digests_of(kept)
    read = [path.rpartition("/")[2] for method, path, _ in bucket.of_driver if method == "GET"]
    assert not [name for name in read if name.startswith(("rows-", "unsorted-", "terms"))]
    # Of usage it reads the footers when it opens the store, and the first one again for the names of columns.
    of_usage = [asked for _, path, asked in bucket.of_driver if "/instance_usage/" in path if asked]
    assert len(of_usage) <= n_files + 3


def digests_of(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "seal.json"
    }
