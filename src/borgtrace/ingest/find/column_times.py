"""Guess how the times of own data are written, and what they count, from the texts of a column."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from borgtrace.engine.guard import open_values
from borgtrace.errors import SourceError
from borgtrace.ingest.find.sniffed_table import SniffedColumn
from borgtrace.ingest.read.date_texts import date_sql
from borgtrace.schema.dialects.units import COMPACT, EXCEL, ISO, TIMES

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2})?(\.\d+)?( ?[AaPp][Mm])?")
_WITHOUT_YEAR = re.compile(r"[A-Z][a-z]{2,8}\.? +\d{1,2},? +\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
"""As in the log of a system: ``Nov  1 00:05:00``."""
_PARTS_IN_ANY_ORDER = re.compile(r"\d{1,2}[/-]\d{1,2}[/-](\d{4}|\d{2})\b.*")
_NAME_OF_ZONE = re.compile(r"(.*\d) ([A-Z]{2,5})")
_ROUNDED = re.compile(r"[-+]?\d\.(\d+)[eE]\+?0*(\d+)")
"""A number in the scientific notation, its digits behind the point and its power of ten."""
_ZONE_IN_TEXT = re.compile(r".*(Z|[+-]\d{2}(:?\d{2})?| (?![AaPp][Mm]$)[A-Za-z][A-Za-z/_+-]+)$")
_COMPACT = re.compile(r"(19|20)\d{6}(\d{2}(\d{2}(\d{2})?)?)?(\.0+)?")
_YEARS = (2000, 2100)
"""Years in which a cluster may have been measured."""
_READ_YEARS = (1971, 2200)
"""Years of dates that are taken for what they say: before, clocks had not been set or a form is the wrong one."""
_EXCEL_DAYS = (36_526, 73_051)
"""Days of the same years in a spreadsheet."""
_MICROSECONDS_PER_YEAR = 365.2425 * 86_400e6
_SHORTEST_STEP = 1.0
"""Seconds between two measurements since 1970: fewer are a sign that the unit is another."""
_SHORTEST_RELATIVE_STEP = 10.0
"""The same where nothing but the numbers tells: 0, 1, 2 may be seconds, minutes or the numbers of rows."""
_SECONDS_IN_NAME = re.compile(r"(^|_)(s|sec|secs|seconds?)$")


class TimeUnit(NamedTuple):
    """A unit of times since 1970, and the least number that is such a time: 10⁸ s after 1970 is 1973."""

    name: str
    microseconds: float
    least: float


EPOCH_UNITS = [
    TimeUnit("ns", microseconds=1e-3, least=1e17),
    TimeUnit("us", microseconds=1.0, least=1e14),
    TimeUnit("ms", microseconds=1e3, least=1e11),
    TimeUnit("s", microseconds=1e6, least=1e8),
]

ISO_FORM = ""
"""Dates as ISO 8601 has them, to `date_sql`."""
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p", "%I:%M%p")
_JOINTS = (" @ ", ", ")
_DAYS = (
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y.%m.%d",
    "%Y/%m/%d",
    "%Y年%m月%d日",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%B %d, %Y",
)
_SLASHED = {
    "month": ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%m-%d-%y"),
    "day": ("%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y", "%d-%m-%y"),
    "year": ("%y/%m/%d", "%y-%m-%d"),
}
"""Ways to write a date with numbers alone, by the part that comes first."""
_WHOLE_PATTERNS = (
    "%a %b %d %H:%M:%S %Z %Y",
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S %Z",
    "%a, %d %b %Y %H:%M:%S %z",
    "%d/%b/%Y:%H:%M:%S %z",
    "[%d/%b/%Y:%H:%M:%S %z]",
    "%d-%b-%y %I.%M.%S.%f %p",
    "%Y-%m-%d %H:%M:%S,%g",
    "%Y%m%dT%H%M%S",
    "%Y%m%dT%H%M%SZ",
    "%Y%m%d %H:%M:%S",
    "%Y%m%d-%H:%M:%S",
    "%Y-%m-%d_%H-%M-%S",
    "%Y-%m-%d-%H-%M-%S",
)


@dataclass(frozen=True)
class GuessedTimes:
    """How the times of a column are written.

    Parameters
    ----------
    entry
        What a declaration says of it beside the name of the column.
    clock
        ``"epoch"`` or ``"relative"``.
    remark
        The guess in words, or what is asked.
    other
        The lines of a declaration between which a person has to choose; empty where nothing is asked.
    """

    entry: Mapping[str, Any]
    clock: str
    remark: str
    other: str = ""


def guess_times(column: SniffedColumn, path: str) -> GuessedTimes:
    """Guess how the times of a column are written.

    Parameters
    ----------
    column
        The column.
    path
        The file, for errors.

    Raises
    ------
    SourceError
        Its texts are no times that are read, or times of day without a date.
    """
    # Words are no times: units below the names of columns, the names again, a last line with totals. Their rows are
    # refused, and the others tell how times are written.
    texts = [text for text in column.values if _DIGIT.search(text)] or column.values
    if not texts:
        raise SourceError(
            path,
            f"column {column.name}: no times",
            expected="a time in each row",
            way_out="check that the file has rows below its header",
        )
    if all(_NUMBER.fullmatch(text) for text in texts):
        _refuse_rounded(column, texts, path)
        return _numbers(column, texts)
    if all(_TIME_OF_DAY.fullmatch(text) for text in texts):
        raise SourceError(
            path,
            f"column {column.name}: times of day without a date",
            expected="dates and times, such as 2026-11-01 00:05:00",
            got=repr(texts[0]),
            way_out="add the date to each, in the same column",
        )
    if all(_WITHOUT_YEAR.fullmatch(text) for text in texts):
        raise SourceError(
            path,
            f"column {column.name}: dates without a year",
            expected="dates and times, such as 2026-11-01 00:05:00",
            got=repr(texts[0]),
            way_out="add the year to each",
        )
    guess = _dates(column, texts)
    if guess is None:
        _refuse_strange_zone(column, texts, path)
        raise SourceError(
            path,
            f"column {column.name}: no date and time that is read",
            expected="such as 2026-11-01 00:05:00, or numbers",
            got=repr(_first_odd_one(texts)),
            way_out='write a file with [usage] and time = { column = "…", format = "%d.%m.%Y %H:%M" }, '
            "and add --dialect FILE.toml",
        )
    return guess


def _refuse_rounded(column: SniffedColumn, texts: Sequence[str], path: str) -> None:
    """Refuse numbers of which a spreadsheet or a format such as ``%e`` kept too few digits."""
    resolutions = []
    for text in texts:
        match = _ROUNDED.fullmatch(text)
        if match is None:
            return
        resolutions.append(10.0 ** (int(match[2]) - len(match[1])))
    resolution = max(resolutions)
    step = _least_step([float(text) for text in texts])
    # A program that writes all digits leaves steps larger than the last one of them.
    if resolution > 1 and step <= resolution:
        raise SourceError(
            path,
            f"column {column.name}: times that were rounded",
            expected="all digits, such as 1793491200",
            got=repr(texts[0]),
            way_out="export them as whole numbers, or as dates",
        )


def _refuse_strange_zone(column: SniffedColumn, texts: Sequence[str], path: str) -> None:
    """Refuse dates behind which a zone is named that no one knows, or that is several zones."""
    for text in texts:
        match = _NAME_OF_ZONE.fullmatch(text)
        if match and _are_read([match[1]], ISO_FORM):
            raise SourceError(
                path,
                f"column {column.name}: {match[2]} is the name of several time zones, or of none that is known",
                expected="an offset such as +08:00, or a name such as Asia/Shanghai",
                got=repr(text),
                way_out="write the offset in its place",
            )


def moments(column: SniffedColumn, entry: Mapping[str, Any]) -> list[float | None]:
    """Return the times of a column in µs, as an entry of a declaration reads them; None where there is none.

    Parameters
    ----------
    column
        The column.
    entry
        What a declaration says of it.
    """
    unit = entry.get("unit", "")
    if unit in TIMES:
        factor = TIMES[unit].factor
        return [float(text) * factor if _NUMBER.fullmatch(text) else None for text in column.texts]
    form = str(entry.get("format", "" if unit == ISO else unit))
    of_text = dict(zip(column.values, _parsed(column.values, form, entry["zone"]), strict=True))
    return [of_text.get(text) for text in column.texts]


def _parsed(texts: Sequence[str], form: str, zone: str = "UTC") -> list[float | None]:
    with open_values() as connection:
        rows = connection.execute(
            f"SELECT {date_sql('text', zone, form)} FROM (SELECT unnest($texts::VARCHAR[]) AS text)",
            {"texts": list(texts)},
        ).fetchall()
    return [moment for (moment,) in rows]


def _are_read(texts: Sequence[str], form: str) -> bool:
    """Return whether a form reads all texts, as moments of this age: 01.11.26 is not of the year 26."""
    first, last = ((year - 1970) * _MICROSECONDS_PER_YEAR for year in _READ_YEARS)
    return all(moment is not None and first <= moment < last for moment in _parsed(texts, form))


def _dates(column: SniffedColumn, texts: Sequence[str]) -> GuessedTimes | None:
    # Not a date of one digit fields alone: DuckDB takes 1-2-3 for one.
    looks_iso = all(re.match(r"\d{4}-\d{1,2}-\d{1,2}", text) for text in texts)
    if texts and looks_iso and _are_read(texts, ISO_FORM):
        return _of_dates({"unit": ISO, "zone": "UTC"}, texts)
    if texts and all(_PARTS_IN_ANY_ORDER.fullmatch(text) for text in texts):
        return _slashed_dates(column, texts)
    for pattern in (*_patterns(_DAYS, _joint(texts)), *_WHOLE_PATTERNS):
        if texts and _are_read(texts[:20], pattern) and _are_read(texts, pattern):
            return _of_dates({"format": pattern, "zone": "UTC"}, texts)
    return None


def _patterns(days: Sequence[str], joint: str) -> list[str]:
    clocks = [f"{day}{joint}{clock}" for day in days for clock in _CLOCKS]
    return [*clocks, *days]


def _joint(texts: Sequence[str]) -> str:
    """Return what stands between the day and the time of day: a comma in browsers, ``@`` in Kibana."""
    return next(
        (joint for joint in _JOINTS if all(_is_before_clock(joint, text) for text in texts)), " "
    )


def _is_before_clock(joint: str, text: str) -> bool:
    before, _, clock = text.rpartition(joint)
    return bool(before) and clock[:1].isdecimal() and ":" in clock and ":" not in before


def _slashed_dates(column: SniffedColumn, texts: Sequence[str]) -> GuessedTimes | None:
    """Return how dates such as 11/01/2026 are read: by a day above 12, else in several ways."""
    fitting = {}
    for first, days in _SLASHED.items():
        for pattern in _patterns(days, _joint(texts)):
            if _are_read(texts[:20], pattern) and _are_read(texts, pattern):
                fitting[first] = pattern
                break
    if not fitting:
        return None
    pattern, *others = fitting.values()
    guess = _of_dates({"format": pattern, "zone": "UTC"}, texts)
    if not others:
        return guess
    parts = " or with the ".join(fitting)
    lines = " or ".join(f'format = "{fitting_pattern}"' for fitting_pattern in fitting.values())
    return GuessedTimes(
        guess.entry,
        guess.clock,
        f"{texts[0]!r} may begin with the {parts}",
        lines,
    )


def _of_dates(entry: Mapping[str, Any], texts: Sequence[str]) -> GuessedTimes:
    remark = "dates and times that state their zone"
    if not all(_ZONE_IN_TEXT.fullmatch(text) and ":" in text for text in texts):
        remark = "guessed that times which do not state their zone are UTC"
    return GuessedTimes(entry, "epoch", remark)


def _numbers(column: SniffedColumn, texts: Sequence[str]) -> GuessedTimes:
    numbers = [float(text) for text in texts]
    largest = max(numbers)
    step = _least_step(numbers)
    if all(_COMPACT.fullmatch(text) for text in texts) and _are_read(texts, COMPACT):
        return _compact(texts)
    first, last = _EXCEL_DAYS
    if first <= min(numbers) and largest < last and step < _SHORTEST_STEP:
        return GuessedTimes(
            {"unit": EXCEL, "zone": "UTC"},
            "epoch",
            "guessed from its size to be days of a spreadsheet, in UTC",
        )
    epoch_unit = next((unit for unit in EPOCH_UNITS if largest >= unit.least), None)
    unit = epoch_unit or EPOCH_UNITS[-1]
    clock = "epoch" if epoch_unit else "relative"
    start = "1970" if epoch_unit else "the start of the trace"
    remark = f"guessed from its size to be {unit.name} since {start}"
    has_named_unit = bool(_SECONDS_IN_NAME.search(column.words))
    doubt = None if has_named_unit else _doubt(numbers, unit, clock, step)
    if doubt is None:
        return GuessedTimes({"unit": unit.name}, clock, remark)
    return GuessedTimes({"unit": unit.name}, clock, doubt.asked, doubt.lines)


def _compact(texts: Sequence[str]) -> GuessedTimes:
    remark = "guessed to be dates as digits alone, in UTC"
    other = ""
    # Ten digits may be seconds since 1970 as well.
    if {len(text.partition(".")[0]) for text in texts} == {10}:
        remark = f"{texts[0]} may be digits of a date or seconds since 1970"
        other = f'unit = "{COMPACT}" or unit = "s"'
    return GuessedTimes({"unit": COMPACT, "zone": "UTC"}, "epoch", remark, other)


class _Doubt(NamedTuple):
    """What has to be asked about a unit, and the lines between which the answer chooses."""

    asked: str
    lines: str


def _doubt(
    numbers: Sequence[float],
    unit: TimeUnit,
    clock: str,
    step: float,
) -> _Doubt | None:
    """Return what has to be asked where a unit gives times that can hardly be."""
    if clock == "epoch":
        first, last = _YEARS
        to_years = unit.microseconds / _MICROSECONDS_PER_YEAR
        years = [1970 + int(number * to_years) for number in (min(numbers), max(numbers))]
        if all(first <= year < last for year in years):
            return None
        return _Doubt(
            f"in {unit.name} since 1970 its times are of the years {years[0]} to {years[1]}",
            f'unit = "{unit.name}", or another of {", ".join(TIMES)}; with clock = "relative" if they count since '
            "a start of their own",
        )
    if 0 < step < _SHORTEST_RELATIVE_STEP:
        return _Doubt(
            f"in {unit.name} its times are {step:g} s apart",
            f'unit = "min", unit = "h", unit = "d", unit = "{EXCEL}" or unit = "{unit.name}"',
        )
    return None


def _least_step(numbers: Sequence[float]) -> float:
    """Return the least difference between two distinct numbers; 0 where there is one number."""
    ordered = sorted(set(numbers))
    steps = [after - before for before, after in itertools.pairwise(ordered)]
    return min(steps, default=0.0)


def _first_odd_one(texts: Sequence[str]) -> str:
    if not texts:
        return ""
    return next((text for text in texts if not _NUMBER.fullmatch(text)), texts[0])
