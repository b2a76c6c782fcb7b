"""The page on several stores: what it says of their units, and their answers beside each other."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from borgtrace.question import EngineTables
from borgtrace.question.job_distances import DISTANCES
from borgtrace.report.comparison import comparison_html
from borgtrace.schema.arrow import arrow_schema

from . import questions_of_tests as questions
from .conftest import manifest

NO_DISTANCES = pa.Table.from_pylist([], arrow_schema(DISTANCES))


def page(*numbers: int, name: str = "queue_steps", **changes: Any) -> str:
    """Compare answers of so many steps; what is changed is the manifest of the last store."""
    question = next(question for question in questions.QUESTIONS if question.name == name)
    stores = {
        label: SimpleNamespace(manifest=manifest())
        for label, _ in zip("pqr", numbers, strict=False)
    }
    stores |= {list(stores)[-1]: SimpleNamespace(manifest=manifest(**changes))}
    answers = {
        label: (
            question if name == "no_answer" else replace(question, compute=questions.answer(n))
        ).run(EngineTables({}))
        for label, n in zip(stores, numbers, strict=True)
    }
    return comparison_html(stores, NO_DISTANCES, [answers])  # type: ignore[arg-type]


def test_units_are_shared_by_stores_of_one_trace() -> None:
    assert "fractions of the same machine" in page(1, 1, name="no_answer")
    other = page(
        1,
        1,
        name="no_answer",
        generation="2019",
        cell="a",
    )
    assert "fractions of different machines" in other
    assert (
        "<li><strong>q</strong>: Google cluster trace 2019, cell a, digest <code>abababababab</code></li>"
        in other
    )
    # One of two others is enough.
    assert "fractions of different machines" in page(
        1,
        1,
        1,
        name="no_answer",
        generation="2019",
        cell="a",
    )


def test_answers_stand_beside_each_other() -> None:
    html = page(3, 21)
    # A row for each step of either store, of two series; forty are shown.
    assert "<caption>The first 40 of 42 rows</caption>" in html
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)', html.partition("The first 40")[2])
    assert headings[:6] == ["series", "hour ", "n, p", "n, q", "CPU, p", "CPU, q"]
    # The peak is the step at a third: both are above 1000.
    claim = html.partition('<th scope="row">the queue has a peak</th>')[2].partition("</tr>")[0]
    assert re.findall(r"77777 <span[^>]*>(.*?)</span>", claim) == ["holds", "holds"]


def spec(html: str) -> dict[str, Any]:
    """Return the only chart of a page."""
    (text,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    chart: dict[str, Any] = json.loads(text)
    return chart


def test_charts_share_their_axes_where_each_is_one_view() -> None:
    one_view = spec(page(3, 300))
    assert [panel["title"] for panel in one_view["hconcat"]] == ["p", "q"]
    assert one_view["resolve"]["scale"] == {"x": "shared", "y": "shared", "color": "shared"}
    # Panels of one chart keep their own.
    assert "resolve" not in spec(page(3, 300, name="side_by_side"))


def test_a_chart_of_too_many_points_is_left_out() -> None:
    """A heat map is of all its rows: 10,500 steps of two series."""
    html = page(10_500, 3, name="heat_map")
    assert "No chart: 21,000 points are too many to draw." in html
    assert "data-chart" not in html.partition("<script>")[0]


def test_a_question_that_nobody_answers_has_reasons_and_no_chart() -> None:
    html = page(1, 1, name="no_answer")
    assert html.count("not applicable: the trace has &lt;no&gt; usage &amp; is short.") == 2
    assert "<figure>" not in html
    assert "<caption>" not in html


def test_synthetic_stores_are_called_so() -> None:
    assert "SYNTHETIC" not in page(1, 1)
    one = page(1, 1, synthetic={"seed": 1})
    assert "<strong>SYNTHETIC</strong> – q was generated, not recorded. Its numbers" in one
