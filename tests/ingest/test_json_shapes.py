"""JSON of another shape than documented: each value at each level replaced by each kind of value.

A file whose outline is wrong is named, with the place and what was expected there; a row that is wrong is refused.
Nothing else may come of it: no other error, no row that the file does not say, no loss of the rows around it.
"""

from __future__ import annotations

import copy
import io
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import SourceError
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.read.json_walker import JsonFormError, JsonWalker
from tests.ingest.sample_files import (
    SampleTable,
    answer,
    record,
    sample_dialects,
    sample_tables,
    staged_rows,
)

KINDS: tuple[Any, ...] = (
    None,
    7,
    -0.5,
    True,
    "x",
    "",
    "\ud800",
    "\0\x1b",
    [],
    [1],
    [[[]]],
    {},
    {"a": {"b": []}},
    "9" * 5000,
)
N_SAMPLED = 40
Path_ = tuple[Any, ...]


def places(document: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the path to each value of a document, the document itself first."""
    yield path
    entries = document.items() if isinstance(document, dict) else ()
    if isinstance(document, list):
        entries = enumerate(document)
    for key, value in entries:
        yield from places(value, (*path, key))


def replaced(document: Any, path: Path_, value: Any) -> Any:
    """Return a copy of a document with another value at a place."""
    if not path:
        return value
    changed = copy.deepcopy(document)
    *outer, last = path
    inside = changed
    for key in outer:
        inside = inside[key]
    inside[last] = value
    return changed


def _staged(folder: Path, sample: SampleTable, content: bytes) -> tuple[list[Any], Counter[str]]:
    """Return the stored rows of a file, and how many rows were refused for each reason."""
    folder.mkdir()
    path = folder / sample.file_name
    path.write_bytes(content)
    entry = stage(classify(path, only=sample.dialect), folder / "staging")
    rows = staged_rows(folder / "staging", sample.raw)
    assert entry.rows_in == len(rows) + entry.quarantined + entry.skipped
    reasons = Counter(entry.counters)
    return rows, reasons


def _variants(document: Any) -> list[tuple[Path_, Any]]:
    return [(path, kind) for path in places(document) for kind in KINDS]


def check_answers(folder: Path, sample: SampleTable, n_sampled: int | None) -> int:
    """Read answers of Prometheus with one value replaced; return how many."""
    sound = answer(sample.raw, [sample.row(number) for number in (1, 2)])
    folder.mkdir(exist_ok=True)
    expected, _ = _staged(folder / "sound", sample, json.dumps(sound).encode())
    variants = _variants(sound)
    if n_sampled is not None:
        variants = random.Random(37).sample(variants, n_sampled)
    for number, (path, value) in enumerate(variants):
        content = json.dumps(replaced(sound, path, value)).encode()
        place = folder / str(number)
        fault = None
        rows = []
        try:
            rows, _ = _staged(place, sample, content)
        except SourceError as error:
            fault = error
        if fault is None:
            _check_rows(path, rows, expected)
        else:
            assert fault.where == str(place / sample.file_name)
            assert fault.expected or fault.what == "no known metric", (path, value, fault)
            # The outline alone refuses a file: a series and what is in it are rows.
            is_inside = path[:2] == ("data", "result") and len(path) > 2
            assert not is_inside or fault.what == "no known metric", (path, value, fault)
    return len(variants)


def _check_rows(path: Path_, rows: list[Any], expected: list[Any]) -> None:
    """Require that only rows of the series which was changed differ."""
    for row in rows:
        row.pop("source_row")
    own = [{key: value for key, value in row.items() if key != "source_row"} for row in expected]
    if path[:2] == ("data", "result") and len(path) > 2:
        changed_series = path[2]
        own = [row for number, row in enumerate(own) if number != changed_series]
        assert all(row in rows for row in own), (path, rows)
        assert len(rows) <= len(expected)
    elif rows:
        assert rows == own


def check_records(folder: Path, sample: SampleTable) -> int:
    """Read lines of JSON with one value replaced each, between sound lines; return how many."""
    folder.mkdir(exist_ok=True)
    sound = record(sample.raw, sample.row(1))
    variants = _variants(sound)
    lines = []
    for path, value in variants:
        lines += [json.dumps(sound), json.dumps(replaced(sound, path, value))]
    rows, _ = _staged(folder / "records", sample, "".join(f"{line}\n" for line in lines).encode())
    by_place = {row.pop("source_row"): row for row in rows}
    first = by_place[0]
    for number, (path, value) in enumerate(variants):
        assert by_place[2 * number] == first, (path, value)
        found = by_place.get(2 * number + 1)
        if found is None:
            continue
        changed = {name for name, held in found.items() if held != first[name]}
        covered = {
            field.column
            for field in sample.raw.fields
            # The value itself, a record around it, or an item of a list.
            if field.path[: len(path)] == path or path[: len(field.path)] == field.path
        }
        assert changed <= covered | {"is_on_dedicated_machine"}, (path, value, changed)
        # What is no single value is no value of a column, and must not be stored as the text of it.
        is_value = path in [field.path for field in sample.raw.fields]
        is_nested = is_value and isinstance(value, dict | list) and value not in ([], {})
        assert not (changed and is_nested), (path, value, found)
    return len(variants)


@pytest.mark.parametrize("metric", sample_dialects()["prometheus"].tables)
def test_an_answer_of_another_shape_is_refused_in_words(tmp_path: Path, metric: str) -> None:
    samples = {sample.raw.name: sample for sample in sample_tables("prometheus")}
    assert check_answers(tmp_path / "answers", samples[metric], N_SAMPLED // 5) == N_SAMPLED // 5


@pytest.mark.scale
@pytest.mark.parametrize("metric", sample_dialects()["prometheus"].tables)
def test_every_answer_of_another_shape_is_refused_in_words(tmp_path: Path, metric: str) -> None:
    samples = {sample.raw.name: sample for sample in sample_tables("prometheus")}
    assert check_answers(tmp_path / "answers", samples[metric], None) > 200


@pytest.mark.parametrize("name", ["2019", "own-averages"])
def test_a_record_of_another_shape_is_a_refused_row(tmp_path: Path, name: str) -> None:
    samples = [sample for sample in sample_tables(name) if sample.format == "json"]
    n_tried = [check_records(tmp_path / str(place), sample) for place, sample in enumerate(samples)]
    assert len(n_tried) == len(samples)
    assert min(n_tried) > 40


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 16])
def test_a_document_is_read_alike_in_any_pieces(piece: int) -> None:
    class Pieces:
        def __init__(self, content: bytes) -> None:
            self._rest = content

        def read(self, _: int) -> bytes:
            block, self._rest = self._rest[:piece], self._rest[piece:]
            return block

    text = ' {"a" : [ 12 , -1.5e3, "é\\u0041" , {"b":[]} , null ] ,"c":{ },\n"d":[]} '
    walker = JsonWalker(Pieces(text.encode()), largest=1000)  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    for key in walker.entries():
        found[key] = walker.value() if key == "c" else list(walker.items())
    walker.end()
    assert found == {"a": ["12", "-1.5e3", "éA", {"b": []}, None], "c": {}, "d": []}


@pytest.mark.parametrize("piece", [9, 64, 1 << 16])
@pytest.mark.parametrize(
    "items",
    [
        [{"a": number, "b": "x"} for number in range(40)],
        [{"a": "},{"}, {"b": "],"}, {"c": '"},'}, {}, {"d": "}"}],
        [{"a": [{"b": 1}, {"c": 2}], "d": {"e": {}}} for _ in range(20)],
        [{"a": 1}, 2, {"b": 3}, [{"c": 4}, {"d": 5}], {"e": 6}],
    ],
)
def test_items_that_are_taken_together_are_those_taken_one_by_one(
    items: list[Any], piece: int
) -> None:
    class Pieces(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            return super().read(piece)

    as_texts = json.loads(json.dumps(items), parse_int=str)
    for indent in (None, 1):
        text = json.dumps(items, indent=indent).encode()
        assert list(JsonWalker(Pieces(text), largest=10_000).items()) == as_texts


@pytest.mark.parametrize("ending", ['{"a": 1},', '{"a": 1},]', '{"a": 1} {"b": 2},'])
def test_a_list_that_goes_wrong_between_its_items_says_where(ending: str) -> None:
    text = '[{"x": 0},' + ending
    with pytest.raises(JsonFormError, match=r"at character (20|21), got"):
        list(JsonWalker(io.BytesIO(text.encode()), largest=1000).items())


def test_a_value_that_is_too_large_is_not_read_to_its_end() -> None:
    class Endless:
        n_read = 0

        def read(self, size: int) -> bytes:
            self.n_read += size
            return b'["' + b"x" * (size - 2) if self.n_read == size else b"x" * size

    stream = Endless()
    walker = JsonWalker(stream, largest=1 << 20)  # type: ignore[arg-type]
    with pytest.raises(JsonFormError) as caught:
        list(walker.items())
    assert str(caught.value) == (
        "a value of at most 1 MiB at character 2, got '\"xxxxxxxxxxxxxxxxxxx'"
    )
    assert stream.n_read < 5 << 20
