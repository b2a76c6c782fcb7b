"""Pools and tables of moments with something wrong: read, or refused in words."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.colocation.packing.from_moments import read_moments
from borgtrace.colocation.tasks.pool_file import read_pool
from borgtrace.errors import BorgtraceError, SourceError
from tests.ingest.test_mutated_files import MUTATIONS

COUNTS = [40, pytest.param(2_000, marks=pytest.mark.scale)]
MOMENTS = {"task": ["a", "b"], "mean": [0.5, 0.25], "std": [0.1, 0.1], "request": [1.0, 1.0]}
POOL = {"inst": [[0.5, 0.25], [0.5]], "avg": [[0.5, 0.25], [0.5]], "collection_id": [1, 2]}


def _parquet(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


INPUTS: dict[str, tuple[Callable[[Path], Any], bytes]] = {
    "moments.csv": (read_moments, b"task,mean,std,request\na,0.5,0.1,1\nb,0.25,0.1,1\n"),
    "moments.parquet": (read_moments, _parquet(MOMENTS)),
    "pool.parquet": (read_pool, _parquet(POOL)),
}


@pytest.mark.parametrize("n_tried", COUNTS)
@pytest.mark.parametrize("name", INPUTS)
def test_an_input_with_something_wrong(tmp_path: Path, name: str, n_tried: int) -> None:
    read, sound = INPUTS[name]
    rng = random.Random(37)
    path = tmp_path / name
    path.write_bytes(sound)
    read(path)
    n_refused = 0
    for _ in range(n_tried):
        path.write_bytes(rng.choice(MUTATIONS)(rng, sound))
        try:
            read(path)
        except BorgtraceError:
            n_refused += 1
    assert 0 < n_refused <= n_tried


@pytest.mark.parametrize("metadata", ["[1]", "{", '{"steps": [1]}', '{"part": {}}', '{"steps": 7}'])
def test_what_a_pool_says_of_itself_is_damaged(tmp_path: Path, metadata: str) -> None:
    path = tmp_path / "pool.parquet"
    table = pa.table(POOL).replace_schema_metadata({"borgtrace.pool": metadata})
    pq.write_table(table, path)
    with pytest.raises(SourceError) as caught:
        read_pool(path)
    assert str(caught.value).startswith(f"{path}: what the file says of its tasks is damaged; ")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "double.csv"
    path.write_text("task,mean,std,mean\na,1,1,2\n")
    with pytest.raises(SourceError) as caught:
        read_moments(path)
    assert str(caught.value) == (
        f"{path}: more than one column mean; "
        "give it columns task, mean, std, and maybe maximum and request"
    )
