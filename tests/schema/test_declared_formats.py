"""A format of own data: what each entry of its declaration comes to, and what is refused, in words."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from borgtrace.errors import UsageError
from borgtrace.schema.dialects import Absent, Conversion, RawField
from borgtrace.schema.dialects.declaration import declared_dialect
from borgtrace.schema.dialects.raw import NumberSpelling

GOOD: dict[str, Any] = {
    "name": "cell",
    "clock": "relative",
    "step": "300s",
    "usage": {
        "task": "pod",
        "time": {"column": "ts", "unit": "ms"},
        "cpu": {
            "column": "c",
            "unit": "millicores",
            "kind": "instant",
            "missing": [-1],
        },
        "memory": {
            "column": "m",
            "unit": "GiB",
            "kind": "average",
        },
    },
    "tasks": {
        "task": "id",
        "submit": {"column": "asked", "unit": "s"},
        "status": {"column": "how", "codes": {"Succeeded": "FINISH"}},
        "cpu_request": {"column": "r", "unit": "cores"},
    },
    "machines": {"machine": "node", "platform": "kind"},
}
FILE = "own.toml"
# A declaration names columns whole: a dot in a name leads into no record.
own_field = partial(RawField, is_whole=True)


def changed(**entries: Any) -> dict[str, Any]:
    """The declaration with other entries: ``usage__cpu=…`` stands for one of a section, None leaves one out."""
    declared = deepcopy(GOOD)
    for path, value in entries.items():
        *sections, last = path.split("__")
        inner = declared
        for name in sections:
            inner = inner[name]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return declared


def test_what_a_declaration_comes_to() -> None:
    declared = declared_dialect(GOOD, FILE)
    assert {name: raw.fields for name, raw in declared.tables.items()} == {
        "usage": (
            own_field("pod", "task", is_mandatory=True),
            own_field("ts", "time", is_mandatory=True, scale=1000.0),
            own_field("c", "instant_cpu", scale=0.001),
            own_field("m", "average_memory", scale=2.0**30),
        ),
        "tasks": (
            own_field("id", "task", is_mandatory=True),
            own_field("asked", "submit", scale=1e6),
            own_field("how", "status"),
            own_field("r", "cpu_request"),
        ),
        "machines": (
            own_field("node", "machine", is_mandatory=True),
            own_field("kind", "platform"),
        ),
    }


def test_codes_defaults_and_conversion_of_a_declaration() -> None:
    declared = declared_dialect(GOOD, FILE)
    assert declared.codes == {
        "event_type": {
            "SUBMIT": "SUBMIT",
            "SCHEDULE": "SCHEDULE",
            "Succeeded": "FINISH",
        }
    }
    assert declared.none == {"instant_cpu": (-1,)}
    assert declared.title == "Own trace"
    assert declared.formats == ("csv", "json", "parquet")
    assert declared.span == timedelta(0)
    assert declared.tiers == (("all", 0, 2_147_483_647),)
    assert declared.conversion == Conversion(
        clock="relative",
        step=300_000_000,
        label="start",
        window=None,
        share_of={},
        is_mixed=True,
    )


def test_a_column_of_the_store_has_the_first_source_that_is_declared() -> None:
    declared = declared_dialect(GOOD, FILE)
    assert [
        declared.source("instance_usage", name)
        for name in ("average_cpu", "sampled_cpu", "collection_id")
    ] == [
        "usage.c",
        "usage.c",
        "usage.pod",
    ]
    assert declared.source("instance_events", "time") == "tasks.asked"
    assert declared.source("machine_events", "platform_id") == "machines.kind"
    assert declared.source("instance_usage", "maximum_cpu") == Absent(
        f"not published in {declared.name}"
    )
    assert declared.source("tasks", "mean_cpu") == Absent("derived at ingest")
    assert declared.publishes("sampled_cpu")
    assert not declared.publishes("maximum_cpu")
    assert not declared.publishes("user", "instance_events")


def test_a_name_holds_the_content_and_not_its_order() -> None:
    name = declared_dialect(GOOD, FILE).name
    assert name[:5] == "cell-"
    assert len(name) == 11
    assert declared_dialect(dict(reversed(GOOD.items())), FILE).name == name
    assert declared_dialect(changed(step="600s"), FILE).name != name
    assert declared_dialect(changed(name=None), FILE).name[:4] == "own-"
    assert declared_dialect(changed(title="Our cell"), FILE).title == "Our cell"


SHARES: dict[str, Any] = {
    "window": "10m",
    "label": "end",
    "usage": {
        "task": "pod",
        "time": {
            "column": "ts",
            "unit": "iso",
            "zone": "Europe/Berlin",
        },
        "end": {"column": "te", "unit": "iso"},
        "cpu": {
            "column": "c",
            "unit": "ms",
            "kind": "counter",
        },
        "memory": {
            "column": "m",
            "unit": "percent_of_request",
            "kind": "average",
        },
    },
    "tasks": {"task": "pod", "memory_request": {"column": "r", "unit": "MB"}},
}


PERCENTAGE = NumberSpelling(suffixes=(("", 1.0), ("%", 1.0)))


def test_shares_counters_and_dates() -> None:
    declared = declared_dialect(SHARES, FILE)
    assert declared.tables["usage"].fields == (
        own_field("pod", "task", is_mandatory=True),
        own_field("ts", "time", is_mandatory=True, zone="Europe/Berlin"),
        own_field("te", "end", zone="UTC"),
        own_field("c", "counter_cpu", scale=0.001),
        own_field("m", "average_memory", scale=0.01, spelling=PERCENTAGE),
    )
    assert declared.tables["tasks"].fields[1] == own_field("r", "memory_request", scale=1e6)
    # Dates are on one clock only; the ends of windows are given, so that no step is needed.
    assert declared.conversion == Conversion(
        clock="epoch",
        step=None,
        label="end",
        window=600_000_000,
        share_of={"memory": "request"},
        is_mixed=True,
    )
    assert declared.codes == {"event_type": {"SUBMIT": "SUBMIT", "SCHEDULE": "SCHEDULE"}}
    assert declared.none == {}


KIND = "one of average, instant (a sample of one moment) or counter (a total that grows)"
REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {
            "usage": None,
            "tasks": None,
            "machines": None,
        },
        ": nothing is declared: expected [usage], [tasks] or [machines]; "
        "write a first draft: borgtrace dialect sniff FILE",
    ),
    (
        {"name": "Our cell"},
        ": name: not a name: expected small letters, digits and -, got 'Our cell'",
    ),
    (
        {"name": "a" * 32},
        f": name: not a name: expected small letters, digits and -, got '{'a' * 32}'",
    ),
    ({"usage": "pod"}, ": usage: not a section: expected lines such as task = \"pod\", got 'pod'"),
    ({"usage__time": None}, ': usage: no time; add time = "the name of its column"'),
    ({"tasks__task": None}, ': tasks: no task; add task = "the name of its column"'),
    ({"machines__machine": None}, ': machines: no machine; add machine = "the name of its column"'),
    (
        {"usage__machine": {"unit": "s"}},
        ': usage.machine: no column; add column = "the name of the column in the file"',
    ),
    (
        {"usage__memory": {"column": "m", "unit": "GB"}},
        f': usage.memory: what is it: expected {KIND}, got none; add kind = "average"',
    ),
    (
        {
            "usage__memory": {
                "column": "m",
                "unit": "GB",
                "kind": "counter",
            }
        },
        f': usage.memory: what is it: expected {KIND}, got counter; add kind = "average"',
    ),
    (
        {"usage__time": "ts"},
        ": usage.time: no such unit: expected one of s, ms, us, ns, min, h, d, iso, excel, compact, "
        'got none; add unit = "s", or what it is',
    ),
    (
        {
            "usage__cpu": {
                "column": "c",
                "unit": "d",
                "kind": "counter",
            }
        },
        ': usage.cpu: no such unit: expected one of s, ms, us, ns, min, h, got d; add unit = "s", or what it is',
    ),
    (
        {
            "usage__cpu": {
                "column": "c",
                "unit": "iso",
                "kind": "average",
            }
        },
        ": usage.cpu: no such unit: expected one of cores, millicores, microcores, nanocores, percent_of_core, "
        "fraction_of_request, "
        "fraction_of_machine, fraction_of_largest, percent_of_request, percent_of_machine, percent_of_largest, "
        'quantity, quantity_of_limit, got iso; add unit = "cores", or what it is',
    ),
    (
        {"tasks__status": "how"},
        ': tasks.status: what do its words mean; add codes = { Succeeded = "FINISH", Failed = "FAIL" }',
    ),
    (
        {"tasks__status__codes": {"ok": "SUBMIT"}},
        ": tasks.status.codes.ok: not an end: expected EVICT or FAIL or FINISH or KILL or LOST, got SUBMIT",
    ),
    ({"usage__cpu__missing": -1}, ": usage.cpu.missing: not a list of whole numbers: got -1"),
    (
        {"usage__cpu__missing": [-1, 0.5]},
        ": usage.cpu.missing: not a list of whole numbers: got [-1, 0.5]",
    ),
    (
        {"usage__cpu__missing": [True]},
        ": usage.cpu.missing: not a list of whole numbers: got [True]",
    ),
    (
        {"clock": None},
        ': which clock: expected epoch or relative, got None; add clock = "epoch" where times are since 1970, '
        'else clock = "relative"',
    ),
    (
        {"usage__time__unit": "iso"},
        ": clock: dates are no times since a start: expected epoch, got relative",
    ),
    ({"step": None}, ': no end of a window; add step = "300s", how long the window of a row is'),
    ({"label": "middle"}, ": label: unknown name: expected start or end, got middle"),
    (
        {"usage__memory__unit": "percent_of_request"},
        ": usage.memory: a share of a request that no column gives; "
        "add memory_request to [usage] or [tasks], or another unit",
    ),
]


@pytest.mark.parametrize(
    ("entries", "message"), REFUSED, ids=[message[2:40] for _, message in REFUSED]
)
def test_what_a_declaration_may_not_say(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        declared_dialect(changed(**entries), FILE)
    assert str(caught.value) == FILE + message


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"stpe": "300s"},
            "own.toml: unknown entry: expected one of name, title, clock, step, label, window, decimal, "
            "thousands, usage",
        ),
        (
            {"usage__podd": "x"},
            "own.toml: usage: unknown column: expected one of task, instance, machine, time, end",
        ),
        ({"usage__average_cpu": "x"}, "own.toml: usage: unknown column: expected one of"),
        ({"tasks__cpu": "x"}, "own.toml: tasks: unknown column: expected one of"),
        (
            {"usage__cpu__units": "x"},
            "own.toml: usage.cpu: unknown entry: expected one of column, columns, unit, format, kind, zone",
        ),
    ],
)
def test_an_entry_that_nobody_knows(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        declared_dialect(changed(**entries), FILE)
    assert str(caught.value).startswith(message)


def test_a_zone_that_nobody_knows() -> None:
    time = {
        "column": "ts",
        "unit": "iso",
        "zone": "Mars/Base",
    }
    with pytest.raises(UsageError) as caught:
        declared_dialect(changed(clock="epoch", usage__time=time), FILE)
    assert str(caught.value) == 'zone: no such time zone: got Mars/Base; try "UTC"'
