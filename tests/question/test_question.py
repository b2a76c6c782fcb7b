"""How many events are there?"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import ibis.expr.types as ir
import pyarrow as pa
import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.engine import to_arrow
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle import code_version
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    EngineTables,
    NotApplicable,
    Question,
    Scope,
    Tables,
    with_subjects,
)
from borgtrace.question.criteria import below
from borgtrace.question.planned_tables import PlannedTables
from tests.analyses.tiny import tiny
from tests.ingest.raw import write_cell
from tests.lifecycle.lives import life

ANSWER = Answer(
    grain="type",
    key=[Column("type", "enum", "enum", "What.")],
    columns=[Column("n", "int64", "count", "How many.", nullable=True)],
)

REASON = "the store holds no rows of instance_events; ingest files that have some"


def compute(tables: Tables, *, at_least: int = 0, kinds: tuple[str, ...] = ()) -> ir.Table:
    events = tables.instance_events
    counted = events.group_by("type").aggregate(n=events.count())
    if tables.fetch(counted, "counted").num_rows == 1:
        raise NotApplicable("one type only")
    return counted.filter(counted.n >= at_least)


def chart(answer: pa.Table) -> object:
    raise AssertionError("drawn without being asked")


CLAIM = Claim(
    "X-1",
    statement="few",
    criterion=below(3, 3.0),
    measure=lambda answer: float(answer.num_rows),
    scope=Scope(free=("at_least",)),
)
QUESTION = Question(
    name="n_events",
    doc="""How many events are there?

    Because
    it is so.
    """,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=[CLAIM],
    reads=["instance_events"],
    reference="Somebody, 2020",
)
LIFE = life("SUBMIT 5 SCHEDULE 6 EVICT 7 SUBMIT 8")


def test_a_result_carries_table_claims_and_provenance() -> None:
    result = QUESTION.run(tiny(instance_events=LIFE), at_least=2)
    assert result.table.to_pylist() == [{"type": "SUBMIT", "n": 2}]
    assert str(result.findings[0]) == "X-1: few: published 3 (< 3), measured 1: holds"
    assert (result.provenance.parameters, result.provenance.engine) == (
        {"at_least": 2, "kinds": ()},
        "duckdb",
    )
    assert result.provenance.code_version == code_version()
    assert 0 < result.provenance.seconds < 600
    assert "<td>SUBMIT</td><td>2</td>" in result._repr_html_()


def test_title_and_method_are_parts_of_the_doc() -> None:
    assert QUESTION.title == "How many events are there?"
    assert QUESTION.method == "Because\nit is so."


def test_without_docstrings_the_name_is_the_title() -> None:
    # As under `python -OO`.
    nameless = replace(QUESTION, doc=None)
    assert (nameless.title, nameless.method) == ("n_events", "")


def test_no_rows_to_read_is_not_applicable() -> None:
    result = QUESTION.run(tiny())
    assert result.not_applicable == REASON
    assert (result.table.num_rows, result.table.column_names, result.plot()) == (
        0,
        ["type", "n"],
        None,
    )
    assert result.findings[0].reason == REASON
    assert "Not applicable: the store holds no rows of instance_events" in result._repr_html_()


def test_compute_may_say_so_itself() -> None:
    assert QUESTION.run(tiny(instance_events=LIFE[:1])).not_applicable == "one type only"


def test_an_unknown_parameter_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        QUESTION.run(tiny(), atleast=2)
    assert (
        str(caught.value)
        == "n_events: no such parameter: expected one of at_least, kinds, got atleast"
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("xyz", ""),
        ("run_time", "did you mean run_times? "),
        ("queue", "did you mean queue_length or queueing? "),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(name)
    assert (
        str(caught.value)
        == f"NAME: no such question: got {name}; {near}every name: borgtrace analyze --list; "
        "one of your own: name its file with --from"
    )


def test_stages_compute_nothing() -> None:
    assert list(QUESTION.stages()) == ["counted", "stage_2"]
    planned = PlannedTables("2019")
    assert (planned.n_rows("tasks"), planned.has("tasks"), planned.synthetic) == (1, True, True)
    # What is derived is a stage of its own, before those that read it, and once.
    assert planned.instance_attempts is planned.instance_attempts
    assert list(planned.stages) == ["instance_attempts"]


def test_where_keeps_tasks_and_what_belongs_to_them() -> None:
    task = {"instance_index": 0, "collection_type": "JOB"}
    both = tiny(
        instance_events=[*LIFE, *life("SUBMIT 5", 2)],
        collection_events=[
            {
                "collection_id": c,
                "time": 5,
                "type": "SUBMIT",
            }
            for c in (1, 2)
        ],
        tasks=[
            {
                "collection_id": 1,
                "priority": 9,
                **task,
            },
            {
                "collection_id": 2,
                "priority": 0,
                **task,
            },
        ],
    )
    kept = both.filter("priority >= 9")
    assert (
        kept.n_rows("instance_events"),
        kept.n_rows("collection_events"),
        kept.n_rows("tasks"),
    ) == (4, 1, 1)
    assert kept.origin.where == "priority >= 9"
    assert kept.filter("priority < 9").n_rows("instance_events") == 0


def test_a_filter_leaves_earlier_ones_of_the_same_connection_alone() -> None:
    tables = tiny(
        tasks=[
            {
                "collection_id": 1,
                "priority": 9,
                "cpu_request": 0.5,
            },
            {
                "collection_id": 2,
                "priority": 9,
                "cpu_request": 0.25,
            },
            {
                "collection_id": 3,
                "priority": 0,
                "cpu_request": 0.5,
            },
        ]
    )
    wide = tables.filter("cpu_request >= 0.5")
    narrow = tables.filter("priority >= 9").filter("cpu_request >= 0.5")
    assert narrow.origin.where == "(priority >= 9) and (cpu_request >= 0.5)"
    found = [sorted(to_arrow(one.tasks)["collection_id"].to_pylist()) for one in (wide, narrow)]
    assert found == [[1, 3], [1]]


def test_a_predicate_that_is_none_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"--where: not a predicate over tasks: .*prioritty.*"):
        tiny(tasks=[{"collection_id": 1}]).filter("prioritty >= 9")


def test_an_unknown_table_lists_the_known_ones() -> None:
    with pytest.raises(
        AttributeError,
        match=r"no table task_events; there are machine_events, .*, instance_attempts",
    ):
        tiny().task_events  # noqa: B018


def test_a_question_enters_only_its_own_module() -> None:
    script = (
        "import sys; from borgtrace.catalog import find; find('machine_shapes');"
        # A list: some modules import others when they are asked for a name.
        "print(*(name for name, module in list(sys.modules.items()) if hasattr(module, 'QUESTION')))"
    )
    imported = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert imported == ["borgtrace.analyses.machines.machine_shapes"]


@pytest.mark.parametrize(("engine", "n"), [("duckdb", 1), ("pyspark", 0)])
def test_only_the_embedded_engine_is_interrupted(engine: str, n: int) -> None:
    tables, calls = tiny(), []
    backend = SimpleNamespace(name=engine, con=SimpleNamespace(interrupt=lambda: calls.append(1)))
    tables.canonical = lambda name: SimpleNamespace(get_backend=lambda: backend)  # type: ignore[method-assign]
    tables.interrupt()  # type: ignore[attr-defined]
    assert len(calls) == n


def test_parameters_that_are_times_name_their_unit() -> None:
    # In µs: a microsecond, a second; what is no time has none.
    assert find("queue_length").time_units == {"step": 1}
    assert find("parents").time_units == {"delay": 1_000_000}
    assert QUESTION.time_units == {}


def test_questions_of_one_kind_share_their_subject() -> None:
    class Other(Question):
        """A kind of its own, which is asked of something else."""

        def subject(self, tables: object) -> object:
            return [tables]

    first, second = replace(QUESTION), replace(QUESTION)
    others = [
        Other(
            name="other",
            doc=None,
            answer=ANSWER,
            compute=compute,
            chart=chart,
        )
        for _ in range(2)
    ]
    found = list(with_subjects([first, others[0], second, others[1]], "tables"))
    assert [question for question, _ in found] == [first, others[0], second, others[1]]
    assert [subject for _, subject in found] == ["tables", ["tables"], "tables", ["tables"]]
    assert found[1][1] is found[3][1]


def test_tables_of_a_store_or_of_its_path(tmp_path) -> None:
    write_cell(tmp_path / "raw")
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    opened = borgtrace.open(tmp_path / "store")
    for store in (tmp_path / "store", str(tmp_path / "store"), opened):
        tables = EngineTables.of(store)
        assert (tables.engine, tables.origin.store, tables.origin.digest) == (
            "duckdb",
            str(opened.path),
            opened.digest,
        )
        assert tables.n_rows("instance_usage") == opened.manifest.tables["instance_usage"]
        assert tables.origin.where == ""
    assert EngineTables.of(opened, where="priority > 99").n_rows("tasks") == 0
