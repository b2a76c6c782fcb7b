"""One suite for every question: a new one costs no new line here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ibis.expr.operations as ops
import pytest

from borgtrace.catalog import experiments, questions
from borgtrace.lifecycle import DERIVED
from borgtrace.question import EngineTables, Provenance, Question, Result, Tables
from borgtrace.schema import TABLES

EVERY = [pytest.param(question, id=name) for name, question in questions().items()]
WORKLOAD = [
    pytest.param(question, id=name)
    for name, question in questions().items()
    if name not in experiments()
]
"""Those that read tables; what packs tasks has suites of its own."""
WITH_CLAIMS = [param for param in WORKLOAD if param.values[0].claims]  # type: ignore[attr-defined]
ON_SPARK = [param for param in WORKLOAD if param.id in ("queue_length", "transitions")]
"""Questions about what is derived of events, and steps of time; the large suite takes all."""


@pytest.mark.parametrize("question", EVERY)
def test_declaration(question: Question) -> None:
    check_declaration(question)


def check_declaration(question: Question) -> None:
    """Hold a question against what every question must say of itself."""
    assert question.title[-1] == "?" or question.title[-1].isalnum()  # a question, or a noun phrase
    assert question.method
    assert question.reference
    assert set(question.reads) <= {*TABLES, "instance_attempts", "collection_attempts"}
    for column in question.schema.columns:
        assert column.doc.endswith("."), column.name
        assert column.unit, column.name
    assert set(question.schema.key) <= set(question.schema.names)
    assert all(claim.source or claim.statement for claim in question.claims)


def test_claims_have_ids_of_their_own() -> None:
    ids = [claim.id for question in questions().values() for claim in question.claims]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("generation", ["2011", "2019"])
@pytest.mark.parametrize("question", [param for param in WORKLOAD if param not in WITH_CLAIMS])
def test_synthetic_store(
    question: Question, generation: str, duckdb_tables: dict[str, Tables]
) -> None:
    check(question.run(duckdb_tables[generation]))


@pytest.mark.parametrize("generation", ["2011", "2019"])
@pytest.mark.parametrize("question", WITH_CLAIMS)
def test_synthetic_store_and_claims_say_which_tables_decide_them(
    question: Question, generation: str, watched_tables: dict[str, Watched]
) -> None:
    # What a question reads beside its `reads` decides its claims too, unless these name their tables themselves.
    tables = watched_tables[generation]
    tables.seen = set()
    check(question.run(tables))
    known = {
        "instance_events" if name in ("tasks", "instance_attempts") else name
        for name in question.reads
    }
    known = {"collection_events" if name == "collection_attempts" else name for name in known}
    unsaid = tables.seen - known - {"tasks"}
    assert not unsaid or all(claim.scope.tables for claim in question.claims), (
        f"{question.name} reads {unsaid}"
    )


class Watched(EngineTables):
    """Tables that note which of them are read."""

    seen: set[str]

    def canonical(self, name: str) -> Any:
        self.seen.add(name)
        return super().canonical(name)

    def derived(self, name: str) -> Any:
        # Once it is derived, what it is made of is read no more.
        source = name
        while source in DERIVED:
            source = DERIVED[source].reads
        self.seen.add(source)
        return super().derived(name)


@pytest.fixture(scope="session")
def watched_tables(cells: dict[str, Path]) -> dict[str, Watched]:
    return {generation: Watched.of(cell / "store") for generation, cell in cells.items()}


@pytest.mark.parametrize("question", WORKLOAD)
def test_one_machine_for_one_hour(question: Question, tiny_tables: list[Tables]) -> None:
    check_in_turn(question, tiny_tables)


@pytest.mark.parametrize("question", WORKLOAD)
def test_without_usage(question: Question, without_usage: list[Tables]) -> None:
    result = check_in_turn(question, without_usage)
    assert (result.not_applicable is None) == (result.table.num_rows > 0)


def check_in_turn(question: Question, both: list[Tables]) -> Result:
    """Check a question about one generation, by turns from question to question; the other where it has no answer."""
    turn = list(questions()).index(question.name) % 2
    result = question.run(both[turn])
    check(result)
    if result.not_applicable is not None:
        result = question.run(both[1 - turn])
        check(result)
    return result


@pytest.mark.scale
@pytest.mark.parametrize("question", WORKLOAD)
def test_small_stores_of_both_generations(
    question: Question, tiny_tables: list[Tables], without_usage: list[Tables]
) -> None:
    for tables in tiny_tables:
        check(question.run(tables))
    for tables in without_usage:
        result = question.run(tables)
        check(result)
        assert (result.not_applicable is None) == (result.table.num_rows > 0)


def check(result: Result) -> None:
    """Hold a result against what every result must be."""
    statements = [claim.statement for claim in result.question.claims]
    assert [finding.statement for finding in result.findings] == statements
    assert result._repr_html_()
    for finding in result.findings:
        assert finding.reason or finding.is_judged, finding.id
    if result.not_applicable is not None:
        assert result.not_applicable
        assert result.table.num_rows == 0
        return
    for name in result.table.column_names:
        values = result.table[name].to_pylist()
        assert not any(isinstance(value, float) and not math.isfinite(value) for value in values), (
            name
        )
    chart = result.plot()
    if chart is not None:
        assert json.loads(chart.to_json())["$schema"].startswith(
            "https://vega.github.io/schema/vega-lite/"
        )


@pytest.mark.parametrize("generation", ["2019"])
@pytest.mark.parametrize("question", WORKLOAD)
def test_stages_compile_for_bigquery(question: Question, generation: str) -> None:
    stages = question.stages(generation) or question.stages(
        "2011"
    )  # a question may be about one generation
    assert stages
    for stage in stages.values():
        check_statement(stage.op())


@cache
def check_statement(stage: ops.Node) -> None:
    """Compile a stage for BigQuery; questions share those that derive tables."""
    from borgtrace.engine.bigquery import compile_sql, parse

    assert parse(compile_sql(stage.to_expr()))


@pytest.mark.wide
@pytest.mark.parametrize("question", ON_SPARK)
def test_spark_agrees(
    question: Question, duckdb_tables: dict[str, Tables], spark_tables: dict[str, Tables]
) -> None:
    agree(question, duckdb_tables["2011"], spark_tables["2011"])


@pytest.mark.scale
@pytest.mark.parametrize("generation", ["2011", "2019"])
@pytest.mark.parametrize("question", WORKLOAD)
def test_spark_agrees_on_everything(
    question: Question,
    generation: str,
    duckdb_tables: dict[str, Tables],
    spark_tables: dict[str, Tables],
) -> None:
    agree(question, duckdb_tables[generation], spark_tables[generation])


def agree(question: Question, first: Tables, second: Tables) -> None:
    """Integers and texts agree exactly, floats within 1e-9."""
    one, other = question.run(first), question.run(second)
    assert one.not_applicable == other.not_applicable
    assert one.table.num_rows == other.table.num_rows
    for left, right in zip(one.table.to_pylist(), other.table.to_pylist(), strict=True):
        for name, value in left.items():
            assert alike(value, right[name]), (name, left, right)


def alike(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return bool(left == right)


@pytest.fixture(scope="session")
def tiny_tables(tiny_cells: dict[str, Path]) -> list[Tables]:
    return [EngineTables.of(cell / "store") for cell in tiny_cells.values()]


@pytest.fixture(scope="session")
def without_usage(cells: dict[str, Path]) -> Iterator[list[Tables]]:
    from borgtrace.engine import connect, read_table

    found = []
    for generation, cell in cells.items():
        con = connect(memory="500MB")
        tables = {
            name: read_table(
                con, table, sorted(map(str, (cell / "store").glob(f"{name}/*.parquet")))
            )
            for name, table in TABLES.items()
            if name != "instance_usage"
        }
        found.append(EngineTables(tables, Provenance(generation=generation)))
    return found
