"""Charts of answers typed by hand: which panels there are, and what they draw."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.analyses.submissions import submissions
from borgtrace.catalog import find
from borgtrace.engine.embedded import raw_connection
from borgtrace.schema import Table
from borgtrace.schema.arrow import arrow_schema
from borgtrace.schema.time import HOUR

Rows = list[dict[str, Any]]


def drawn(name: str, rows: Rows) -> dict[str, Any]:
    spec: dict[str, Any] = find(name).plot(pa.Table.from_pylist(rows)).to_dict()
    return spec


def data(panel: dict[str, Any]) -> Rows:
    rows: Rows = panel["data"]["values"]
    return rows


def step(number: int, **counts: int) -> dict[str, Any]:
    return {"time": number * HOUR, **counts}


def test_the_queue_and_what_runs_stand_side_by_side() -> None:
    names = ("pending", "pending_published", "running", "running_published")
    rows = [
        step(number, **{name: number + place for place, name in enumerate(names)})
        for number in (1, 2)
    ]
    pending, running = drawn("queue_length", rows)["hconcat"]
    assert (pending["title"], running["title"]) == ("Tasks pending", "Tasks running")
    assert [(row["hour"], row["series"], row["value"]) for row in data(pending)] == [
        (1, "stock", 1),
        (1, "published formula", 2),
        (2, "stock", 2),
        (2, "published formula", 3),
    ]
    # A queue need not begin at 0 to be seen to grow.
    assert pending["encoding"]["y"]["scale"] == {"zero": False}
    assert pending["encoding"]["x"]["title"] == "hour of the trace"


def test_curves_of_submissions_end_at_one_or_at_their_share_of_the_new() -> None:
    rows = [
        step(1, new=1, submitted=1, scheduled=0, completed=0),
        step(2, new=2, submitted=4, scheduled=3, completed=0),
    ]
    own, weighted = drawn("submissions", rows)["hconcat"]
    assert (own["title"], weighted["title"]) == ("CDF", "Weighted CDF")
    ends = [
        {row["series"]: row["share"] for row in data(panel) if row["hour"] == 2}
        for panel in (own, weighted)
    ]
    # Nothing is completed: no number is divided by nothing.
    assert ends[0] == {"new": 1, "submitted": 1, "scheduled": 1, "completed": 0}
    assert ends[1] == {"new": 1, "submitted": 2, "scheduled": 1.5, "completed": 0}
    assert own["encoding"]["color"]["sort"] == ["new", "submitted", "scheduled", "completed"]


@pytest.mark.parametrize(("n", "kept"), [(600, 600), (601, 600), (5, 5), (1, 1)])
def test_a_long_curve_keeps_its_ends(n: int, kept: int) -> None:
    thin = submissions._thin(pa.table({"time": range(n)}))["time"].to_pylist()
    assert (len(thin), thin[0], thin[-1]) == (kept, 0, n - 1)


def level(tier: str, used: float) -> dict[str, Any]:
    names = [
        f"{resource}_{what}"
        for resource in ("cpu", "memory")
        for what in ("used", "allocated", "capacity")
    ]
    return {
        "tier": tier,
        "hour": 0,
        **dict(zip(names, (used, 2 * used, 9.0, used / 2, used, 8.0), strict=True)),
    }


def test_what_is_used_is_stacked_under_what_is_allocated_and_there() -> None:
    rows = [level("free", 1.0), level("production", 2.0)]
    spec = drawn("utilization", rows)
    cpu, memory, own = spec["hconcat"]
    for panel, name in ((cpu, "cpu"), (memory, "memory")):
        assert [layer["mark"]["type"] for layer in panel["layer"]] == ["area", "line", "line"]
        fields = [layer["encoding"]["y"]["field"] for layer in panel["layer"]]
        assert fields == [f"{name}_used", f"{name}_allocated", f"{name}_capacity"]
    # The lines are those of the whole cell.
    assert [data(layer)[0]["cpu_allocated"] for layer in cpu["layer"][1:2]] == [6.0]
    assert [data(layer)[0]["memory_capacity"] for layer in memory["layer"][2:]] == [8.0]
    assert [layer["mark"].get("strokeDash") for layer in own["layer"]] == [
        None,
        [5, 3],
        None,
        [5, 3],
    ]
    assert data(own)[0]["cpu_used"] == 2.0
    # Without production there is no panel of it.
    assert len(drawn("utilization", rows[:1])["hconcat"]) == 2


@pytest.mark.parametrize(("name", "by"), [("hourly_change", "tier"), ("window_change", "level")])
def test_curves_of_change_run_from_none_to_twice(name: str, by: str) -> None:
    rows = [
        {
            by: "free",
            "resource": resource,
            "percent": percent,
            "n_pairs": 1,
            "seconds": 600,
            "share": share,
        }
        for resource in ("cpu", "memory")
        for percent, share in ((0, 0.5), (201, 1.0))
    ]
    spec = drawn(name, rows)
    encoding = spec["spec"]["encoding"]
    assert spec["facet"]["column"]["field"] == "resource"
    assert (encoding["x"]["scale"]["domain"], encoding["y"]["scale"]["domain"]) == (
        [0, 200],
        [0, 1],
    )
    # What changes by more than 200 % stands at the edge.
    assert encoding["x"]["scale"]["clamp"] is True
    assert encoding["color"]["field"] == by
    assert spec["spec"]["mark"] == {"type": "line", "interpolate": "step-after"}


def test_the_list_of_charts_names_questions_and_their_columns() -> None:
    listed = tomllib.loads((files("borgtrace.analyses") / "charts.toml").read_text("utf-8"))
    for name, said in listed.items():
        recipe = find(name)
        assert recipe.module == f"borgtrace.analyses.{name}"
        queries = [each["rows"] for each in (said, *said.get("panels", ())) if "rows" in each]
        found = {column for query in queries for column in _found(recipe.result, query)}
        assert set(_columns(said)) <= {*recipe.result.names, "series", "value", *found}, name


def _found(declared: Table, query: str) -> list[str]:
    """Return the columns of what a query finds in an answer."""
    with raw_connection() as connection:
        return (
            connection.register("answer", arrow_schema(declared).empty_table()).sql(query).columns
        )


def _columns(said: Any) -> Iterator[str]:
    """Return the columns that a paragraph of the list names."""
    for name, what in said.items() if isinstance(said, dict) else ():
        if name in ("column", "tips") or name.endswith("_axis"):
            yield from (
                re.sub(r"sum\((.*)\)", r"\1", one)
                for one in ([what] if isinstance(what, str) else what)
            )
        if name == "facet":
            yield from (
                field for place, field in what.items() if place in ("row", "column", "wrap")
            )
        elif name in ("layers", "tips", "panels") and isinstance(what, list):
            for layer in what:
                yield from _columns(layer)
        else:
            yield from _columns(what)


def test_a_listed_chart_is_drawn_as_it_is_said() -> None:
    rows = [
        {
            "platform_id": name,
            "cpu_capacity": 0.5,
            "memory_capacity": 0.25,
            "n_at_start": 3,
            "n_first": 3,
            "n_last": n,
        }
        for name, n in (("a", 3), ("b", 1))
    ]
    spec = drawn("machine_shapes", rows)
    assert (spec["title"], spec["mark"]) == (
        "Machines by capacity",
        {"type": "point", "filled": True, "opacity": 0.7},
    )
    channels = spec["encoding"]
    assert channels["x"]["title"] == "CPU (of the largest machine)"
    assert channels["size"]["scale"] == {"range": [20, 1500]}
    # A legend of false is none: the names are hashes.
    assert channels["color"]["legend"] is None
