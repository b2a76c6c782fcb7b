"""The sentence about recommenders names the requests as they are where others do no better."""

from __future__ import annotations

import pyarrow as pa
import pytest

from borgtrace.overcommit.recommenders.table import least_slack


def answer(**slack_and_short: tuple[float, float]) -> pa.Table:
    """Rows of the answer, by recommender."""
    return pa.Table.from_pylist(
        [
            {
                "resource": "cpu",
                "tasks": "all",
                "recommender": name,
                "slack_mean": slack,
                "short": short,
            }
            for name, (slack, short) in slack_and_short.items()
        ]
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            {"katalyst": (0.05, 0.0), "request": (0.05, 0.0), "vpa": (0.2, 0.0)},
            "cpu: of 3, least is wasted, with at most 1 % of the time above the limit, by the requests as they are: "
            "5 % of the limits not used, 0 % of the time above them.",
        ),
        (
            {"katalyst": (0.04, 0.0), "request": (0.05, 0.0)},
            "cpu: of 2, least is wasted, with at most 1 % of the time above the limit, by katalyst: "
            "4 % of the limits not used, 0 % of the time above them.",
        ),
        (
            {"katalyst": (0.05, 0.03), "request": (0.05, 0.03), "vpa": (0.0, 0.2)},
            "cpu: none of 3 recommenders keeps 1 %; least time is spent above the limit by the requests as "
            "they are: 5 % of the limits not used, 3 % of the time above them.",
        ),
    ],
)
def test_requests_come_first_where_others_are_no_better(
    rows: dict[str, tuple[float, float]], sentence: str
) -> None:
    assert least_slack(answer(**rows)) == sentence
