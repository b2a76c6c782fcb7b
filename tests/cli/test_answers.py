"""What answers made by hand print and write: tables, claims and pictures, to the letter."""

from __future__ import annotations

import io
import json
import struct
import sys
from pathlib import Path

import altair as alt
import pyarrow as pa
import pytest

from borgtrace.cli.answers import print_headline, publish
from borgtrace.cli.bigquery import print_sql
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Finding,
    NotApplicable,
    Provenance,
    Question,
    Result,
    Tables,
)
from borgtrace.question.criteria import near
from borgtrace.report.answer_files import claims_csv, with_provenance, write_result

Capture = pytest.CaptureFixture[str]
JUDGED = Finding("A-1", "many", "> 1", "2", "holds")
NOT_MEASURED = Finding("A-2", "few", "< 1", "–", "not applicable", reason="no task ended")
NOT_JUDGED = Finding("A-3", "some", "< 1", "0.5", "not judged", reason="needs all parts, has 1")
PROVENANCE = Provenance(
    "store",
    "ab" * 32,
    "2011",
    "",
    False,
    "",
    "duckdb",
    "0.1.0",
    seconds=1.5,
)
ANSWER = Answer(
    grain="number",
    key=[Column("n", "int64", "count", "A number.")],
    columns=[],
)


def compute(tables: Tables) -> pa.Table:
    """Read a derived table, then nothing."""
    tables.fetch(tables.instance_attempts.limit(3), "own")
    raise NotApplicable("no rows")


def chart(answer: pa.Table) -> alt.Chart:
    """Draw a rectangle of 40 by 30 pixels."""
    return (
        alt.Chart(
            alt.InlineData([{}]),
            width=40,
            height=30,
            padding=0,
        )
        .mark_rect()
        .configure_view(stroke=None)
    )


def question(name: str) -> Question:
    return Question(
        name=name,
        doc="How many?",
        answer=ANSWER,
        compute=compute,
        chart=chart,
    )


def result(name: str = "counted", *findings: Finding, reason: str | None = None) -> Result:
    """An answer of two rows."""
    table = pa.table({"n": [3, 1]})
    return Result(
        question(name),
        table,
        PROVENANCE,
        findings,
        not_applicable=reason,
    )


def test_one_answer_is_its_table_and_the_claims_that_are_measured(capfd: Capture) -> None:
    publish(
        [result("counted", JUDGED, NOT_MEASURED, NOT_JUDGED)],
        out=None,
        png=False,
        as_json=False,
    )
    out, err = capfd.readouterr()
    assert out == '"n"\n3\n1\n'
    # What is measured with its verdict, how many hold, and why another is not measured.
    assert err.splitlines() == [
        "A-1: many: published > 1, measured 2: holds",
        "A-3: some: published < 1, measured 0.5: not judged: needs all parts, has 1",
        "1 of 1 judged published claims holds.",
        "Not applicable, 1 claim: no task ended: A-2 (few)",
    ]


def test_several_answers_are_their_claims(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [result("one", JUDGED), result("two", NOT_JUDGED)]
    publish(
        results,
        out=None,
        png=False,
        as_json=False,
    )
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("recipe,id,kind,statement")
    assert [line.split(",")[:2] for line in lines[1:]] == [["one", "A-1"], ["two", "A-3"]]
    # On a terminal they are a table of those that are measured.
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    publish(
        results,
        out=None,
        png=False,
        as_json=False,
    )
    heading, *rows = capfd.readouterr().out.splitlines()
    assert heading.split() == ["recipe", "id", "published", "measured", "verdict"]
    assert [row.split()[:2] for row in rows] == [["one", "A-1"], ["two", "A-3"]]


def test_a_claim_that_is_judged_is_told_with_its_kind_and_tolerance(capsys: Capture) -> None:
    claim = Claim(
        "X-1",
        statement="five",
        source="Somebody, Fig. 1",
        measure=lambda table: table["n"][0].as_py(),
        criterion=near(5, 1),
        kind="derived",
    )
    finding = claim.judge(pa.table({"n": [5]}))
    print_headline([finding])
    assert capsys.readouterr().err == "1 of 1 judged derived claims holds.\n"
    assert claims_csv([result("small", finding)]) == (
        "recipe,id,kind,statement,published,tolerance,measured,verdict,reason,note,source\n"
        'small,X-1,derived,five,5,± 1,5,holds,,,"Somebody, Fig. 1"\n'
    )


def test_a_file_says_where_it_comes_from_and_why_it_is_empty() -> None:
    facts = json.loads(with_provenance(result()).schema.metadata[b"borgtrace"])
    assert list(facts) == sorted(facts)
    assert facts["store"] == "store"
    assert "seconds" not in facts
    assert "not_applicable" not in facts
    empty = with_provenance(result(reason="no usage"))
    facts = json.loads(empty.schema.metadata[b"borgtrace"])
    assert facts["not_applicable"] == "no usage"


def test_a_table_comes_after_what_was_printed_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    print("before")
    publish(
        [result()],
        out=None,
        png=False,
        as_json=False,
    )
    stream.flush()
    assert buffer.getvalue() == b'before\n"n"\n3\n1\n'


def test_a_picture_has_two_pixels_for_each_of_its_chart(tmp_path: Path) -> None:
    write_result(result(), tmp_path, png=True)
    # Width and height stand behind the signature and the name of the first chunk.
    size = struct.unpack(">II", (tmp_path / "counted.png").read_bytes()[16:24])
    assert size == (80, 60)
    write_result(result(), tmp_path / "none", png=False)
    assert not (tmp_path / "none" / "counted.png").exists()


def test_shared_tables_are_printed_once_and_what_follows_them_is(capsys: Capture) -> None:
    print_sql([question("one"), question("two")], {})
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("CREATE TEMP TABLE instance_attempts AS") == 1
    headings = [line for line in lines if line.endswith(": own")]
    assert headings == ["-- one: own", "-- two: own"]
