"""The check of trace formats: ours pass, and each mistake is named in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from borgtrace.schema import Conversion, Dialect, RawField, RawTable
from borgtrace.schema.dialects import DIALECTS, EVENTS_FROM_TIMES
from borgtrace.testing import ContractError, check_dialect

TIME = RawField("ts", "time", is_mandatory=True, scale=1e6, offset=600_000_000)
JOB = RawField("job", "collection_id", is_mandatory=True)
TASK = RawField("task", "instance_index", is_mandatory=True)
EVENT = RawField("event", "type", is_mandatory=True)
CPU = RawField("cpu", "cpu_request", scale=0.01)
CODES = {0: "SUBMIT", 1: "SCHEDULE", 2: "FINISH"}


def log(*fields: RawField, codes: Mapping[Any, str] = CODES, **parts: Any) -> Dialect:
    """Return a format of one table of events."""
    table = RawTable("log", "instance_events", fields or (TIME, JOB, TASK, EVENT, CPU))
    parts = {"codes": {"event_type": codes}, "tables": {"log": table}, **parts}
    return Dialect(name="own", title="Own trace", **parts)


POD = RawField("pod", "task", is_mandatory=True)
AT = RawField("at", "time", is_mandatory=True, scale=1e6)
USED = RawField("used", "average_cpu")


def load(*fields: RawField, conversion: Conversion | None = None) -> Dialect:
    """Return a format of one table of measurements, which are converted."""
    table = RawTable("load", "usage_rows", fields or (POD, AT, USED))
    return Dialect(
        name="own",
        title="Own trace",
        tables={"load": table},
        conversion=conversion or Conversion(step=300_000_000),
        codes={"event_type": EVENTS_FROM_TIMES},
    )


@pytest.mark.parametrize("name", DIALECTS)
def test_ours_keep_their_contract(name: str) -> None:
    check_dialect(DIALECTS[name])


def test_those_below_keep_it_without_their_mistake() -> None:
    check_dialect(log())
    check_dialect(load())


class Mine(Dialect):
    """A format with code."""


class Restless(Mapping[str, str]):
    """Names that change whenever they are read."""

    def __init__(self) -> None:
        self.n_read = 0

    def __getitem__(self, name: str) -> str:
        self.n_read += 1
        return f"reason {self.n_read}"

    def __iter__(self) -> Iterator[str]:
        return iter(["disk_request"])

    def __len__(self) -> int:
        return 1


MISTAKES: dict[str, tuple[Callable[[], Dialect], str]] = {
    "an unknown column": (
        lambda: log(TIME, JOB, TASK, EVENT, RawField("cpu", "cpu_requested")),
        "log.cpu fills cpu_requested, which instance_events does not have "
        "(did you mean cpu_request or gpu_request?)",
    ),
    "no time": (
        lambda: log(JOB, TASK, EVENT),
        "no field of log fills time, which instance_events must have",
    ),
    "a time upside down": (
        lambda: log(replace(TIME, scale=1e-6), JOB, TASK, EVENT),
        "log.ts fills time, a time in µs, with scale=1e-06, which is no unit of time: "
        "1e6 for seconds, 1e3 for ms",
    ),
    "percent upside down": (
        lambda: log(TIME, JOB, TASK, EVENT, replace(CPU, scale=100)),
        "log.cpu fills cpu_request, in shares of the largest machine, with scale=100: "
        "is that upside down?",
    ),
    "millicores upside down": (
        lambda: load(POD, AT, replace(USED, scale=1000)),
        "load.used fills average_cpu, in cores, with scale=1000: is that upside down?",
    ),
    "gibibytes upside down": (
        lambda: load(POD, AT, USED, RawField("rss", "average_memory", scale=2.0**-30)),
        "load.rss fills average_memory, in bytes, with scale=9.31323e-10: is that upside down?",
    ),
    "dates on a clock that starts at zero": (
        lambda: load(POD, replace(AT, zone="UTC"), USED),
        'load.at is a date: write Conversion(clock="epoch")',
    ),
    "measurements without an end": (
        lambda: load(conversion=Conversion()),
        "no field of load says when a measurement ends: write Conversion(step=…)",
    ),
    "a hole in the codes": (
        lambda: log(codes={0: "SUBMIT", 1: "SCHEDULE", 3: "FINISH"}),
        "codes of event_type leave out 2: rows with it are refused; name it or add null_codes",
    ),
    "a code of no event": (
        lambda: log(codes={**CODES, 3: "DONE"}),
        "DONE is no name of event_type",
    ),
    "no codes": (
        lambda: replace(log(), codes={}),
        "log fills type, but there are no codes of event_type",
    ),
    "a pattern that is none": (
        lambda: log(TIME, replace(JOB, pattern="("), TASK, EVENT),
        "log.job has a pattern that is no regular expression "
        "(missing ), unterminated subpattern at position 0): (",
    ),
    "a table under another name": (
        lambda: log(tables={"events": log().tables["log"]}),
        "the table log is listed as events",
    ),
    "a name that is none": (
        lambda: replace(log(), name="My Trace"),
        "its name is 'My Trace': small letters, digits and hyphens",
    ),
    "no tables": (lambda: log(tables={}), "it has no tables"),
    "a class of its own": (
        lambda: Mine(name="own", title="Own trace", tables=log().tables),
        "it is an object of the class Mine: a store keeps data, not methods; "
        "make it with borgtrace.Dialect(…)",
    ),
    "a function": (
        lambda: replace(log(), licence=len),  # type: ignore[arg-type]
        "DIALECT.licence: a store cannot keep this: expected numbers, texts, tuples, mappings and "
        "what borgtrace.schema offers, got builtin_function_or_method len",
    ),
    "a scale that is a text": (
        lambda: log(TIME, JOB, TASK, EVENT, replace(CPU, scale="%")),  # type: ignore[arg-type]
        "DIALECT.tables['log'].fields[4].scale: not what a format takes here: "
        "expected a number, got '%'",
    ),
    "a number that is none": (
        lambda: log(TIME, JOB, TASK, EVENT, replace(CPU, scale=float("nan"))),
        "DIALECT.tables['log'].fields[4].scale: not a finite number: got nan",
    ),
    "a mapping that changes": (
        lambda: replace(log(), absent=Restless()),
        "it says something else each time it is read: write plain dictionaries and tuples",
    ),
    "an id that stands for none": (
        lambda: log(none={"collection_id": (1,)}),
        "files with made-up rows cannot be ingested: log.csv: all 2 rows were refused: "
        "null_in_mandatory_field: 2 rows, column job: log.csv line 2: expected a value, got '1'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_in_one_sentence(mistake: str) -> None:
    make, sentence = MISTAKES[mistake]
    with pytest.raises(ContractError) as caught:
        check_dialect(make())
    assert caught.value.failures == (sentence,)
