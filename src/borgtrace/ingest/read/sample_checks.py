"""Samples of series, checked by the rules of the column that they fill: plain ones fast, odd ones as lines of JSON."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.files.raw_layout import RawLayout
from borgtrace.ingest.read.records import json_lines
from borgtrace.ingest.read.validating_reader import REFUSED_SCHEMA, validate
from borgtrace.schema.dialects.units import SECOND

_TIME = r"^[0-9]{1,10}(\.[0-9]{1,9})?$"
_VALUE = r"^[0-9]{1,18}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$"
_PLAIN_TIME = re.compile(_TIME)
_PLAIN_VALUE = re.compile(_VALUE)
MOST_SAMPLES = 1 << 17
"""Samples that are checked together."""


class CheckedSamples(NamedTuple):
    """Samples after the checks.

    Parameters
    ----------
    samples
        Those that are right: series, time, value and source_row.
    refused
        The others, as the validating reader has them.
    """

    samples: pa.Table
    refused: pa.Table


def is_plain_sample(time: Any, value: Any) -> bool:
    """Return whether a sample is two usual numbers, which no rule refuses but that of its largest value.

    Examples
    --------
    >>> is_plain_sample("1793491200.5", "1e-05"), is_plain_sample("1793491200", "NaN")
    (True, False)
    """
    if not (isinstance(time, str) and isinstance(value, str)):
        return False
    return bool(_PLAIN_TIME.match(time) and _PLAIN_VALUE.match(value))


class SampleBuffer:
    """Samples of one metric that wait for their checks.

    Parameters
    ----------
    layout
        What the metric says.
    field
        The field that the values fill.
    """

    def __init__(self, layout: RawLayout, field: str) -> None:
        self._layout = layout
        self._field = field
        filled = {item.raw.name: item for item in layout.fields}
        self._has_times = "time" in filled
        column = filled[field].column
        self._column = column.name
        bounds = [check.bound for check in column.checks if check.rule == "at_most"]
        self._largest = min(bounds, default=math.inf)
        self._is_text = column.type in ("string", "enum")
        self._clear()

    def _clear(self) -> None:
        self._series: list[int] = []
        self._rows: dict[int, Mapping[str, Any]] = {}
        self._numbers: list[int] = []
        self._times: list[Any] = []
        self._values: list[Any] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to take what waits."""
        return len(self._times) >= MOST_SAMPLES

    def add(
        self,
        series: int,
        row: Mapping[str, Any],
        first_row: int,
        times: Sequence[Any],
        values: Sequence[Any],
    ) -> None:
        """Let the samples of a series wait.

        Parameters
        ----------
        series
            Its number.
        row
            What all of its rows say.
        first_row
            Number of the first sample in the file.
        times, values
            The samples.
        """
        self._rows[series] = row
        self._series += [series] * len(times)
        self._numbers += range(first_row, first_row + len(times))
        self._times += times
        self._values += values

    def take(self) -> CheckedSamples:
        """Return what waited, checked."""
        times = _texts(self._times)
        values = _texts(self._values)
        is_plain = pc.and_(
            pc.match_substring_regex(times, _TIME),
            pc.match_substring_regex(values, _VALUE),
        )
        is_plain = pc.fill_null(is_plain, False)
        waiting = pa.table(
            {
                "series": pa.array(self._series, pa.int64()),
                "time": times,
                "value": values,
                "source_row": pa.array(self._numbers, pa.int64()),
            }
        )
        plain = _as_numbers(waiting.filter(is_plain))
        if not self._is_text:
            is_small = pc.less_equal(plain["value"], float(self._largest))
            # Of the rows that are plain, in their order.
            plain_places = pc.filter(pa.array(range(len(waiting)), pa.int64()), is_plain)
            too_large = pc.filter(plain_places, pc.invert(is_small)).to_pylist()
            plain = plain.filter(is_small)
        else:
            too_large = []
        odd = pc.filter(pa.array(range(len(waiting)), pa.int64()), pc.invert(is_plain)).to_pylist()
        checked = self._check_odd(sorted([*odd, *too_large]), plain)
        self._clear()
        return checked

    def _check_odd(self, places: Sequence[int], plain: pa.Table) -> CheckedSamples:
        """Check samples one by one, as lines of JSON."""
        if not places:
            return CheckedSamples(plain, REFUSED_SCHEMA.empty_table())
        lines = [self._line(place) for place in places]
        numbers = [self._numbers[place] for place in places]
        block = pa.table({"source_row": pa.array(numbers, pa.int64()), "line": lines})
        (validated,) = validate([block], self._layout, json_lines(self._layout))
        place_of_number = dict(zip(numbers, places, strict=True))
        line_of_number = dict(zip(numbers, lines, strict=True))
        more_refused = []
        accepted: dict[str, list[Any]] = {name: [] for name in plain.column_names}
        for row in validated.rows.to_pylist():
            number = row["source_row"]
            place = place_of_number[number]
            time = row["time"] if self._has_times else _microseconds(self._times[place])
            if time is None or row[self._column] is None:
                more_refused.append(
                    {
                        "source_row": number,
                        "reason": "null_in_mandatory_field",
                        "column": "time" if time is None else self._field,
                        "expected": "a value",
                        "raw": line_of_number[number],
                    }
                )
                continue
            accepted["series"].append(self._series[place])
            accepted["time"].append(time)
            accepted["value"].append(1.0 if self._is_text else row[self._column])
            accepted["source_row"].append(number)
        return CheckedSamples(
            pa.concat_tables([plain, pa.table(accepted, plain.schema)]),
            pa.concat_tables(
                [
                    validated.refused.cast(REFUSED_SCHEMA),
                    pa.Table.from_pylist(more_refused, REFUSED_SCHEMA),
                ]
            ),
        )

    def _line(self, place: int) -> str:
        time = self._times[place]
        value = self._values[place]
        row = self._rows[self._series[place]]
        if not self._has_times and not _is_time(time):
            # As a list, which is no record: nothing else would look at the time.
            return json.dumps([dict(row), time, value])
        line = {"time": time, **row}
        if not self._is_text:
            line[self._field] = value
        return json.dumps(line)


def _texts(values: Sequence[Any]) -> pa.Array:
    """Return texts; what is none is NULL."""
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowException, TypeError, UnicodeEncodeError):
        return pa.array([_writable_text(value) for value in values], pa.string())


def _writable_text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return value if value.isascii() else None


def _as_numbers(texts: pa.Table) -> pa.Table:
    seconds = pc.cast(texts["time"], pa.float64())
    microseconds = pc.cast(pc.round(pc.multiply(seconds, float(SECOND))), pa.int64())
    return pa.table(
        {
            "series": texts["series"],
            "time": microseconds,
            "value": pc.cast(texts["value"], pa.float64()),
            "source_row": texts["source_row"],
        }
    )


def _is_time(time: Any) -> bool:
    return isinstance(time, str) and bool(_PLAIN_TIME.match(time))


def _microseconds(time: Any) -> int | None:
    return round(float(time) * SECOND) if _is_time(time) else None
