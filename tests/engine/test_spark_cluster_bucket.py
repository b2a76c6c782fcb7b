"""A worker that is lost while usage is sorted by machine in a bucket: the files are those of this machine."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from tests.bucket import Bucket, serving
from tests.engine.test_spark_cluster import (  # noqa: F401 - fixtures
    begin,
    busy_executor,
    lose_worker,
    replacements,
)
from tests.question.test_cluster import master  # noqa: F401 - the cluster, as a fixture

pytestmark = pytest.mark.scale


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("bucket")
    with pytest.MonkeyPatch.context() as patch, serving(folder / "s3", "cells", patch) as made:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        generate(folder / "raw", "2011", 24, 6.0, 1)
        ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
        shutil.copytree(folder / "store", made.root / "store")
        yield made


# The bucket first: workers get the environment in which they start.
@pytest.mark.parametrize("moment", ["pieces/*/terms", "rows-*"])
def test_a_worker_that_is_lost_while_usage_is_sorted(
    bucket: Bucket,
    master: str,  # noqa: F811
    replacements: list[subprocess.Popen[bytes]],  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    moment: str,
) -> None:
    here = bucket.root.parents[1] / "store"
    shutil.rmtree(bucket.root / "store" / "cache", ignore_errors=True)
    words = ["--horizon", "1h", "--json"]
    process = begin("overcommit", f"{bucket.url}/store", *words, "--engine", master)
    executor = busy_executor(tmp_path.parent, process)
    while not list(bucket.root.glob(f"store/cache/*/*/{moment}")):
        assert process.poll() is None, process.communicate()[1][-2000:]
        time.sleep(0.005)
    lose_worker(master, executor, replacements)
    printed, said = process.communicate(timeout=900)
    assert process.returncode == 0, said[-3000:]
    with suppress(SystemExit):
        main(["overcommit", str(here), *words, "--memory", "900MB"])
    answers = [json.loads(text) for text in (capsys.readouterr().out, printed)]
    for answer in answers:
        del answer["provenance"]
    assert answers[0]["rows"]
    assert answers[1] == answers[0]
    (kept,) = (here / "cache").glob("machines-*")
    (made,) = (bucket.root / "store" / "cache").glob("machines-*/*")
    assert digests_of(made) == digests_of(kept)


def digests_of(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "seal.json"
    }
