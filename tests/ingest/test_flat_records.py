"""Flat records of JSON that the compiled reader takes are those that Python's own reader finds; all else it leaves."""

from __future__ import annotations

import json
import random
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.ingest.convert.canonical import canonical_chunk
from borgtrace.ingest.files.raw_layout import NeedsValidation, layout_of
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.read.flat_records import read_listed_records, read_record_lines
from borgtrace.schema.dialects.declaration import declared_dialect
from tests.ingest.own_data import AVERAGES, ingest_own, rows

DIALECT = declared_dialect(tomllib.loads(AVERAGES), "own.toml")
(TABLE,) = DIALECT.tables
RECORDS = [
    {"task": f"web-{number}", "time": 300 * number, "node": "é", "cpu": number / 8}
    for number in range(3)
]
# Each is a record of which the reader may say that it is for the general parser, and nothing else than Python does.
ALPHABET = '{}[],:"\\ntf0123456789.eE+-x \n\t\x00'
Rows = list[tuple[Any, ...]]


def read(path: Path, text: str | bytes, *, in_lines: bool = False) -> Rows | None:
    """Return what the reader makes of a text; None where it leaves it to the general parser."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    source = Source(path, DIALECT, TABLE, "table", kind="JSON")
    if in_lines:
        source = replace(source, format="json", kind="")
    layout = layout_of(source)
    reader = read_record_lines if in_lines else read_listed_records
    found: Rows = []
    try:
        for chunk in reader(source, layout):
            columns = canonical_chunk(layout, chunk)
            names = ("task", "time", "average_cpu")
            found += zip(*(columns.column(name).to_pylist() for name in names), strict=True)
    except NeedsValidation:
        return None
    return found


def expected(documents: list[Any]) -> Rows:
    """Return the rows of records, as the declaration says."""
    return [
        (record["task"].strip(" \t"), int(record["time"] * 1_000_000), record.get("cpu"))
        for record in documents
    ]


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_records_are_read_however_they_are_laid_out(tmp_path: Path, indent: int | None) -> None:
    text = json.dumps(RECORDS, indent=indent, ensure_ascii=False)
    assert read(tmp_path / "x.json", f"\n {text} \n\n") == expected(RECORDS)
    shuffled = [dict(reversed(record.items())) for record in RECORDS]
    assert read(tmp_path / "x.json", json.dumps(shuffled, ensure_ascii=False)) == expected(RECORDS)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_records_on_lines_are_read(tmp_path: Path, ending: str) -> None:
    lines = (ending or "\n").join(json.dumps(record, ensure_ascii=False) for record in RECORDS)
    assert read(tmp_path / "x.json", lines + ending, in_lines=True) == expected(RECORDS)


def test_values_that_are_missing_or_texts_are_read_as_they_stand(tmp_path: Path) -> None:
    text = """[
        {"task": "a\u00a0b, {c}", "time": "300", "cpu": null, "other": true},
        {"task": " b ", "time": 3e2, "more": "]"},
        {"cpu": "1.5", "time": 0, "task": "null"}
    ]"""
    assert read(tmp_path / "x.json", text) == [
        ("a\u00a0b, {c}", 300_000_000, None),
        ("b", 300_000_000, None),
        ("null", 0, 1.5),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '[{"task": "a", "time": 1, "cpu": 1}',
        '[{"task": "a", "time": 1, "cpu": 1},]',
        '[{"task": "a", "time": 1, "cpu": 1,}]',
        '[{"task": "a", "time": 1, "cpu": 1}] []',
        '[{"task": "a", "time": 1, "cpu": 1}{"task": "a", "time": 2, "cpu": 1}]',
        '[{"task": "a", "task": "b", "time": 1, "cpu": 1}]',
        '[{"task": "a\\u0041", "time": 1, "cpu": 1}]',
        '[{"task": "a\tb", "time": 1, "cpu": 1}]',
        '[{"task": "a", "time": 01, "cpu": 1}]',
        '[{"task": "a", "time": 1, "cpu": NaN}]',
        '[{"task": "a", "time": 1, "cpu": .5}]',
        '[{"task": "a", "time": 1, "cpu": 1.}]',
        '[{"task": "a", "time": 1, "cpu": "0x10"}]',
        '[{"task": "a", "time": 1, "cpu": ""}]',
        '[{"task": "", "time": 1, "cpu": 1}]',
        '[{"task": "a", "time": 1, "cpu": [1]}]',
        '[{"task": "a", "time": 1, "cpu": 1, "more": {"b": 1}}]',
        '[{"task": "a", "time": 1, "cpu": 1}, 5]',
        b'[{"task": "a\xff", "time": 1, "cpu": 1}]',
    ],
)
def test_all_else_is_left_to_the_general_parser(tmp_path: Path, text: str | bytes) -> None:
    assert read(tmp_path / "x.json", text) is None


@pytest.mark.parametrize("in_lines", [False, True])
def test_a_changed_character_is_read_as_python_does_or_left(tmp_path: Path, in_lines: bool) -> None:
    rng = random.Random(5)
    texts = [json.dumps(record, ensure_ascii=False) for record in RECORDS]
    whole = "\n".join(texts) + "\n" if in_lines else f"[{', '.join(texts)}]"
    n_read = 0
    for _ in range(1500):
        place = rng.randrange(len(whole))
        changed = whole[:place] + rng.choice(("", rng.choice(ALPHABET))) + whole[place + 1 :]
        found = read(tmp_path / "x.json", changed, in_lines=in_lines)
        if found is None:
            continue
        n_read += 1
        # What Python refuses, the reader must refuse, too.
        documents = (
            [json.loads(line) for line in changed.splitlines()] if in_lines else json.loads(changed)
        )
        assert found == expected(documents), changed
    # Most characters are those of names and numbers.
    assert n_read > 300


@pytest.mark.parametrize("seed", range(30))
def test_records_with_other_keys_than_the_one_before_are_read(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    records = []
    texts = []
    # Some have more keys than the reader remembers the places of.
    others = [f"key {number}" for number in range(rng.choice((3, 12, 90)))]
    for number in range(60):
        record: dict[str, Any] = {"task": f"web-{number % 7}", "time": 300 * number}
        if rng.random() < 0.8:
            record["cpu"] = rng.choice((None, number / 8, -0.0, 1e-3, 1234.25))
        for name in others if rng.random() < 0.5 else rng.sample(others, 2):
            record[name] = rng.choice((None, True, "", "12345678", "a 16-byte text..", -7, "é"))
        keys = list(record)
        if rng.random() < 0.4:
            rng.shuffle(keys)
        records.append(record)
        separators = rng.choice(((", ", ": "), (",", ":"), (" ,\n", "\t: ")))
        shuffled = {key: record[key] for key in keys}
        texts.append(json.dumps(shuffled, separators=separators, ensure_ascii=False))
    found = read(tmp_path / "x.json", f"[{rng.choice((',', ' , ')).join(texts)}]")
    assert found == expected(records)


def test_records_that_may_repeat_a_measurement_are_left_to_the_general_parser(
    tmp_path: Path,
) -> None:
    keys = ("window", "container", "pod", "end")
    for left_out in ("", *keys):
        more = "".join(f', "{key}": null' for key in keys if key != left_out)
        text = f'[{{"task": "a", "time": 1, "cpu": 1{more}}}]'
        found = read(tmp_path / "x.json", text)
        assert found == ([("a", 1_000_000, 1.0)] if left_out else None)


def test_records_of_many_blocks_are_all_read(tmp_path: Path) -> None:
    # 12 MB, so that some record lies on the border of two blocks.
    n_records = 120_000
    filling = "x" * 60
    text = ",".join(
        f'{{"task":"t{number}","time":{number},"cpu":1,"more":"{filling}"}}'
        for number in range(n_records)
    )
    found = read(tmp_path / "x.json", f"[{text}]")
    assert found == [(f"t{number}", number * 1_000_000, 1.0) for number in range(n_records)]


def test_one_row_that_is_refused_leaves_the_others_and_says_where(tmp_path: Path) -> None:
    records = [*RECORDS, {"task": "bad", "time": "soon", "cpu": 1}]
    store = ingest_own(tmp_path, AVERAGES, {"own.json": json.dumps(records)})
    assert rows(store, "instance_usage", "source_row") == [(0,), (1,), (2,)]
    (entry,) = store.manifest.sources
    assert (entry.stored, entry.quarantined) == (3, 1)
