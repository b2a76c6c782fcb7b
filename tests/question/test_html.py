"""What a notebook shows of a result is text, never markup that a trace or a path brought along."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from borgtrace.catalog import find
from tests.analyses.tiny import at, tiny

EVIL = "<img src=x onerror=alert(1)>&"
TEXT = "&lt;img src=x onerror=alert(1)&gt;&amp;"


def test_values_of_a_result_are_escaped() -> None:
    result = find("machine_attributes").run(
        tiny(
            machine_attributes=[
                {
                    "machine_id": 1,
                    "time": at(0),
                    "name": EVIL,
                    "value": "1",
                    "is_deleted": False,
                }
            ]
        )
    )
    html = result._repr_html_()
    assert EVIL not in html
    assert f"<td>{TEXT}</td>" in html


def test_names_reasons_findings_and_the_place_of_the_store_are_escaped() -> None:
    result = find("machine_removals").run(
        tiny(
            machine_events=[
                {
                    "machine_id": 1,
                    "time": 0,
                    "type": "ADD",
                }
            ]
        )
    )
    finding = replace(
        result.findings[0],
        id=EVIL,
        statement=EVIL,
        published=EVIL,
        measured=EVIL,
        reason=EVIL,
        tolerance=EVIL,
    )
    findings = (
        replace(finding, verdict="holds"),
        replace(finding, verdict="not applicable", measured="–"),
    )
    spoiled = replace(
        result,
        table=pa.table({EVIL: [1]}),
        provenance=replace(result.provenance, store=EVIL),
        findings=findings,
    )
    html = spoiled._repr_html_()
    assert EVIL not in html
    # The column, six texts of the finding that is judged, three of the one that is not, and the store.
    assert html.count(TEXT) == 11
    assert TEXT in replace(spoiled, not_applicable=EVIL)._repr_html_()
    assert EVIL not in replace(spoiled, not_applicable=EVIL)._repr_html_()


def test_missing_values_and_long_tables_say_so() -> None:
    result = find("machine_removals").run(
        tiny(
            machine_events=[
                {
                    "machine_id": 1,
                    "time": 0,
                    "type": "ADD",
                }
            ]
        )
    )
    ten = replace(result, table=pa.table({"n": [*range(9), None]}), findings=())
    assert "<td>–</td>" in ten._repr_html_()
    assert "<caption>" not in ten._repr_html_()
    eleven = replace(result, table=pa.table({"n": list(range(11))}), findings=())
    assert "<td>9</td>" in eleven._repr_html_()
    assert "<td>10</td>" not in eleven._repr_html_()
    assert "first 10 of 11 rows" in eleven._repr_html_()
