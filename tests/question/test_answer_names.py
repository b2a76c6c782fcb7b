"""Rows of an answer by the names that a store knows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from borgtrace.notation import Names
from borgtrace.question.answer_names import with_names
from borgtrace.schema import Column, Table
from tests.notation.cluster import named_cluster

ANSWER = Table(
    "answer",
    "job",
    ("collection_id",),
    (
        Column("collection_id", "int64", "id", "The job."),
        Column("machine_id", "int64", "id", "Its machine.", nullable=True),
    ),
)


def test_names_stand_first_and_ids_in_brackets(tmp_path: Path) -> None:
    store = named_cluster(tmp_path)
    (row,) = store.sql("""
        select collection_id, min(collection_name) as job
        from collection_events
        where collection_name is not null
        group by all
        order by all
        limit 1
    """).to_pylist()
    (machine,) = store.sql("""
        select machine_id, value as name
        from machine_attributes
        where name = 'name'
        order by value
        limit 1
    """).to_pylist()
    ids = [
        {"collection_id": row["collection_id"], "machine_id": machine["machine_id"]},
        {"collection_id": row["collection_id"], "machine_id": None},
    ]
    schema = pa.schema([("collection_id", pa.int64()), ("machine_id", pa.int64())])
    rows, declared = with_names(pa.Table.from_pylist(ids, schema), ANSWER, Names(store))
    job = f"{row['job']} ({row['collection_id']})"
    assert rows["collection_id"].to_pylist() == [job, job]
    assert rows["machine_id"].to_pylist() == [f"{machine['name']} ({machine['machine_id']})", None]
    assert [column.type for column in declared.columns] == ["string", "string"]
