"""Records of 2019 with random faults: what is stored, refused and counted is what a plain judge says."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest import declared_2011
from tests.ingest.declared_2019 import CODES, FIELDS, constraints_of, fields_of, judge
from tests.ingest.outcomes import SPELLINGS, declared_reasons, differences
from tests.ingest.raw import HASH, write_records

Pick = random.Random
_SCALARS: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    5,
    128,
    2**31,
    2**63,
    1.5,
    -0.5,
    1e39,
    0.1,
]
_OTHERS: list[Any] = [
    [],
    {},
    [1],
    [None],
    {"a": 1},
    "[1]",
]
_LINES = [
    "",
    " ",
    "{",
    "}",
    "null",
    "[]",
    "5",
    '"x"',
    "{}",
    '{"time"}',
    "NaN",
    "{'time': 1}",
    "x" * 50,
]
_ITEMS: list[Any] = [
    None,
    "x",
    5,
    {},
    {"relation": "1"},
    {"name": None},
    {"name": HASH, "much": 1},
]


def _right(kind: str, pick: Pick) -> Any:
    """Return a value that BigQuery could export."""
    kind = kind.partition("=")[0].rstrip("!")
    if kind in CODES:
        return str(pick.randrange(len(CODES[kind])))
    if kind.startswith("list"):
        length = int(kind.removeprefix("list"))
        values = sorted(pick.randrange(64) / 64 for _ in range(length))
        return pick.choice(
            [
                values,
                values,
                values,
                [],
                values[::-1],
            ]
        )
    texts = {
        "time": lambda: pick.choice(["0", str(pick.randrange(10**12)), str(2**63 - 1)]),
        "id": lambda: str(pick.randrange(1, 10**12)),
        "machine_id": lambda: str(pick.choice([5, 6, 10**10])),
        "alloc": lambda: pick.choice(["0", "7"]),
        "alloc_index": lambda: pick.choice(["-1", "0"]),
        "alloc_long": lambda: pick.choice(["-1", "0"]),
        "index": lambda: str(pick.randrange(400)),
        "class": lambda: str(pick.randrange(4)),
        "flag": lambda: pick.random() < 0.5,
        "amount": lambda: pick.choice([0, pick.randrange(2**10) / 2**9]),
        "unused": lambda: 0.5,
        "ids": lambda: [str(pick.randrange(10**6)) for _ in range(pick.randrange(3))],
        "constraints": lambda: [_constraint(pick) for _ in range(pick.randrange(3))],
    }
    return texts.get(kind, lambda: HASH)()


def _constraint(pick: Pick) -> dict[str, Any]:
    item = {
        "name": HASH,
        "value": pick.choice(["", "5"]),
        "relation": str(pick.randrange(8)),
    }
    # Protocol buffers leave out a relation of 0 and an empty value.
    return {key: value for key, value in item.items() if key == "name" or pick.random() < 0.7}


def _record(table: str, pick: Pick) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for path, kind, _ in fields_of(table):
        # NULL fields are left out.
        if not kind.endswith("!") and pick.random() < 0.2:
            continue
        root, _, name = path.partition(".")
        value = _right(kind, pick)
        if name:
            record.setdefault(root, {})[name] = value
        else:
            record[root] = value
    if table == "instance_usage" and pick.random() < 0.9:
        start = pick.randrange(10**12)
        record["start_time"], record["end_time"] = (
            str(start),
            str(start + pick.choice([300_000_000] * 9 + [1, -1])),
        )
    return record


def _spoil(table: str, record: dict[str, Any], pick: Pick) -> None:
    """Put something else in the place of one field."""
    path, kind, _ = pick.choice(fields_of(table))
    root, _, name = path.partition(".")
    if kind.startswith("list") and pick.random() < 0.6:
        length = int(kind.removeprefix("list"))
        value: Any = [0.5] * pick.choice(
            [
                length,
                length,
                length - 1,
                length + 1,
                20 - length,
            ]
        )
        value[pick.randrange(len(value))] = pick.choice([*_SCALARS, *SPELLINGS, []])
    elif kind == "constraints" and pick.random() < 0.6:
        relation = {"name": HASH, "relation": pick.choice([*SPELLINGS, *_SCALARS])}
        value = [_constraint(pick), pick.choice([*_ITEMS, relation, relation])]
    elif kind == "ids" and pick.random() < 0.6:
        value = ["5", pick.choice([*SPELLINGS, *_SCALARS])]
    elif kind.rstrip("!") == "text":
        value = pick.choice(
            [
                *SPELLINGS,
                None,
                True,
                5,
                "\0",
                "�",
            ]
        )
    elif kind == "unused":
        value = pick.choice([None, 0.5, 1])
    else:
        value = pick.choice(
            [
                *SPELLINGS,
                *SPELLINGS,
                *_SCALARS,
                *_OTHERS,
            ]
        )
    if not name:
        record[root] = value
    elif isinstance(record.setdefault(root, {}), dict):
        record[root][name] = value


def _faulty(table: str, record: dict[str, Any], pick: Pick) -> str:
    for _ in range(pick.choice([1, 1, 1, 2])):
        _spoil(table, record, pick)
    what = pick.randrange(20)
    roots = sorted({path.partition(".")[0] for path, _, _ in fields_of(table) if "." in path})
    if what == 0:
        record["unheard_of"] = 1
    elif what == 1 and roots:
        record[pick.choice(roots)] = pick.choice(
            [
                None,
                5,
                "x",
                [],
                {},
                {"gpus": 1},
            ]
        )
    elif what == 2:
        record.pop(pick.choice(sorted(record)))
    line = json.dumps(record, separators=(",", ":"))
    if what == 3:
        return pick.choice(
            [
                line[:-1],
                line + ",",
                line[: len(line) // 2],
                f" {line} ",
                pick.choice(_LINES),
            ]
        )
    # A key that comes twice, and fields in another order.
    if what == 4:
        key = pick.choice(sorted(record))
        return f'{{"{key}":{json.dumps(record[key])},{line[1:]}'
    return json.dumps(dict(pick.sample(sorted(record.items()), len(record)))) if what == 5 else line


def _files(
    table: str,
    large: int,
    lines: int,
    small: int,
    pick: Pick,
) -> Iterable[list[str]]:
    """Yield the lines of files: `large` ones full of faults, and `small` ones with a single doubtful record."""
    for number in range(large + small):
        records = [_record(table, pick) for _ in range(lines if number < large else 10)]
        rows = [json.dumps(record, separators=(",", ":")) for record in records]
        for place in range(1, len(rows)) if number < large else [pick.randrange(1, 10)]:
            if number >= large or pick.random() < 0.5:
                rows[place] = _faulty(table, records[place], pick)
        yield rows


def _count_odd(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    rows = list(rows)
    odd = declared_2011.count_odd(rows, is_in_order=False)
    for row in rows:
        for name in ("cpu_usage_distribution", "tail_cpu_usage_distribution"):
            if name in row:
                odd["percentiles_empty"] += not row[name]
                odd["percentiles_unordered"] += sorted(row[name] or []) != (row[name] or [])
    return odd


def _compare(
    folder: Path,
    large: int,
    lines: int,
    small: int,
) -> tuple[int, list[str], Counter[str]]:
    pick = random.Random(19)
    files = {table: list(_files(table, large, lines, small, pick)) for table in FIELDS}
    for table, parts in files.items():
        for number, rows in enumerate(parts):
            write_records(folder / "clusterdata_2019_a", table, rows, number)
    ingest([folder / "clusterdata_2019_a"], folder / "store", IngestOptions(jobs=1))
    seen: Counter[str] = Counter()
    found = [
        each
        for table, parts in files.items()
        for each in differences(
            folder / "store",
            table,
            parts,
            partial(judge, table),
            _count_odd,
            seen,
        )
    ]
    return (
        sum(len(lines) for parts in files.values() for lines in parts),
        found + _constraints(folder / "store", files),
        seen,
    )


def _constraints(store: Path, files: dict[str, list[list[str]]]) -> list[str]:
    """Compare the constraints that were unnested from events with those of the events that are stored."""
    query = "select source_part, source_row, position, name, relation, value from instance_constraints order by all"
    found = [tuple(row.values()) for row in borgtrace.open(store).sql(query).to_pylist()]
    due = [
        (part, row, *item)
        for part, lines in enumerate(files["instance_events"])
        for row, line in enumerate(lines)
        if not judge("instance_events", line).reasons
        for item in constraints_of(line)
    ]
    return (
        [f"constraints: {sorted(set(found) ^ set(due), key=str)[:5]}"]
        if sorted(due, key=str) != sorted(found, key=str)
        else []
    )


@pytest.mark.wide
def test_records_of_2019_are_judged_as_declared(tmp_path: Path) -> None:
    _, found, seen = _compare(tmp_path, 1, 60, 6)
    assert not found, "\n".join(found[:20])
    assert "refused" not in seen


@pytest.mark.scale
def test_ten_thousand_records_of_2019_are_judged_as_declared(tmp_path: Path) -> None:
    records, found, seen = _compare(tmp_path, 2, 500, 100)
    print(f"{records:,} records, {len(found)} differences; {dict(seen)}")
    assert records == 10_000
    assert not found, "\n".join(found[:20])
    assert declared_reasons(FIELDS) <= seen.keys()
