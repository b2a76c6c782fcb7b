"""One task's life on a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.report import task_page
from borgtrace.report.charts import ROWS, figure
from borgtrace.report.task_life import Life, chart, read_life
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.arrow import arrow_field
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store import Store

from .conftest import HOUR, manifest
from .test_browser import drawn, errors, tooltip

Browser = Callable[..., Any]


def rows_of(spec: dict[str, Any], panel: int) -> list[dict[str, Any]]:
    """Return the rows of the first view of a panel that has data."""
    view = spec["vconcat"][panel]
    views = [view, *view.get("layer", [])]
    data = next(view["data"] for view in views if "data" in view)
    rows: list[dict[str, Any]] = data.get("values") or spec["datasets"][data["name"]]
    return rows


def drawing_of(life: Life) -> Any:
    """Return the chart of a life that has one."""
    drawing = chart(life)
    assert drawing is not None
    return drawing


def figure_of(life: Life) -> dict[str, Any]:
    """Return the chart of a life as the page embeds it."""
    spec: dict[str, Any] = json.loads(figure(drawing_of(life), "Life.").spec)
    return spec


def test_events_and_windows_are_those_of_the_task(tiny_store: Store) -> None:
    life = read_life(tiny_store, 100, 0)
    assert life.events["type"].to_pylist() == ["SUBMIT", "SCHEDULE", "EVICT"]
    assert life.events["time"].to_pylist() == [
        0,
        HOUR,
        2 * HOUR,
    ]
    assert life.usage["average_cpu"].to_pylist() == pytest.approx([0.1, 0.2, 0.4])
    # A trace of 2011 has no percentiles.
    assert life.percentiles == {}


def hour(value: float) -> Any:
    """Charts count hours of the trace's clock from its start at 600 s, and carry six digits."""
    return pytest.approx(value - 1 / 6, abs=5e-6)


def test_gap_breaks_the_line(tiny_store: Store) -> None:
    rows = rows_of(figure_of(read_life(tiny_store, 100, 0)), 1)
    mean = [(row["hour"], row["value"]) for row in rows if row["series"] == "mean"]
    assert mean == [
        (hour(1), 0.1),
        (hour(1 + 1 / 12), 0.2),
        (hour(1 + 2 / 12), 0.2),
        (hour(1 + 2 / 12), None),
        (hour(1.25), 0.4),
        (hour(1 + 4 / 12), 0.4),
        (hour(1 + 4 / 12), None),
    ]


def test_panels_have_one_axis_and_a_rule_at_the_request(tiny_store: Store) -> None:
    spec = drawing_of(read_life(tiny_store, 100, 0)).to_dict()
    events, cpu, memory = spec["vconcat"]
    # From before the trace to its eviction 110 minutes after the start, and 1.5 % of that on either side.
    assert events["encoding"]["x"]["scale"]["domain"] == pytest.approx([-0.0275, 1.86083], abs=1e-5)
    assert events["encoding"]["x"]["title"] == "hours since the start of the trace"
    assert cpu["layer"][0]["encoding"]["x"]["scale"] == events["encoding"]["x"]["scale"]
    assert cpu["layer"][1]["mark"]["strokeDash"] == [5, 3]
    assert cpu["layer"][1]["encoding"] == {"y": {"datum": 0.25}}
    assert (events["title"], cpu["title"], memory["title"]) == ("Events", "CPU", "Memory")
    assert events["encoding"]["y"]["sort"] == ["SUBMIT", "SCHEDULE", "EVICT"]
    assert spec["resolve"] == {"scale": {"color": "independent"}}


def test_ids_are_text_that_a_browser_does_not_round(tiny_store: Store) -> None:
    spec = drawing_of(read_life(tiny_store, 100, 0)).to_dict()
    assert [row["machine_id"] for row in rows_of(spec, 0)] == [None, "7", "7"]
    assert {row["machine"] for row in rows_of(spec, 1)} == {"7"}


def test_a_task_at_one_instant_leaves_the_axis_to_the_library() -> None:
    events = life_of(0).events.set_column(0, "time", pa.array([HOUR]))
    life = replace(life_of(0), events=events)
    panel = drawing_of(life).to_dict()["vconcat"][0]
    assert "scale" not in panel["encoding"]["x"]
    nothing = replace(life, events=life.events.slice(0, 0))
    assert chart(nothing) is None
    assert task_page.span(manifest(), nothing) == "at an unknown time"
    assert (
        task_page.span(manifest(), life)
        == "from 1 May 2011 19:50:00 EDT to 1 May 2011 19:50:00 EDT"
    )


def test_task_without_usage_has_events_only(tiny_store: Store) -> None:
    assert len(figure_of(read_life(tiny_store, 100, 1))["vconcat"]) == 1


def test_unknown_task(tiny_store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        task_page.write(tiny_store, 100, 7, tmp_path / "x.html")
    assert str(caught.value) == "task: not in this store: got instance 7; it has instances 0 to 1"
    assert list(tmp_path.iterdir()) == []


def table_of(name: str, columns: dict[str, list[Any]]) -> pa.Table:
    """Return columns with their types in a table of the store."""
    fields = []
    for column in columns:
        fields.append(arrow_field(TABLES[name].column(column)).with_nullable(True))
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def life_of(n: int) -> Life:
    """A task with `n` windows after each other, and an event after the end of the trace."""
    starts = [i * 300_000_000 + HOUR for i in range(n)]
    usage: dict[str, list[Any]] = {
        "start_time": starts,
        "end_time": [start + 300_000_000 for start in starts],
        "machine_id": [7] * n,
        "average_cpu": [0.5] * n,
        "maximum_cpu": [0.5] * n,
        "sampled_cpu": [0.5] * n,
        "average_memory": [0.5] * n,
        "maximum_memory": [0.5] * n,
        "assigned_memory": [0.5] * n,
    }
    event: dict[str, list[Any]] = {
        "time": [AFTER_TRACE],
        "type": ["LOST"],
        "machine_id": [None],
        "priority": [None],
        "cpu_request": [None],
        "memory_request": [None],
    }
    return Life(
        collection_id=1,
        instance_index=2,
        events=table_of("instance_events", event),
        usage=table_of("instance_usage", usage),
        task=dict.fromkeys(TABLES["tasks"].names),
    )


def test_a_month_of_windows_is_reduced() -> None:
    embedded = figure(drawing_of(life_of(8_640)), "Life.")
    assert embedded.n_rows <= 2 * ROWS + 1
    assert len(embedded.spec) < 3_000_000


def test_event_after_the_trace_is_drawn_at_the_last_known_time() -> None:
    spec = figure_of(life_of(2))
    assert [row["hour"] for row in rows_of(spec, 0)] == [hour(1 + 2 / 12)]


def test_page_says_what_it_shows(tiny_store: Store, tmp_path: Path) -> None:
    html = task_page.write(tiny_store, 100, 0, tmp_path / "life.html").read_text()
    assert "<h1>Task 100:0</h1>" in html
    assert "3 events and 3 usage windows, from before the trace to 1 May 2011 20:50:00 EDT." in html
    assert "SYNTHETIC" not in html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["life.html"]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_page_in_a_browser(
    browser: Browser,
    tiny_store: Store,
    tmp_path: Path,
    width: int,
    dark: bool,
) -> None:
    driver = browser(task_page.write(tiny_store, 100, 0, tmp_path / "life.html"), width, dark=dark)
    assert drawn(driver) == ["drawn"]
    assert errors(driver) == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    chart_box, svg_box = driver.execute_script(
        "return ['.chart', '.chart svg'].map(s => document.querySelector(s).getBoundingClientRect().width)"
    )
    assert svg_box <= chart_box
    event = driver.find_elements("css selector", ".chart .mark-symbol path")[1]
    assert "SCHEDULE" in tooltip(driver, event)


def test_percentiles_are_a_fan_behind_the_lines_with_a_legend() -> None:
    """Two windows; the second has no percentiles: bands end where the first does."""
    percentiles = {}
    for place, name in enumerate(PERCENTILES):
        percentiles[name] = pa.chunked_array([[place / 20, None]])
    life = replace(life_of(2), percentiles=percentiles)
    _, cpu, memory = drawing_of(life).to_dict()["vconcat"]
    assert "layer" not in memory
    bands, lines = cpu["layer"]
    assert bands["mark"]["type"] == "area"
    assert bands["mark"]["interpolate"] == "step-after"
    assert lines["mark"]["type"] == "line"
    fan = ["p0–p100", "p10–p90", "p20–p80", "p30–p70", "p40–p60"]
    color = bands["encoding"]["color"]
    assert color["sort"] == [
        *fan,
        "mean",
        "maximum",
        "one random second",
    ]
    assert color["scale"]["domain"] == color["sort"]
    assert color.get("legend", "by default") is not None
    rows = bands["data"]["values"]
    # Percentiles 0, 10 … 100 are 0, 0.05 … 0.5 here: the band from p10 to p90 lies between 0.05 and 0.45.
    edges = [(row["value"], row["high"]) for row in rows if row["series"] == "p10–p90"]
    assert edges == [
        (0.05, 0.45),
        (0.05, 0.45),
        (None, None),
    ]
    assert [row["series"] for row in rows[::3]] == fan


def test_the_fan_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    from tests.ingest.raw import usage_record, write_records

    write_records(tmp_path / "raw", "instance_usage", [usage_record()])
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    which = (usage_record()["collection_id"], usage_record()["instance_index"])
    driver = browser(
        task_page.write(store, int(which[0]), int(which[1]), tmp_path / "life.html"), 1280
    )
    assert drawn(driver) == ["drawn"]
    assert errors(driver) == []
    # One area for each band, and its name in the legend.
    assert len(driver.find_elements("css selector", ".chart .mark-area path:not(.background)")) == 5
    words = driver.execute_script("return document.querySelector('.chart svg').textContent")
    for band in ("p0–p100", "p10–p90", "p20–p80", "p30–p70", "p40–p60"):
        assert band in words


def test_an_alloc_instance_is_a_trace_with_a_page(tmp_path: Path) -> None:
    """2019: the instance of an alloc set has events, windows and percentiles of its own."""
    from tests.ingest.raw import event_record, usage_record, write_records

    usage = usage_record(collection_type="1")
    write_records(tmp_path / "raw", "instance_usage", [usage])
    write_records(tmp_path / "raw", "instance_events", [event_record(collection_type="1")])
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    (task,) = store.sql(
        "select collection_id, instance_index, collection_type from tasks"
    ).to_pylist()
    assert task["collection_type"] == "ALLOC_SET"
    which = task["collection_id"], task["instance_index"]
    assert store.trace(*which)["average_cpu"].tolist() == pytest.approx(
        [usage["average_usage"]["cpus"]]
    )
    life = read_life(store, *which)
    assert life.percentiles["p100"].to_pylist() == pytest.approx(
        [usage["cpu_usage_distribution"][10]]
    )
    page = task_page.write(store, *which, tmp_path / "alloc.html").read_text()
    assert "p40–p60" in page
    assert "ALLOC_SET" in page


def test_a_task_of_a_named_cluster_is_drawn_in_own_units(tmp_path: Path) -> None:
    from tests.ingest.own_data import hashed
    from tests.notation.cluster import named_cluster

    store = named_cluster(tmp_path)
    html = task_page.write(store, hashed("shop/db/main"), 0, tmp_path / "db.html").read_text()
    assert f"<h1>Task shop/db/main ({hashed('shop/db/main')}:0)</h1>" in html
    assert "hours since 2026-11-01 00:00 UTC" in html
    assert '"title":"cores"' in html.replace('": "', '":"')
    assert "mean average CPU (cores)</dt><dd>1</dd>" in html
    assert "<td>node-01</td>" in html
    assert "2026-11-01 00:05:00 UTC (0.08333 h)" in html
    assert "of the largest machine" not in html
