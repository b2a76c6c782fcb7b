"""A store within reach of a dot: queries with parameters, tables, questions, one task, a page, comparisons."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError

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
    drawn = [(round(row["hour"] * 3600), round(row["cpu"], 4)) for row in rows]
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
    assert functions == {"compare", "open"}


def test_ingest_is_called_as_often_as_one_likes(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "machine_events"
    raw.mkdir(parents=True)
    (raw / "part-00000-of-00001.csv").write_text("0,1,0,P,0.5,0.25\n")
    for name in ("first", "second"):
        result = borgtrace.ingest.ingest([tmp_path / "raw"], tmp_path / name)
        assert result.manifest.tables["machine_events"] == 1
