"""Amounts of CPU and memory in own data: their unit, their kind, and how their numbers are written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from borgtrace.ingest.find.column_roles import is_aggregate_name, is_count_name
from borgtrace.ingest.find.draft import Draft
from borgtrace.ingest.find.sniffed_table import SniffedColumn
from borgtrace.ingest.read.number_texts import MISSING
from borgtrace.schema.dialects.units import (
    CPU_SUFFIXES,
    MEMORY_SUFFIXES,
    QUANTITY,
    QUANTITY_OF_LIMIT,
)


class NamedUnit(NamedTuple):
    """A unit that the name of a column implies, as a pattern searched in it."""

    unit: str
    pattern: str


NO_UNIT = ""
"""Stands for a percentage: of what?"""
CLOCK = "MHz"
"""Stands for a clock rate, which says no cores without that of one core."""
_PERCENTAGE = NamedUnit(
    NO_UNIT, "percent|pct|perc|%|(^|_)(cpu|mem|memory)_?p$|util(?!.*(core|byte|mi?b|gi?b))"
)
_FRACTION_NAMES = r"(^|_)(ratio|frac(tion)?|norm(ali[sz]ed)?)(_|$)"
_SHARE_OF_WHAT = ("a share of what", 'unit = "fraction_of_machine" or "fraction_of_request"')
UNITS: Mapping[str, Sequence[NamedUnit]] = {
    "cpu": [
        NamedUnit("nanocores", r"nano_?(core|cpu)|(^|_)nano$|(^|_)n$|(^|_)ncores?(_|$)"),
        NamedUnit("microcores", r"micro_?(core|cpu)"),
        NamedUnit("millicores", r"milli(?!second)|mcpu|(^|_)m_?cores?(_|$)|(^|_)mc?$"),
        NamedUnit(CLOCK, "[mg]hz"),
        _PERCENTAGE,
        NamedUnit(NO_UNIT, _FRACTION_NAMES),
        NamedUnit("cores", "cores?|kerne?"),
    ],
    "memory": [
        NamedUnit("bytes", "bytes?"),
        NamedUnit("KiB", r"ki_?b|(^|_)ki$"),
        NamedUnit("MiB", r"mi_?b|(^|_)mi$"),
        NamedUnit("GiB", r"gi_?b|(^|_)gi$"),
        NamedUnit("KB", r"kb|kilobytes?"),
        NamedUnit("MB", r"mb|megabytes?|(^|_)megs?$"),
        NamedUnit("GB", r"gb|gigabytes?|(^|_)gigs?$"),
        _PERCENTAGE,
        NamedUnit(NO_UNIT, _FRACTION_NAMES),
        NamedUnit("bytes", r"(^|_)b$"),
    ],
}
"""Units of a resource; the first whose pattern occurs in the name is taken."""
_CERTAIN_COUNTER = "seconds_total$"
_MOST_FALLS = 0.2
"""Share of steps at which a counter may fall: it does where its task starts again."""
_COUNTER_NAMES = (
    r"total|seconds|jiffies|ticks|cpu_?time|usec|nsec|cumulative|"
    r"(v?cpus?|cores?)_?(hours?|hrs?|minutes?|mins?)(_|$)"
)
_TICK_NAMES = r"(^|_)(jiffies|ticks)(_|$)"
_COUNTER_UNITS = (
    NamedUnit("h", r"hours?|(^|_)hrs?(_|$)"),
    NamedUnit("min", r"minutes?|(^|_)mins?(_|$)"),
    NamedUnit("ns", r"nano_?seconds|(^|_)nsec|(^|_)ns$"),
    NamedUnit("us", r"micro_?seconds|usec|(^|_)us$"),
    NamedUnit("ms", r"milli_?seconds|msec|(^|_)ms$"),
)
_CPU_ALONE = frozenset({"n", "u", "m", "core", "cores", "mcores", "millicores"})
"""What stands behind amounts of CPU, and of no memory that anybody has."""
_MEANS = "avg|average|mean|rate"
_INSTANTS = "instant|sample|current"
_KINDS = {"average": "mean over each step", "instant": "usage at one instant"}
_LEAST_BYTES = 1e6
"""A median above is one of bytes: no task has a megabyte of GiB, and few have as many MiB."""
_MOST_CORES = 16.0
"""More than these may be percentages or millicores, unless the name says cores: few tasks use so many."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_COMMA_NUMBER = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_POINT_GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_SPACED_THOUSANDS = ("\u00a0", "\u202f", " ", "'", "_")
_WITH_LIMIT = re.compile(r"([0-9.,]+ ?[A-Za-z]+) */ *[0-9.,]+ ?[A-Za-z]+")
"""An amount and its limit, as docker stats prints memory."""
_DIGITS_AND_SUFFIX = re.compile(
    r"([-+]?[0-9.,'_ \u00a0\u202f]*[0-9.](?:[eE][-+]?[0-9]+)?)\s*([^0-9\s].*)?$"
)
_COMMA_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


@dataclass(frozen=True)
class Amounts:
    """The numbers of a column, and how they are written.

    Parameters
    ----------
    numbers
        Those that are plain numbers, in the order of the rows; None for the others.
    marks
        Entries of the declaration about decimal commas and marks between thousands.
    suffixes
        What stands behind numbers.
    has_two_readings
        Whether a comma may be either mark.
    has_limit
        Whether each number is followed by its limit.
    """

    numbers: Sequence[float | None]
    marks: Mapping[str, str]
    suffixes: frozenset[str]
    has_two_readings: bool = False
    has_limit: bool = False


def read_amounts(column: SniffedColumn, separator: str = "") -> Amounts:
    """Return the numbers of a column, as they are most likely meant.

    Parameters
    ----------
    column
        The column.
    separator
        What separates the fields of its file: beside a semicolon, a point may stand between thousands.
    """
    texts = [text for text in column.values if text not in MISSING]
    has_limit = bool(texts) and all(_WITH_LIMIT.fullmatch(text) for text in texts)
    all_texts = column.texts
    if has_limit:
        texts = [text.partition("/")[0].strip() for text in texts]
        all_texts = [text.partition("/")[0].strip() for text in all_texts]
    marks, has_two_readings = _marks(texts, separator)
    numbers: list[float | None] = []
    suffixes = set()
    for text in all_texts:
        # Nearly all texts are numbers as programs write them.
        if not marks and text.isascii() and _NUMBER.fullmatch(text):
            numbers.append(float(text))
            suffixes.add("")
            continue
        digits, suffix = _parts(text)
        if digits and text not in MISSING:
            suffixes.add(suffix)
        plain = digits.replace(marks.get("thousands") or "\0", "")
        plain = plain.replace(marks.get("decimal", "."), ".")
        is_number = not suffix and _NUMBER.fullmatch(plain)
        numbers.append(float(plain) if is_number else None)
    return Amounts(numbers, marks, frozenset(suffixes), has_two_readings, has_limit)


def _marks(texts: Sequence[str], separator: str) -> tuple[dict[str, str], bool]:
    """Return the marks inside of numbers, and whether they may be others just as well."""
    spaced = _spaced_thousands(texts)
    if spaced:
        has_comma = any("," in text for text in texts)
        return {"thousands": spaced} | ({"decimal": ","} if has_comma else {}), False
    with_comma = [_parts(text)[0] for text in texts if "," in text]
    if not with_comma:
        return _marks_of_points(texts, separator)
    may_be_decimal = all(_COMMA_NUMBER.fullmatch(digits) for digits in with_comma)
    may_be_thousands = all(_COMMA_THOUSANDS.fullmatch(digits) for digits in with_comma)
    if may_be_decimal and not may_be_thousands:
        has_points = any("." in digits for digits in with_comma)
        return ({"decimal": ",", "thousands": "."} if has_points else {"decimal": ","}), False
    if may_be_thousands:
        return {"thousands": ","}, may_be_decimal
    return {}, False


def _spaced_thousands(texts: Sequence[str]) -> str:
    """Return the space, apostrophe or underscore between thousands; empty where there is none."""
    for mark in _SPACED_THOUSANDS:
        grouped = re.compile(rf"[-+]?\d{{1,3}}({re.escape(mark)}\d{{3}})+([.,]\d+)?")
        # Few columns have any: their texts alone are taken apart.
        if any(mark in text and grouped.fullmatch(_parts(text)[0]) for text in texts):
            return mark
    return ""


def _marks_of_points(texts: Sequence[str], separator: str) -> tuple[dict[str, str], bool]:
    """Return the marks of numbers without commas: in many countries a point stands between thousands."""
    with_point = [text for text in texts if "." in text]
    # Mostly the first of them is no such group: only where none is another are all taken apart.
    if not with_point or not all(_POINT_GROUPS.fullmatch(_parts(text)[0]) for text in with_point):
        return {}, False
    if any(_parts(text)[0].count(".") > 1 for text in with_point):
        return {"thousands": ".", "decimal": ","}, False
    return {}, separator == ";"


def _parts(text: str) -> tuple[str, str]:
    """Return the digits at the beginning of a text, with their marks, and what stands behind them."""
    match = _DIGITS_AND_SUFFIX.match(text)
    return (match[1].strip(), match[2] or "") if match else ("", text)


def guess_amount(
    resource: str,
    column: SniffedColumn,
    tasks: Sequence[str],
    draft: Draft,
    separator: str = "",
) -> dict[str, Any]:
    """Guess what the amounts of a column are, and tell the draft.

    Parameters
    ----------
    resource
        ``"cpu"`` or ``"memory"``.
    column
        The column.
    tasks
        The task of each row.
    draft
        Gets the remarks and what is asked.
    separator
        What separates the fields of the file.
    """
    amounts = read_amounts(column, separator)
    draft.declaration.update(amounts.marks)
    entry: dict[str, Any] = {"column": column.name}
    where = f"usage.{resource}"
    if amounts.has_two_readings:
        _ask_about_marks(column, where, draft)
    if resource == "cpu" and _is_counter_name(column.words):
        return entry | _counter(column, amounts, tasks, draft)
    unit, question = _unit(resource, column, amounts)
    entry |= {"unit": unit} if unit else {}
    if resource == "cpu" and may_be_counter(amounts.numbers, tasks):
        kinds = 'kind = "counter" (then with unit = "s") or kind = "average"'
        draft.ask(where, column.name, "never falls", kinds)
        return entry
    kind = _kind_in_name(column.words)
    if question:
        draft.ask(where, column.name, *question)
    elif is_aggregate_name(column.words) and not re.search(_MEANS, column.words):
        draft.ask(
            where,
            column.name,
            "it is called like no mean of each step",
            f'{resource} = {{ column = "{column.name}", unit = "{unit}", kind = "average" }} if it may stand for one',
        )
    draft.remarks.setdefault(
        where, f"column {column.name}: guessed to be the {_KINDS[kind]} in {_named(unit)}"
    )
    return {**entry, "kind": kind}


def _ask_about_marks(column: SniffedColumn, where: str, draft: Draft) -> None:
    """Ask what the comma or the point in some numbers is."""
    mark = "," if any("," in text for text in column.values) else "."
    thousands_line = f'thousands = "{mark}"' + (', decimal = ","' if mark == "." else "")
    draft.ask(
        where,
        column.name,
        f"the {'comma' if mark == ',' else 'point'} of {_first_with(mark, column)!r} may stand before a fraction "
        "or between thousands",
        f'decimal = "{mark}" or {thousands_line} above the first section',
    )


def _counter(
    column: SniffedColumn,
    amounts: Amounts,
    tasks: Sequence[str],
    draft: Draft,
) -> dict[str, Any]:
    """Return what a declaration says of a counter of CPU time, or ask about it."""
    where = "usage.cpu"
    if re.search(_TICK_NAMES, column.words):
        draft.ask(
            where,
            column.name,
            "counts ticks of a clock, of which a second has 100 on most machines",
            'a column in seconds: divide by the ticks of a second (getconf CLK_TCK), then kind = "counter", unit = "s"',
        )
        return {}
    is_certain = re.search(_CERTAIN_COUNTER, column.words)
    if not is_certain and _falls_often(amounts.numbers, tasks):
        draft.ask(
            where,
            column.name,
            "called like a counter, but it falls again and again",
            'kind = "counter" with the unit of CPU time, or kind = "average" with the unit of a mean',
        )
        return {}
    unit = next((unit for unit, name in _COUNTER_UNITS if re.search(name, column.words)), "s")
    counted = "seconds" if unit == "s" else f"time in {unit}"
    draft.remarks[where] = (
        f"column {column.name}: guessed from its name to be a counter of CPU {counted}"
    )
    return {"unit": unit, "kind": "counter"}


def resource_of_units(column: SniffedColumn) -> str:
    """Return the resource that only the units of some amounts can be of; empty where they say none.

    Parameters
    ----------
    column
        The amounts.
    """
    suffixes = read_amounts(column).suffixes - {""}
    if suffixes and suffixes <= _CPU_ALONE:
        return "cpu"
    is_memory = all(suffix.endswith(("i", "B", "bytes")) for suffix in suffixes)
    known = {suffix for suffix, _ in MEMORY_SUFFIXES}
    return "memory" if suffixes and is_memory and suffixes <= known else ""


def _named(unit: str) -> str:
    names = {
        QUANTITY: "amounts that name their unit",
        QUANTITY_OF_LIMIT: "amounts that name their unit; the limit behind each is left out",
    }
    return names.get(unit, unit)


def _first_with(mark: str, column: SniffedColumn) -> str:
    return next(text for text in column.values if mark in text)


def _is_counter_name(words: str) -> bool:
    return bool(re.search(_COUNTER_NAMES, words)) and not re.search("rate|total_?cores", words)


def _unit(
    resource: str,
    column: SniffedColumn,
    amounts: Amounts,
) -> tuple[str, tuple[str, str] | None]:
    """Return the unit of a column, and what has to be asked about it: the question, and the line that settles it."""
    named = unit_in_name(resource, column.words)
    has_percent = "%" in amounts.suffixes
    if named == NO_UNIT or has_percent:
        is_fraction = not has_percent and bool(re.search(_FRACTION_NAMES, column.words))
        return "", _SHARE_OF_WHAT if is_fraction else ("percent of what", _percent_line(resource))
    if named == CLOCK:
        return "", (
            "a clock rate says no cores by itself",
            'a column in cores: divide by the clock of one core, then unit = "cores"',
        )
    if amounts.suffixes - {""}:
        if may_be_quantities(resource, amounts):
            return (QUANTITY_OF_LIMIT if amounts.has_limit else QUANTITY), None
        odd = min(amounts.suffixes - _known_suffixes(resource))
        usual = "cores" if resource == "cpu" else "MiB"
        return "", (f"what is {odd!r} behind a number", f'unit = "{usual}" and numbers alone')
    if named is not None:
        return named, _doubt(resource, column, amounts, named)
    return _unit_by_size(resource, column, amounts)


def may_be_quantities(resource: str, amounts: Amounts) -> bool:
    """Return whether what stands behind numbers are units that quantities of Kubernetes have.

    Parameters
    ----------
    resource
        ``"cpu"`` or ``"memory"``.
    amounts
        The numbers of a column.
    """
    return amounts.suffixes <= _known_suffixes(resource)


def _known_suffixes(resource: str) -> set[str]:
    return {suffix for suffix, _ in (CPU_SUFFIXES if resource == "cpu" else MEMORY_SUFFIXES)}


def _percent_line(resource: str) -> str:
    if resource == "cpu":
        return 'unit = "percent_of_core" or "percent_of_machine" or "percent_of_request"'
    return 'unit = "percent_of_machine" or "percent_of_request"'


def unit_in_name(resource: str, words: str) -> str | None:
    """Return the unit that a name implies, `NO_UNIT` where it implies a percentage; None where it implies nothing.

    Examples
    --------
    >>> unit_in_name("cpu", "cpu_m"), unit_in_name("memory", "memory_mib"), unit_in_name("cpu", "cpu_usage")
    ('millicores', 'MiB', None)
    """
    for unit, pattern in UNITS[resource]:
        if re.search(pattern, words):
            return unit
    return None


def _doubt(
    resource: str, column: SniffedColumn, amounts: Amounts, unit: str
) -> tuple[str, str] | None:
    """Return what has to be asked about a unit that the name implies."""
    if resource == "cpu" and is_count_name(column.words) and not _varies(amounts):
        return (
            "is it how many cores there are, or how many are used",
            f'cpu = {{ column = "the column of usage", unit = "{unit}", kind = "average" }}',
        )
    return None


def _varies(amounts: Amounts) -> bool:
    return len({number for number in amounts.numbers if number is not None}) > 1


def _unit_by_size(
    resource: str,
    column: SniffedColumn,
    amounts: Amounts,
) -> tuple[str, tuple[str, str] | None]:
    numbers = [number for number in amounts.numbers if number is not None]
    middle = median(numbers) if numbers else 0.0
    if resource == "memory":
        if middle >= _LEAST_BYTES:
            return "bytes", None
        return "", ("in which unit", 'unit = "MiB", or what it is')
    if is_count_name(column.words):
        return "cores", _doubt(resource, column, amounts, "cores")
    largest = max(numbers, default=0.0)
    if largest > _MOST_CORES:
        return "", (
            f"are its numbers, up to {largest:g}, cores, millicores or percentages",
            'unit = "cores" or unit = "millicores" or unit = "percent_of_core" or unit = "percent_of_machine"',
        )
    return "cores", None


def may_be_counter(numbers: Sequence[float | None], tasks: Sequence[str]) -> bool:
    """Return whether the values of no task ever fall, though they change.

    Parameters
    ----------
    numbers
        The values, in the order of the rows.
    tasks
        The task of each.
    """
    last_of_task: dict[str, float] = {}
    distinct = set()
    for number, task in zip(numbers, tasks, strict=True):
        if number is None:
            continue
        if number < last_of_task.get(task, number):
            return False
        last_of_task[task] = number
        distinct.add(number)
    return len(distinct) > 1 + len(last_of_task)


def _falls_often(numbers: Sequence[float | None], tasks: Sequence[str]) -> bool:
    """Return whether values fall more often than those of a counter whose tasks start again now and then."""
    last_of_task: dict[str, float] = {}
    n_steps = n_falls = 0
    for number, task in zip(numbers, tasks, strict=True):
        if number is None:
            continue
        if task in last_of_task:
            n_steps += 1
            n_falls += number < last_of_task[task]
        last_of_task[task] = number
    return n_falls > max(1, _MOST_FALLS * n_steps)


def _kind_in_name(words: str) -> str:
    return "instant" if re.search(_INSTANTS, words) else "average"
