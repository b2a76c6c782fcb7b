"""Three columns of own data in every file and archive that holds a table; all of them are the same rows."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from typing import Any, Literal

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq

THREE_COLUMNS = "task,time,cpu\nweb,0,4\nweb,300,2\n7,0,1\nweb,550,8\n"


def parquet_file() -> bytes:
    """Return the rows as a Parquet file."""
    table = pa.table(
        {
            "task": ["web", "web", "7", "web"],
            "time": [0, 300, 0, 550],
            "cpu": [4.0, 2.0, 1.0, 8.0],
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _json() -> str:
    lines = [line.split(",") for line in THREE_COLUMNS.splitlines()[1:]]
    return "".join(
        f'{{"task": "{task}", "time": {time}, "cpu": {cpu}, "more": 1}}\n'
        for task, time, cpu in lines
    )


def _table() -> pa.Table:
    return pq.read_table(io.BytesIO(parquet_file()))


def _feather() -> bytes:
    buffer = io.BytesIO()
    pyarrow.feather.write_feather(_table(), buffer)
    return buffer.getvalue()


def _arrow_stream() -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, _table().schema) as writer:
        writer.write_table(_table())
    return buffer.getvalue()


def _sqlite() -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE measured (task TEXT, time INTEGER, cpu REAL)")
        lines = [line.split(",") for line in THREE_COLUMNS.splitlines()[1:]]
        database.executemany("INSERT INTO measured VALUES (?, ?, ?)", lines)
        database.commit()
        return database.serialize()


def _orc() -> bytes:
    buffer = io.BytesIO()
    pyarrow.orc.write_table(_table(), buffer)
    return buffer.getvalue()


RECORDS: list[dict[str, Any]] = [json.loads(line) for line in _json().splitlines()]
# What pandas.DataFrame.to_json writes of the rows in each orient, and other tools of the same.
JSON_DOCUMENTS: dict[str, Any] = {
    "records": RECORDS,
    "split": {
        "columns": ["task", "time", "cpu"],
        "index": [0, 1, 2, 3],
        "data": [["web", 0, 4], ["web", 300, 2], ["7", 0, 1], ["web", 550, 8]],
    },
    "index": {str(number): record for number, record in enumerate(RECORDS)},
    "columns": {
        "task": {"0": "web", "1": "web", "2": "7", "3": "web"},
        "time": {"0": 0, "1": 300, "2": 0, "3": 550},
        "cpu": {"0": 4, "1": 2, "2": 1, "3": 8},
    },
    "table": {
        "schema": {
            "fields": [{"name": "index", "type": "integer"}, {"name": "task", "type": "string"}],
            "primaryKey": ["index"],
            "pandas_version": "1.4.0",
        },
        "data": [{"index": number, **record} for number, record in enumerate(RECORDS)],
    },
    "lists": {"task": ["web", "web", "7", "web"], "time": [0, 300, 0, 550], "cpu": [4, 2, 1, 8]},
    "header": [["task", "time", "cpu"], ["web", 0, 4], ["web", 300, 2], [7, 0, 1], ["web", 550, 8]],
    "data": {"data": RECORDS, "total": 4},
    "items": {"kind": "measured", "result": {"items": RECORDS}},
    "rows": {"rows": RECORDS},
    "fields": {
        "fields": [{"name": "task"}, {"name": "time"}, {"name": "cpu"}],
        "rows": [["web", 0, 4], ["web", 300, 2], ["7", 0, 1], ["web", 550, 8]],
    },
}


def _documents(*documents: Any) -> str:
    return "\n".join(json.dumps(document) for document in documents)


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README", "What was measured.")
        archive.writestr("__MACOSX/week/._own.csv", b"\0")
        archive.writestr("week/own.csv", THREE_COLUMNS)
    return buffer.getvalue()


def _tar(mode: Literal["w", "w:gz", "w:xz"]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        info = tarfile.TarInfo("week/own.csv")
        info.size = len(THREE_COLUMNS)
        archive.addfile(info, io.BytesIO(THREE_COLUMNS.encode()))
    return buffer.getvalue()


CONTAINERS: dict[str, str | bytes] = {
    "own.csv": THREE_COLUMNS,
    "quoted.csv": '"task","time","cpu"\n"web","0","4"\nweb,300,2\n"7",0,1\nweb,550,"8"\n',
    "own.csv.gz": gzip.compress(THREE_COLUMNS.encode()),
    "own.csv.zst": pa.compress(THREE_COLUMNS.encode(), codec="zstd", asbytes=True),
    "own.parquet": parquet_file(),
    "own.json": _json(),
    "own.feather": _feather(),
    "own.arrows": _arrow_stream(),
    "own.db": _sqlite(),
    "own.csv.bz2": bz2.compress(THREE_COLUMNS.encode()),
    "own.csv.xz": lzma.compress(THREE_COLUMNS.encode()),
    "own.csv.lz4": pa.compress(THREE_COLUMNS.encode(), codec="lz4", asbytes=True),
    "own.zip": _zip(),
    "own.tar": _tar("w"),
    "own.tar.gz": _tar("w:gz"),
    "own.tar.xz": _tar("w:xz"),
    "semicolons.csv": THREE_COLUMNS.replace(",", ";"),
    "tabs.tsv": THREE_COLUMNS.replace(",", "\t"),
    "bars.csv": THREE_COLUMNS.replace(",", "|"),
    "quoted semicolons.csv": THREE_COLUMNS.replace(",", ";").replace("web", '"web"'),
    "own.orc": _orc(),
    **{f"{orient}.json": json.dumps(document) for orient, document in JSON_DOCUMENTS.items()},
    **{
        f"indented {orient}.json": json.dumps(document, indent=2)
        for orient, document in JSON_DOCUMENTS.items()
    },
    "array.json.gz": gzip.compress(json.dumps(RECORDS).encode()),
    "marked.json": b"\xef\xbb\xbf" + json.dumps(RECORDS).encode(),
    "utf-16.json": json.dumps(RECORDS).encode("utf-16"),
    "array on lines.json": "[\n" + ",\n".join(json.dumps(record) for record in RECORDS) + "\n]\n",
    "several arrays.json": _documents(RECORDS[:1], RECORDS[1:]),
    "several answers.json": _documents({"items": RECORDS[:2]}, {"items": RECORDS[2:]}),
    "utf-16.csv": THREE_COLUMNS.encode("utf-16"),
    "utf-16 semicolons.csv.gz": gzip.compress(THREE_COLUMNS.replace(",", ";").encode("utf-16")),
}
