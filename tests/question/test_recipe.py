"""How many events are there?"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import ibis.expr.types as ir
import pyarrow as pa
import pytest
from borgtrace.question.registry import collect, modules

import borgtrace
from borgtrace.catalog import find
from borgtrace.engine import to_arrow
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle import code_version
from borgtrace.question import (
    Claim,
    EngineTables,
    NotApplicable,
    Question,
    Scope,
    Tables,
    with_subjects,
)
from borgtrace.question.criteria import below
from borgtrace.question.planned_tables import PlannedTables
from borgtrace.schema import Column, Table
from tests.analyses.tiny import tiny
from tests.ingest.raw import write_cell
from tests.lifecycle.lives import life

RESULT = Table(
    "n_events",
    "type",
    ("type",),
    (
        Column("type", "enum", "enum", "What.", nullable=False),
        Column("n", "int64", "count", "How many."),
    ),
)


def compute(tables: Tables, *, at_least: int = 0, kinds: tuple[str, ...] = ()) -> ir.Table:
    events = tables.instance_events
    counted = events.group_by("type").aggregate(n=events.count())
    if tables.fetch(counted, "counted").num_rows == 1:
        raise NotApplicable("one type only")
    return counted.filter(counted.n >= at_least)


def plot(result: pa.Table) -> object:
    raise AssertionError("drawn without being asked")


CLAIM = Claim(
    "X-1", "few", below(3, 3.0), lambda t: float(t.num_rows), scope=Scope(free=("at_least",))
)
RECIPE = Recipe(RESULT, compute, plot, (CLAIM,), reads=("instance_events",))  # type: ignore[arg-type]
LIFE = life("SUBMIT 5 SCHEDULE 6 EVICT 7 SUBMIT 8")


def test_a_result_carries_table_claims_and_provenance() -> None:
    result = RECIPE.run(tiny(instance_events=LIFE), at_least=2)
    assert result.table.to_pylist() == [{"type": "SUBMIT", "n": 2}]
    assert str(result.findings[0]) == "X-1: few: published 3 (< 3), measured 1: holds"
    assert (result.provenance.parameters, result.provenance.engine) == (
        {"at_least": 2, "kinds": ()},
        "duckdb",
    )
    assert result.provenance.code_version == code_version()
    assert 0 < result.provenance.seconds < 600
    assert "<td>SUBMIT</td><td>2</td>" in result._repr_html_()


def test_the_question_is_the_first_line_of_the_module() -> None:
    assert RECIPE.question == "How many events are there?"


def test_no_rows_to_read_is_not_applicable() -> None:
    result = RECIPE.run(tiny())
    assert result.not_applicable == "the store holds no rows of instance_events"
    assert (result.table.num_rows, result.table.column_names, result.plot()) == (
        0,
        ["type", "n"],
        None,
    )
    assert result.findings[0].reason == "the store holds no rows of instance_events"
    assert "Not applicable: the store holds no rows of instance_events" in result._repr_html_()


def test_compute_may_say_so_itself() -> None:
    assert RECIPE.run(tiny(instance_events=LIFE[:1])).not_applicable == "one type only"


def test_an_unknown_parameter_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        RECIPE.run(tiny(), atleast=2)
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
        == f"NAME: no such question: got {name}; {near}every name: borgtrace analyze --list"
    )


def test_stages_compute_nothing() -> None:
    assert list(RECIPE.stages()) == ["counted", "stage_2"]
    planned = PlannedTables("2019")
    assert (planned.n_rows("tasks"), planned.has("tasks"), planned.synthetic) == (1, True, True)
    # What is derived is a stage of its own, before those that read it, and once.
    assert planned.instance_attempts is planned.instance_attempts
    assert list(planned.stages) == ["instance_attempts"]


def test_where_keeps_tasks_and_what_belongs_to_them() -> None:
    task = {"instance_index": 0, "collection_type": "JOB"}
    both = tiny(
        instance_events=[*LIFE, *life("SUBMIT 5", 2)],
        collection_events=[{"collection_id": c, "time": 5, "type": "SUBMIT"} for c in (1, 2)],
        tasks=[
            {"collection_id": 1, "priority": 9, **task},
            {"collection_id": 2, "priority": 0, **task},
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
            {"collection_id": 1, "priority": 9, "cpu_request": 0.5},
            {"collection_id": 2, "priority": 9, "cpu_request": 0.25},
            {"collection_id": 3, "priority": 0, "cpu_request": 0.5},
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


def test_packages_that_are_not_there_hold_no_recipe() -> None:
    assert collect(("borgtrace.nowhere",)) == {}


def test_a_question_enters_only_its_own_module() -> None:
    script = (
        "import sys; from borgtrace.question import find; find('machine_shapes');"
        "print(*(name for name in sys.modules if name.startswith(('borgtrace.analyses.', 'borgtrace.colocation'))))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in found if "._" not in name] == [
        "borgtrace.analyses.machines.machine_shapes"
    ]


def test_a_recipe_with_a_type_is_found(tmp_path, monkeypatch) -> None:
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "__init__.py").touch()
    (tmp_path / "asked" / "alloc_sets.py").write_text(
        '"""Is it found?"""\n'
        "from borgtrace.analyses.dependencies.alloc_sets import RECIPE as KNOWN, compute\n"
        "from borgtrace.question import Recipe\n"
        "def plot(result): ...\n"
        "RECIPE: Question = Recipe(KNOWN.result, compute, plot)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert [one.module for one in collect(("asked",)).values()] == ["asked.alloc_sets"]
    (tmp_path / "asked" / "alloc_sets.py").rename(tmp_path / "asked" / "other.py")
    with pytest.raises(UsageError) as caught:
        collect(("asked",))
    assert str(caught.value) == "recipes: asked.other does not declare other: got alloc_sets"


def test_modules_that_declare_a_question_are_found_by_their_text(tmp_path, monkeypatch) -> None:
    files = {
        "declared/__init__.py": "",
        # Private, or without a declaration: they hide none of those that come after them.
        "declared/_hidden.py": "RECIPE = 1",
        "declared/a_plain.py": "recipe = 1",
        "declared/b.py": "RECIPE = 1",
        "declared/_private/z.py": "RECIPE = 1",
        "declared/sub/c.py": "EXPERIMENT: object = 2",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    assert modules(("declared",)) == {"b": "declared.b", "c": "declared.sub.c"}
    (tmp_path / "declared" / "sub" / "b.py").write_text("RECIPE = 3")
    with pytest.raises(UsageError) as caught:
        modules(("declared",))
    assert str(caught.value) == "recipes: two modules declare b: got declared.sub.b"


@pytest.mark.parametrize(
    ("order", "topic"), [(0, "Machines"), (49, "Machines"), (50, "Jobs"), (100, "Jobs")]
)
def test_a_topic_holds_from_its_order_on(
    order: int, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = sys.modules["tests.question"]
    question = replace(RECIPE, order=order)
    monkeypatch.setattr(package, "TOPICS", {0: "Machines", 50: "Jobs", 200: "Users"}, raising=False)
    assert question.topic == topic
    monkeypatch.delattr(package, "TOPICS")
    monkeypatch.setattr(package, "__doc__", "Questions of ours: all of them.\nThey are few.")
    assert question.topic == "Questions of ours"
    monkeypatch.setattr(package, "__doc__", None)
    assert question.topic == "tests.question"


def test_a_question_that_reads_a_part_of_its_module() -> None:
    text = "Why?\n\nBecause\nit is so.\n\nReference: Somebody,\n2020."
    module = type(sys)("asked_in_a_test")
    module.__doc__ = text

    def drawn(result: object) -> None: ...

    drawn.__module__ = module.__name__
    sys.modules[module.__name__] = module
    try:
        question = replace(RECIPE, plot=drawn)
        assert (question.question, question.method) == ("Why?", "Because\nit is so.")
        assert question.reference == "Somebody, 2020"
        module.__doc__ = None
        assert (question.question, question.method, question.reference) == ("n_events", "", "")
    finally:
        del sys.modules[module.__name__]


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
    assert RECIPE.time_units == {}


def test_questions_of_one_kind_share_their_subject() -> None:
    class Other(Question):
        """A kind of its own, which is asked of something else."""

        def subject(self, tables: object) -> object:
            return [tables]

    first, second = replace(RECIPE), replace(RECIPE)
    others = [Other(RESULT, compute, plot) for _ in range(2)]
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
