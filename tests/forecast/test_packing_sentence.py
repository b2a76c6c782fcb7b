"""The sentence about packings by forecasts: fewest machines at the overload that was told, beside two references."""

from __future__ import annotations

import pyarrow as pa
import pytest

from borgtrace.forecast.packing import fewest_machines

REFERENCES = {"history": (9, 0.02), "future": (7, 0.0)}
BESIDE = (
    "9 machines (2 % overloaded) by the last hour's usage; "
    "7 machines (0 % overloaded) by the hour to come, were it known."
)


def answer(machines_and_overload: dict[str, tuple[int, float]], rho: float = 0.01) -> pa.Table:
    """Rows of the answer, by forecaster."""
    return pa.Table.from_pylist(
        [
            {
                "resource": "cpu",
                "forecaster": name,
                "rho": rho,
                "tasks": 30,
                "machines": machines,
                "overload": overload,
            }
            for name, (machines, overload) in machines_and_overload.items()
        ]
    )


@pytest.mark.parametrize(
    ("forecasters", "expected"),
    [
        (
            # The one with fewest machines is overloaded too often.
            {"boosting": (6, 0.011), "persistence": (8, 0.0), "seasonal": (8, 0.01)},
            "cpu: fewest machines at an overload of at most 1 % are needed by persistence: "
            "8 machines (0 % overloaded); ",
        ),
        (
            {"boosting": (1, 0.5), "persistence": (8, 0.03)},
            "cpu: no forecaster keeps 1 %; least overloaded is persistence: 8 machines (3 % overloaded); ",
        ),
    ],
)
def test_fewest_machines_at_the_overload_that_was_told(
    forecasters: dict[str, tuple[int, float]], expected: str
) -> None:
    table = answer({**forecasters, **REFERENCES})
    others = answer({"boosting": (1, 0.0)}, rho=0.1)
    assert fewest_machines(pa.concat_tables([others, table])) == expected + BESIDE
