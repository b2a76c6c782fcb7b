"""Charts of answers typed by hand: which panels there are, and what they draw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from borgtrace.analyses.submissions import submissions
from borgtrace.catalog import find, listed_names
from borgtrace.question import Answer
from borgtrace.schema.time import HOUR

Rows = list[dict[str, Any]]
QUESTION_NAMES = [
    name for name, folder in listed_names() if folder.__name__.startswith("borgtrace.analyses")
]


def drawn(name: str, rows: Rows) -> dict[str, Any]:
    spec: dict[str, Any] = find(name).chart(pa.Table.from_pylist(rows)).to_dict()
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
    assert pending["title"] == "Tasks pending"
    assert running["title"] == "Tasks running"
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
    # One task ran before the trace: within it two were new, and one of them was submitted three times.
    rows = [
        step(0, new=1, submitted=1, scheduled=1, completed=0),
        step(1, new=2, submitted=2, scheduled=1, completed=0),
        step(2, new=3, submitted=5, scheduled=4, completed=0),
    ]
    own, weighted = drawn("submissions", rows)["hconcat"]
    assert own["title"] == "CDF within the trace (Zhu et al., Fig. 2)"
    assert weighted["title"] == "Weighted CDF, tasks before the trace included (Zhu et al., Fig. 3)"
    ends = [
        {row["series"]: row["share"] for row in data(panel) if row["hour"] == 2}
        for panel in (own, weighted)
    ]
    # Nothing is completed: no number is divided by nothing.
    assert ends[0] == {
        "new": 1,
        "submitted": 1,
        "scheduled": 1,
        "completed": 0,
    }
    assert ends[1] == {
        "new": 1,
        "submitted": 5 / 3,
        "scheduled": 4 / 3,
        "completed": 0,
    }
    assert own["encoding"]["color"]["sort"] == ["new", "submitted", "scheduled", "completed"]


@pytest.mark.parametrize(
    ("n", "n_shown"),
    [
        (600, 600),
        (601, 600),
        (5, 5),
        (1, 1),
    ],
)
def test_a_long_curve_keeps_its_ends(n: int, n_shown: int) -> None:
    times = submissions.evenly_thinned(pa.table({"time": range(n)}))["time"].to_pylist()
    assert len(times) == n_shown
    assert times[0] == 0
    assert times[-1] == n - 1


def level(tier: str, used: float) -> dict[str, Any]:
    names = [
        f"{resource}_{what}"
        for resource in ("cpu", "memory")
        for what in ("used", "allocated", "capacity")
    ]
    return {
        "tier": tier,
        "hour": 0,
        "measured": 1.0,
        **dict(zip(names, (used, 2 * used, 9.0, used / 2, used, 8.0), strict=True)),
    }


def test_what_is_used_is_stacked_under_what_is_allocated_and_there() -> None:
    rows = [level("free", 1.0), level("production", 2.0)]
    spec = drawn("utilization", rows)
    cpu, memory, *production = spec["concat"]
    for panel, name in ((cpu, "cpu"), (memory, "memory")):
        assert [layer["mark"]["type"] for layer in panel["layer"]] == ["area", "line", "line"]
        fields = [layer["encoding"]["y"]["field"] for layer in panel["layer"]]
        assert fields == [
            f"{name}_used",
            f"{name}_allocated",
            f"{name}_capacity",
        ]
    # The lines are those of the whole cell.
    assert [data(layer)[0]["cpu_allocated"] for layer in cpu["layer"][1:2]] == [6.0]
    assert [data(layer)[0]["memory_capacity"] for layer in memory["layer"][2:]] == [8.0]
    # CPU and memory have units of their own, so that each has a panel.
    for panel, name, used in zip(production, ("cpu", "memory"), (2.0, 1.0), strict=True):
        assert [layer["mark"].get("strokeDash") for layer in panel["layer"]] == [None, [5, 3]]
        assert data(panel["layer"][0])[0][f"{name}_used"] == used
    # Without production there is no panel of it.
    assert len(drawn("utilization", rows[:1])["concat"]) == 2


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
    assert encoding["x"]["scale"]["domain"] == [0, 200]
    assert encoding["y"]["scale"]["domain"] == [0, 1]
    # What changes by more than 200 % stands at the edge.
    assert encoding["x"]["scale"]["clamp"] is True
    assert encoding["color"]["field"] == by
    assert spec["spec"]["mark"] == {"type": "line", "interpolate": "step-after"}


@pytest.mark.parametrize("name", QUESTION_NAMES)
def test_every_chart_draws_columns_that_its_rows_have_and_names_its_figures(name: str) -> None:
    question = find(name)
    spec = question.chart(typed_answer(question.answer)).to_dict()
    headings = " ".join(headings_of(spec))
    for figure in figures_cited(question.reference):
        assert figure in figures_cited(headings)
    for panel in panels_with_data(spec):
        rows = data(panel)
        columns = {column for row in rows for column in row}
        if rows:
            assert encoded_fields(panel) <= columns


def figures_cited(text: str) -> set[str]:
    """Return the figures that a text cites by number, such as ``"6"`` and ``"7"`` of "Fig. 6 and 7"."""
    return {
        number
        for numbers in re.findall(r"Fig\. ((?:\d+|, | and |–)+)", text)
        for number in re.findall(r"\d+", numbers)
    }


def headings_of(spec: dict[str, Any]) -> Iterator[str]:
    """Yield the headings of a chart and of its parts."""
    title = spec.get("title", "")
    if isinstance(title, dict):
        yield title["text"]
        yield from title.get("subtitle", [])
    else:
        yield title
    for parts in ("layer", "hconcat", "vconcat"):
        for part in spec.get(parts, []):
            yield from headings_of(part)


def typed_answer(answer: Answer) -> pa.Table:
    """Return three rows with a value in every column; those of text are names of groups that charts select."""
    columns = {}
    for column in (*answer.key, *answer.columns):
        match column.type:
            case "enum":
                columns[column.name] = ["SUBMIT", "SCHEDULE", "KILL"]
            case "string":
                columns[column.name] = ["all", "tier", "all"]
            case "bool":
                columns[column.name] = [True, False, True]
            case _:
                columns[column.name] = [1, 2, 3]
    return pa.Table.from_pydict(columns).cast(answer.empty().schema)


def panels_with_data(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the charts of a specification that have rows of their own."""
    if "data" in spec:
        yield spec
    for parts in ("layer", "hconcat", "vconcat"):
        for part in spec.get(parts, []):
            yield from panels_with_data(part)


def encoded_fields(spec: dict[str, Any]) -> set[str]:
    """Return the fields that a chart draws, without those of layers that have rows of their own."""
    fields = set()
    channels = {**spec.get("encoding", {}), **spec.get("facet", {})}
    for channel in channels.values():
        for definition in channel if isinstance(channel, list) else [channel]:
            if isinstance(definition, dict) and "field" in definition:
                fields.add(definition["field"])
    parts = spec.get("layer", [])
    if "spec" in spec:
        parts = [spec["spec"]]
    for part in parts:
        if "data" not in part:
            fields |= encoded_fields(part)
    return fields


def test_machines_are_points_by_capacity() -> None:
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
    assert spec["title"] == "Machines by capacity"
    assert spec["mark"] == {
        "type": "point",
        "filled": True,
        "opacity": 0.7,
    }
    channels = spec["encoding"]
    assert channels["x"]["title"] == "CPU (of the largest machine)"
    assert channels["size"]["scale"] == {"range": [20, 1500]}
    # A legend of false is none: the names are hashes.
    assert channels["color"]["legend"] is None


def pair(before: str | None, after: str, n: int, is_legal_zhu: bool = True) -> dict[str, Any]:
    return {
        "from_type": before,
        "to_type": after,
        "n": n,
        "is_legal_document_2011": is_legal_zhu,
        "is_legal_zhu": is_legal_zhu,
    }


def test_transitions_are_states_and_arrows_without_updates() -> None:
    rows = [
        pair(None, "SUBMIT", 5),
        pair("SUBMIT", "UPDATE_PENDING", 2),
        pair("SUBMIT", "SCHEDULE", 2),
        pair("UPDATE_PENDING", "SCHEDULE", 1_000),
        pair("SUBMIT", "FINISH", 1, is_legal_zhu=False),
        pair("SCHEDULE", "FINISH", 3),
        pair("FINISH", "KILL", 4, is_legal_zhu=False),
    ]
    states, pairs = drawn("transitions", rows)["vconcat"]
    assert states["title"]["text"] == "States of tasks (Zhu et al., Fig. 1; updates left out)"
    # What the figure has no arrow for is said below it.
    assert states["title"]["subtitle"] == ["not in the figure:", "dead → dead by KILL: 4"]
    rules, heads, circles, names, text = states["layer"]
    assert len(data(rules)) == len(data(heads)) == 5
    assert [row["state"] for row in data(circles)] == ["new", "pending", "running", "dead"]
    assert names["encoding"]["text"]["field"] == "state"
    lines = {row["line"]: part["mark"].get("color") for part in text["layer"] for row in data(part)}
    assert lines == {
        "SUBMIT 5": None,
        "SCHEDULE 1,002": None,
        "FINISH 3": None,
        "FINISH 1": "#d62728",
    }
    assert len(data(pairs)) == len(rows)


def test_lengths_of_traces_are_bars_whose_area_is_the_share_of_the_tasks() -> None:
    rows = [
        {"length": length, "longest": longest, "n_tasks": n_tasks, "n_windows": 1}
        for length, longest, n_tasks in (
            (4, 4, 2),
            (5, 5, 3),
            (50, 50, 3),
            (51, 51, 1),
            (128, 255, 1),
        )
    ]
    spec = drawn("trace_lengths", rows)
    bars = {row["shortest"]: row for row in data(spec) if row["share"]}
    assert {length: (bar["end"], bar["share"]) for length, bar in bars.items()} == {
        4: (5, 0.2),
        5: (7, 0.3),
        39: (51, 0.3),
        51: (71, 0.1),
        128: (256, 0.1),
    }
    # From 128 to 256 is one doubling; from 4 to 5 are .322 of one.
    assert bars[128]["height"] == 0.1
    assert bars[4]["height"] == pytest.approx(0.2 / 0.32193, rel=1e-4)
    assert {length for length, bar in bars.items() if bar["marked"] == "5 to 50"} == {5, 39}
    assert spec["mark"]["type"] == "bar"
    note = "60% of the tasks have 5 to 50 rows; the area of a bar is its share"
    assert spec["title"]["subtitle"] == [note]
