"""A store within reach of a dot: queries with parameters, tables, questions, one task, a page, comparisons."""

from __future__ import annotations

import inspect
import pydoc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace import catalog
from borgtrace.errors import EngineError, UsageError

# Job 7 has one task with three windows and an end; job 8 waits.
ROWS = {
    "machine_events": ["0,1,0,P,0.5,0.25", "0,2,0,P,0.5,0.25"],
    "task_events": [
        "600000000,,7,0,,0,u,0,9,0.2,0.1,0,0",
        "601000000,,7,0,1,1,u,0,9,0.2,0.1,0,0",
        "1500000000,,7,0,1,4,u,0,9,0.2,0.1,0,0",
        "700000000,,8,0,,0,v,0,1,0.2,0.1,0,0",
    ],
    "task_usage": [
        "600000000,900000000,7,0,1,0.1,0.01,,,,,,,,,,,,,0.11",
        "900000000,1200000000,7,0,1,0.2,,,,,,,,,,,,,,0.22",
        "1200000000,1500000000,7,0,1,0.3,0.03,,,,,,,,,,,,,0.33",
    ],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interactive")
    for table, lines in ROWS.items():
        (folder / "raw" / table).mkdir(parents=True)
        (folder / "raw" / table / "part-00000-of-00001.csv").write_text("\n".join(lines) + "\n")
    borgtrace.ingest.ingest([folder / "raw"], folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def store(path: Path) -> borgtrace.Store:
    return borgtrace.open(path)


def test_sql_takes_parameters(store: borgtrace.Store) -> None:
    query = "select collection_id from tasks where priority >= $low"
    assert store.sql(query, {"low": 9}).to_pydict() == {"collection_id": [7]}
    assert store.sql(query, {"low": 0}).num_rows == 2
    batches = store.stream("select $text as text", {"text": "'; drop table tasks"})
    assert batches.read_all().to_pylist() == [{"text": "'; drop table tasks"}]


def test_a_table_is_an_expression(store: borgtrace.Store) -> None:
    table = store.table("tasks")
    ids = table.filter(table.priority == 9).select("collection_id")
    assert ids.to_pandas().values.tolist() == [[7]]
    polars = pytest.importorskip("polars")
    assert isinstance(table.to_polars(), polars.DataFrame)


def test_an_unknown_table_is_answered_with_the_nearest(store: borgtrace.Store) -> None:
    with pytest.raises(UsageError) as caught:
        store.table("instance_usge")
    assert str(caught.value) == (
        "name: no such table: expected one of machine_events, machine_attributes, power_measurements, "
        "machine_power_domains, collection_events, instance_events, instance_constraints, instance_usage, tasks, "
        "got instance_usge; "
        "did you mean instance_usage or instance_events?"
    )


def test_questions_are_asked_with_times_as_on_the_command_line(store: borgtrace.Store) -> None:
    by_text = store.analyze("queue_length", step="10m").table
    by_number = store.analyze("queue_length", step=600_000_000).table
    assert by_text.equals(by_number)
    assert by_text.num_rows
    chosen = store.analyze("transitions", where="priority = 9").table.to_pylist()
    assert not any("8" in str(row.get("collection_id", "")) for row in chosen)
    with pytest.raises(UsageError, match="did you mean queue_length"):
        store.analyze("queue_lenght")


def test_a_task_is_a_mapping_with_units(store: borgtrace.Store) -> None:
    trace = store.trace(7, 0)
    assert repr(trace) == "<Trace of task 7-0: 3 windows>"
    assert list(trace) == ["start_time", "duration", "average_cpu", "sampled_cpu", "average_memory"]
    assert len(trace) == 5
    np.testing.assert_allclose(trace.average_cpu, [0.1, 0.2, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(trace["start_time"], [600, 900, 1200])
    assert trace.units == {
        "start_time": "s",
        "duration": "s",
        "average_cpu": "fraction",
        "sampled_cpu": "fraction",
        "average_memory": "fraction",
    }
    with pytest.raises(AttributeError):
        _ = trace.nothing
    frame = trace.to_pandas()
    assert frame.shape == (3, 5)
    assert np.isnan(frame["average_memory"][1])


def test_a_task_is_drawn_and_shown(store: borgtrace.Store) -> None:
    trace = store.trace(7, 0)
    page = trace._repr_html_()
    assert "&lt;Trace of task 7-0: 3 windows&gt;" in page
    assert page.count("<tr>") == 4
    chart = trace.plot()
    assert chart is not None
    rows = chart.to_dict()["data"]["values"]
    # Times since the start, which is at 600 s.
    drawn = [(round(row["hour"] * 3600) + 600, round(row["cpu"], 4)) for row in rows]
    assert drawn == [
        (600, 0.1),
        (900, 0.2),
        (1200, 0.3),
        (600, 0.11),
        (900, 0.22),
        (1200, 0.33),
    ]


def test_the_page_is_written(store: borgtrace.Store, tmp_path: Path) -> None:
    summary = store.report(tmp_path / "page.html", ["transitions"])
    assert summary.n_questions == 1
    assert (tmp_path / "page.html").read_text().startswith("<!")


def test_stores_are_compared_claim_by_claim(store: borgtrace.Store, path: Path) -> None:
    table = borgtrace.compare({"open": store, "path": path}, ["transitions", "machine_shapes"])
    assert table.column_names == [
        "question",
        "id",
        "statement",
        "published",
        "open measured",
        "open verdict",
        "path measured",
        "path verdict",
    ]
    rows = table.to_pylist()
    assert {row["question"] for row in rows} == {"transitions", "machine_shapes"}
    assert all(row["open verdict"] == row["path verdict"] for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)


def test_the_public_names_are_the_same_wherever_one_looks() -> None:
    names = set(borgtrace.__all__)
    assert set(dir(borgtrace)) == names
    help_text = pydoc.plain(pydoc.render_doc(borgtrace))
    assert all(name in help_text for name in names - {"__version__"})
    functions = {name for name in names if inspect.isfunction(getattr(borgtrace, name))}
    own = {"advise", "attribute_number", "compare", "compiled", "experiment", "open"}
    assert functions == own


def test_ingest_is_called_as_often_as_one_likes(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "machine_events"
    raw.mkdir(parents=True)
    (raw / "part-00000-of-00001.csv").write_text("0,1,0,P,0.5,0.25\n")
    for name in ("first", "second"):
        result = borgtrace.ingest.ingest([tmp_path / "raw"], tmp_path / name)
        assert result.manifest.tables["machine_events"] == 1


def test_the_last_task_is_minus_one_and_none_lies_beyond(store: borgtrace.Store) -> None:
    traces = store.traces()
    assert repr(traces) == "<Traces of 2 tasks: 3 windows>"
    assert [(trace.collection_id, len(trace.average_cpu)) for trace in traces] == [(7, 3), (8, 0)]
    assert traces[-2].average_cpu.tolist() == traces[0].average_cpu.tolist()
    assert len(traces[-2].average_cpu) == 3
    for beyond in (2, -3):
        with pytest.raises(IndexError):
            _ = traces[beyond]


def test_one_of_many_tasks_is_drawn_like_one(store: borgtrace.Store) -> None:
    traces = store.traces("priority = 9")
    assert isinstance(traces[0], borgtrace.Trace)
    assert traces[0].plot().to_dict() == store.trace(7, 0).plot().to_dict()
    assert "<td>7-0</td><td>3</td>" in traces._repr_html_()


def test_questions_are_listed_with_what_the_store_lacks(store: borgtrace.Store) -> None:
    questions = store.questions()
    assert questions.names == list(catalog.names())
    lines = repr(questions).splitlines()
    assert len(lines) == 31
    n_more = len(questions) - 30
    assert lines[-1] == f'… and {n_more} more; store.questions("queue") lists those about a word'
    (listed,) = store.questions("queue_length")
    assert listed.title == "Does the queue grow, and does the number of running tasks surge?"
    assert listed.missing_tables == ()
    # The store has no constraints.
    (constraints,) = (one for one in questions if one.name == "eligible_machines")
    assert "instance_constraints" in constraints.missing_tables
    assert repr(store.questions("no such words")) == "no such question"
    assert store.questions("queue").to_pandas()["name"].tolist() == store.questions("queue").names


def test_an_answer_is_a_chart_and_a_table_in_a_notebook_and_short_at_a_prompt(
    store: borgtrace.Store,
) -> None:
    answer = store.ask("queue_length", step="10m")
    page = answer._repr_html_()
    assert page.startswith('<img alt="Does the queue grow')
    assert page.index("data:image/svg+xml;base64,") < page.index("<table>")
    # What a prompt shows: the question, its first rows, and where they come from.
    lines = repr(answer).splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("queue_length: Does the queue grow")
    assert max(len(line) for line in lines[1:-1]) <= 100


def test_an_answer_goes_to_every_library_of_frames(store: borgtrace.Store) -> None:
    polars = pytest.importorskip("polars")
    answer = store.ask("machine_shapes")
    rows = answer.table.to_pylist()
    assert answer.to_pandas()[["platform_id", "n_last"]].values.tolist() == [["P", 2]]
    assert answer.to_polars().to_dicts() == rows
    assert polars.DataFrame(answer).to_dicts() == rows


def test_an_answer_that_does_not_apply_says_why_without_a_chart(store: borgtrace.Store) -> None:
    answer = store.ask("eligible_machines")
    assert "<img" not in answer._repr_html_()
    assert "Not applicable: the store holds no rows of instance_constraints" in repr(answer)


def test_a_machine_is_drawn_window_by_window_under_its_capacity(store: borgtrace.Store) -> None:
    machine = store.machine(1)
    assert repr(machine) == "<Machine 1: 1 hours of load>"
    # 300 s at .1, .2 and .3, over 3,600 s.
    (hour,) = machine.load.to_pylist()
    assert hour["cpu"] == pytest.approx(0.05)
    cpu, memory = machine.plot().to_dict()["vconcat"]
    bars = [(row["hour"], row["used"]) for row in cpu["layer"][0]["data"]["values"]]
    assert bars == [
        (pytest.approx((time - 600) / 3600), pytest.approx(used))
        for time, used in ((600, 0.1), (900, 0.2), (1200, 0.3))
    ]
    assert cpu["layer"][1]["encoding"]["y"]["datum"] == 0.5
    assert memory["layer"][1]["encoding"]["y"]["datum"] == 0.25
    (task,) = machine.tasks("700s").to_pylist()
    assert (task["collection_id"], task["instance_index"]) == (7, 0)
    assert machine.to_pandas()["n_tasks"].tolist() == [1]
    assert "<td>1</td>" in machine._repr_html_()


def test_a_machine_that_is_not_there_is_refused(store: borgtrace.Store) -> None:
    with pytest.raises(UsageError) as caught:
        store.machine(99)
    assert str(caught.value) == (
        "machine: no such machine in this store: expected an id or a name, got 99; "
        'list some: store.sql("SELECT DISTINCT machine_id FROM machine_events LIMIT 9")'
    )


def test_amounts_of_own_machines_are_drawn_in_cores_and_by_name(tmp_path: Path) -> None:
    lines = ["task,time,node,cpu,memory_bytes"]
    lines += [f"shop/web-7/app,{1793491200 + 300 * slot},n1,2.0,{2**32}" for slot in range(12)]
    (tmp_path / "usage.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "nodes.csv").write_text("node,cpu,memory\nn1,8,32Gi\nn2,16,64Gi\n")
    files = [tmp_path / "usage.csv", tmp_path / "nodes.csv"]
    borgtrace.ingest.ingest(files, tmp_path / "store")
    store = borgtrace.open(tmp_path / "store")
    machine = store.machine("n1")
    cpu, memory = machine.plot().to_dict()["vconcat"]
    assert cpu["layer"][0]["title"] == "CPU of machine n1"
    first_bar = cpu["layer"][0]["data"]["values"][0]
    assert (first_bar["hour"], first_bar["used"]) == (0, pytest.approx(2.0))
    assert cpu["layer"][0]["encoding"]["y"]["title"] == "used (cores)"
    assert cpu["layer"][1]["encoding"]["y"]["datum"] == pytest.approx(8)
    assert memory["layer"][0]["data"]["values"][0]["used"] == pytest.approx(4)
    assert memory["layer"][1]["encoding"]["y"]["datum"] == pytest.approx(32)
    assert machine.tasks("30m")["task"].to_pylist() == ["shop/web-7/app"]
    assert machine.tasks("2026-11-01 00:20")["task"].to_pylist() == ["shop/web-7/app"]
    # Twelve windows of two cores and four GiB are the first hour.
    page = machine._repr_html_()
    assert "<th>CPU (cores)</th><th>Memory (GiB)</th>" in page
    assert "<td>0</td><td>1</td><td>2</td><td>4</td>" in page
    assert store.trace("web-7").average_cpu.tolist() == [0.125] * 12
    task = store.traces()[0].plot().to_dict()
    assert task["title"] == "Task shop/web-7/app"
    assert task["encoding"]["y"]["title"] == "CPU (cores)"
    assert task["data"]["values"][0]["cpu"] == pytest.approx(2.0)


@pytest.mark.wide
def test_a_question_itself_is_asked_like_its_name(store: borgtrace.Store) -> None:
    from borgtrace.scheduling import COMPACT

    question = catalog.find("machine_shapes")
    assert store.ask(question).table.equals(store.ask("machine_shapes").table)
    assert store.ask(COMPACT, at=700 * 10**6, seeds=1).table.num_rows
    with pytest.raises(UsageError) as caught:
        store.ask(COMPACT, where="priority = 9")
    assert str(caught.value) == (
        "where: this question is about all tasks: expected none, got priority = 9; "
        "leave it out, or ask compaction of a smaller store (borgtrace subset)"
    )


FRAMES: dict[str, Callable[[borgtrace.Store], Any]] = {
    "answer": lambda store: store.ask("job_events").to_pandas(),
    "questions": lambda store: store.questions().to_pandas(),
    "table": lambda store: store.table("machine_events").to_pandas(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_without_pandas_a_frame_says_how_to_install_it(
    store: borgtrace.Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(EngineError) as caught:
        FRAMES[name](store)
    assert str(caught.value) == (
        'to_pandas: pandas is not installed; pip install "borgtrace[pandas]"'
    )
