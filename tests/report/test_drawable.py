"""Names that no renderer can draw: every question's chart is drawn all the same, and the names stay different."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from borgtrace.catalog import questions
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import Question
from borgtrace.report.drawable import drawable_text, png, specification, svg
from borgtrace.schema import ENUMS, Column
from borgtrace.schema.arrow import arrow_schema

NAMES = ("a\x01", "\x1b[31mb\ufffe", "c\x00d")
OWN_WORDS = {"estimator", "packer", "data"}
"""Columns whose words are the program's own: a chart refuses others."""
N_DRAWN = 3


def _values(column: Column, data_type: pa.DataType) -> list[Any]:
    """Return three values of a column; texts are hostile."""
    if column.enum:
        words = ENUMS[column.enum].names
        return [words[number % len(words)] for number in range(3)]
    if pa.types.is_list(data_type):
        item = NAMES[0] if pa.types.is_string(data_type.value_type) else 1
        return [[item]] * 3
    if pa.types.is_string(data_type):
        return list(NAMES)
    if pa.types.is_boolean(data_type):
        return [True, False, True]
    return [1, 2, 3] if pa.types.is_integer(data_type) else [0.1, 0.2, 0.3]


def hostile_answer(question: Question) -> pa.Table:
    """Return an answer of three rows in the declared form, each of whose names cannot be drawn."""
    columns = {}
    for column, field in zip(question.schema.columns, arrow_schema(question.schema), strict=True):
        values = pa.array(_values(column, field.type))
        is_coded = pa.types.is_dictionary(field.type)
        columns[field.name] = values.dictionary_encode() if is_coded else values.cast(field.type)
    return pa.table(columns)


def _has_foreign_texts(question: Question) -> bool:
    texts = {
        column.name
        for column in question.schema.columns
        if column.type == "string" and not column.enum
    }
    return bool(texts - OWN_WORDS)


CHARTS = [
    pytest.param(question, id=name)
    for name, question in questions().items()
    if _has_foreign_texts(question)
]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return []


def _require_drawable(spec: dict[str, Any]) -> None:
    for text in _texts(spec):
        # What XML 1.0 allows, in the words of its standard (production 2).
        for mark in text:
            code = ord(mark)
            is_allowed = mark in "\t\n\r" or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
            assert is_allowed or code >= 0x10000, text


@pytest.mark.parametrize("question", CHARTS)
def test_no_chart_holds_what_cannot_be_drawn(question: Question) -> None:
    chart = question.chart(hostile_answer(question))
    if chart is not None:
        _require_drawable(specification(chart))


def _draw(question: Question) -> None:
    chart = question.chart(hostile_answer(question))
    if chart is not None:
        spec = specification(chart)
        assert ElementTree.fromstring(svg(spec)).tag.endswith("svg")
        assert png(spec, scale=0.2).startswith(b"\x89PNG")


@pytest.mark.parametrize("question", random.Random(37).sample(CHARTS, N_DRAWN))
def test_charts_are_drawn(question: Question) -> None:
    _draw(question)


@pytest.mark.scale
@pytest.mark.parametrize("question", CHARTS)
def test_all_charts_are_drawn(question: Question) -> None:
    _draw(question)


@pytest.mark.wide
def test_all_marks_that_end_a_renderer_are_drawn_and_stay_different() -> None:
    marks = [*map(chr, range(0x20)), "\x7f", "\x85", "\ud800", "\udfff", "\ufffe", "\uffff"]
    marks += ["\u2028", "\u202e", "\U0001fffe", "x" * 10_000]
    rows = [{"name": f"n{number}{mark}", "n": number} for number, mark in enumerate(marks)]
    spec = {
        "data": {"values": rows},
        "mark": "bar",
        "title": "\0title\x1b",
        "encoding": {
            "y": {"field": "name", "type": "nominal"},
            "x": {"field": "n", "type": "quantitative"},
        },
    }
    assert ElementTree.fromstring(svg(spec)).tag.endswith("svg")
    assert png(spec, scale=0.2).startswith(b"\x89PNG")
    assert drawable_text("a\0b") != drawable_text("a\x01b")
    assert drawable_text("a\tb\nc é 𝄞") == "a\tb\nc é 𝄞"


DECLARATION = """\
clock = "relative"
step = "300s"
[usage]
task = "task"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "cores", kind = "average" }
[tasks]
task = "task"
user = "user"
app = "app"
submit = { column = "submit", unit = "s" }
start = { column = "start", unit = "s" }
end = { column = "end", unit = "s" }
cpu_request = { column = "request", unit = "cores" }
"""


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store each of whose names has control characters, or is very long."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "own.toml").write_text(DECLARATION)
    names = ["web\x1b[2J\x07", "\x01\x02", "\u202edb", "x" * 10_000]
    usage = [{"task": name, "time": time, "cpu": 1} for name in names for time in (0, 300)]
    tasks = [
        {
            "task": name,
            "user": f"u{name}",
            "app": f"a{name}",
            "submit": 0,
            "start": 1,
            "end": 600,
            "request": 2,
        }
        for name in names
    ]
    for name, records in (("usage", usage), ("tasks", tasks)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.json").write_text(lines)
    options = IngestOptions(jobs=1, dialect=str(folder / "own.toml"), capacity="8cores")
    ingest([folder / "usage.json", folder / "tasks.json"], folder / "store", options)
    return folder / "store"


@pytest.mark.wide
def test_commands_draw_a_store_of_such_names(
    command: Callable[..., list[str]],
    hostile_store: Path,
    tmp_path: Path,
) -> None:
    asked = ("jobs_per_owner", "job_sizes", "crash_loops")
    for words in (
        command("analyze", hostile_store, *asked, "--out", tmp_path / "out", "--png"),
        command("report", hostile_store, tmp_path / "page.html", *asked),
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
    for path in (tmp_path / "out").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    page = (tmp_path / "page.html").read_text()
    assert not {mark for mark in page if mark < " "} - set("\t\n\r")
