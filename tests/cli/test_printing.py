"""JSON and columns on stdout."""

from __future__ import annotations

import io
import math
import sys

import numpy as np
import pytest

from borgtrace.cli.printing import print_columns, print_json

Capture = pytest.CaptureFixture[str]


def test_json_is_there_when_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        flushed = ""

        def flush(self) -> None:
            self.flushed = self.getvalue()

    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"n": 1})
    assert stream.flushed == '{"n": 1}\n'


def test_json_has_null_for_what_is_not_finite(capsys: Capture) -> None:
    print_json(
        {
            "rows": [{"mean": float("nan"), "n": 1}, {"mean": -math.inf, "n": None}],
            "bounds": (0.5, math.inf),
        }
    )
    assert capsys.readouterr().out == (
        '{"rows": [{"mean": null, "n": 1}, {"mean": null, "n": null}], "bounds": [0.5, null]}\n'
    )


@pytest.mark.parametrize(
    ("shape", "printed"),
    [
        ("csv", "start_time,average_cpu\n600,0.2493\n900,\n"),
        ("json", '{"start_time": [600, 900], "average_cpu": [0.2493, null]}\n'),
    ],
)
def test_columns_as_csv_and_json(shape: str, printed: str, capsys: Capture) -> None:
    columns = {
        "start_time": np.array([600, 900]),
        "average_cpu": np.array([0.2493, np.nan], np.float32),
    }
    print_columns(columns, shape)
    assert capsys.readouterr().out == printed
