"""Amounts and times as people write them: every expected value is worked out by hand from the text beside it."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from borgtrace.errors import UsageError
from borgtrace.schema.dialects import declare
from tests.ingest.own_data import ingest_own, rows

MINUTE = 60_000_000


def _amounts(tmp_path, unit, texts, *, resource="cpu", more="", separator=","):
    """Return what the amounts of a column become, in cores or bytes; None where the row is refused."""
    declared = f"""
        clock = "relative"
        step = "60s"
        {more}
        [usage]
        task = "task"
        time = {{ column = "time", unit = "s" }}
        {resource} = {{ column = "amount", unit = "{unit}", kind = "average" }}
    """
    lines = [separator.join(("task", "time", "amount"))]
    for number, text in enumerate(texts):
        lines.append(separator.join(("web", str(60 * number), f'"{text}"')))
    # A power of two, so that the share of it which is stored is exact where the amount is.
    store = ingest_own(
        tmp_path, declared, {"own.csv": "\n".join(lines) + "\n"}, f"{2**19}cores,{2**20}GiB"
    )
    whole = 2.0**19 if resource == "cpu" else 2.0**50
    stored = dict(rows(store, "instance_usage", f"start_time, average_{resource}"))
    shares = [stored.get((600 + 60 * number) * 1_000_000) for number in range(len(texts))]
    return [None if share is None else share * whole for share in shares]


@pytest.mark.parametrize(
    ("resource", "written"),
    [
        (
            "cpu",
            {
                "250m": 0.25,
                "7m": 0.007,
                "1": 1.0,
                "0.5": 0.5,
                "1500000n": 0.0015,
                "250000u": 0.25,
                "2k": 2000.0,
                "0.5 cores": 0.5,
                "300 mcores": 0.3,
                "1e-1": 0.1,
                "250x": None,
                "m": None,
                "250 m m": None,
            },
        ),
        (
            "memory",
            {
                "1Gi": 2.0**30,
                "128974848k": 128_974_848_000.0,
                "500 MB": 500e6,
                "1.5GiB": 1.5 * 2.0**30,
                "12Ki": 12_288.0,
                "3M": 3e6,
                "64": 64.0,
                "1024B": 1024.0,
                "128974848000m": 128_974_848.0,
                "1GIB": None,
                "1 Gi B": None,
            },
        ),
    ],
)
def test_quantities_name_their_unit_themselves(tmp_path, resource, written):
    amounts = _amounts(tmp_path, "quantity", written, resource=resource)
    assert amounts == [
        # Stored with the digits of a float32.
        amount if amount is None else pytest.approx(amount, rel=1e-6)
        for amount in written.values()
    ]


@pytest.mark.parametrize("word", ["NaN", "nan", "null", "None", "N/A", "-", "", "<NA>"])
def test_a_word_for_no_number_is_no_number(tmp_path, word):
    assert _amounts(tmp_path, "cores", ["0.5", word]) == [0.5, None]


def test_a_percent_sign_may_stand_behind_percentages(tmp_path):
    assert _amounts(tmp_path, "percent_of_core", ["35%", "35 %", "35", "35x"]) == [
        pytest.approx(0.35),
        pytest.approx(0.35),
        pytest.approx(0.35),
        None,
    ]


def test_a_decimal_comma_and_points_between_thousands(tmp_path):
    marks = 'decimal = ","\nthousands = "."'
    written = {"0,5": 0.5, "1.234,5": 1234.5, "1234,5": 1234.5, "1.5": None, "1,2,3": None}
    amounts = _amounts(tmp_path, "cores", written, more=marks, separator=";")
    assert amounts == [
        None if amount is None else pytest.approx(amount) for amount in written.values()
    ]


def test_commas_between_thousands(tmp_path):
    written = {"1,234": 1234.0, "1,234,567.5": 1234567.5, "1,5": None, "12": 12.0}
    amounts = _amounts(tmp_path, "cores", written, more='thousands = ","')
    assert amounts == [
        None if amount is None else pytest.approx(amount) for amount in written.values()
    ]


def _times(tmp_path, entry, texts):
    """Return the µs since 1970 of texts; None where the row is refused."""
    declared = f"""
        step = "60s"
        clock = "epoch"
        [usage]
        task = "task"
        time = {{ column = "time", {entry} }}
        cpu = {{ column = "cpu", unit = "cores", kind = "average" }}
    """
    lines = ["task,time,cpu"] + [f'{number},"{text}",1' for number, text in enumerate(texts)]
    store = ingest_own(tmp_path, declared, {"own.csv": "\n".join(lines) + "\n"}, "1cores")
    origin = store.manifest.basis["zero"]
    stored = dict(rows(store, "instance_usage", "collection_id, start_time"))
    return [
        stored[number] - 600_000_000 + origin if number in stored else None
        for number in range(len(texts))
    ]


def _instant(*parts, zone="UTC"):
    return int(datetime(*parts, tzinfo=ZoneInfo(zone)).timestamp() * 1_000_000)


MIDNIGHT = _instant(2026, 11, 1)


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        (
            'unit = "iso"',
            {
                "2026-11-01 00:00:00": MIDNIGHT,
                "2026-11-01T00:00:00Z": MIDNIGHT,
                "2026-11-01T01:00:00+01:00": MIDNIGHT,
                "2026-11-01 01:00:00 +0100": MIDNIGHT,
                "2026-11-01 00:00:00 UTC": MIDNIGHT,
                "2026-11-01 00:00:00 +0000 UTC": MIDNIGHT,
                # Eight hours behind Greenwich in winter.
                "2026-10-31 16:00:00 PST": MIDNIGHT,
                "2026-11-01 02:00 CEST": MIDNIGHT,
                # Summer time ends that day, at two o'clock.
                "2026-11-01 00:00:00 America/New_York": MIDNIGHT + 4 * 60 * MINUTE,
                "2026-11-01 00:00:00 Europe/Berlin": MIDNIGHT - 60 * MINUTE,
                "2026-11-01": MIDNIGHT,
                # China's time, or that of Chicago, or Cuba's?
                "2026-11-01 00:00:00 CST": None,
                "2026-11-01 00:00:00 Europe/Nowhere": None,
                "00:05": None,
                "yesterday": None,
            },
        ),
        (
            'unit = "iso", zone = "Asia/Tokyo"',
            {"2026-11-01 09:00:00": MIDNIGHT, "2026-11-01 00:00:00 UTC": MIDNIGHT},
        ),
        (
            'unit = "excel"',
            {
                # Day 25,569 of a sheet is 1970-01-01.
                "46327": MIDNIGHT,
                "46327.25": MIDNIGHT + 6 * 60 * MINUTE,
                "46327.00347222": MIDNIGHT + 5 * MINUTE,
                "1": None,
                "1793491200": None,
            },
        ),
        (
            'unit = "compact"',
            {
                "20261101": MIDNIGHT,
                "2026110100": MIDNIGHT,
                "202611010005": MIDNIGHT + 5 * MINUTE,
                "20261101000030": MIDNIGHT + MINUTE // 2,
                "202611010005.0": MIDNIGHT + 5 * MINUTE,
                "20261301": None,
                "2026110": None,
            },
        ),
        (
            'format = "%d.%m.%Y %H:%M"',
            {"01.11.2026 00:05": MIDNIGHT + 5 * MINUTE, "31.12.2026 24:00": None},
        ),
        (
            'format = "%m/%d/%Y %I:%M %p"',
            {"11/01/2026 12:05 AM": MIDNIGHT + 5 * MINUTE, "13/01/2026 01:00 AM": None},
        ),
    ],
)
def test_times_as_people_write_them(tmp_path, entry, written):
    assert _times(tmp_path, entry, list(written)) == list(written.values())


def test_a_name_of_several_columns_is_all_of_them(tmp_path):
    declared = """
        clock = "relative"
        step = "60s"
        [usage]
        task = ["namespace", "pod", "container"]
        time = { column = "time", unit = "s" }
        cpu = { column = "cpu", unit = "cores", kind = "average" }
    """
    text = """time,namespace,pod,container,cpu
0,shop,web-0,app,0.5
0,shop,web-0,proxy,0.125
0,test,web-0,app,2
0,test,web-0,,4
0,,web-0,app,8
0,,,,16
"""
    store = ingest_own(tmp_path, declared, {"own.csv": text}, "8cores")
    submitted = store.sql(
        "SELECT collection_name, 8 * average_cpu AS cores "
        "FROM instance_usage JOIN collection_events USING (collection_id) "
        "WHERE type = 'SUBMIT' ORDER BY ALL"
    ).to_pylist()
    assert [tuple(row.values()) for row in submitted] == [
        ("/web-0/app", 8.0),
        ("shop/web-0/app", 0.5),
        ("shop/web-0/proxy", 0.125),
        ("test/web-0", 4.0),
        ("test/web-0/app", 2.0),
    ]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"decimal": ",", "thousands": ","},
            "own.toml: thousands: the same as the decimal mark: got ','; remove it, or correct one of the two",
        ),
        (
            {"decimal": ";"},
            "own.toml: decimal: not a decimal mark: expected . or ,, got ;",
        ),
        (
            {"usage": {"task": [], "time": "t"}},
            'own.toml: usage.task: no column; add column = "the name of the column in the file"',
        ),
        (
            {"usage": {"task": "a", "time": ["day", "hour"]}},
            "own.toml: usage.time.columns: not several columns of a name: expected names of columns, "
            "for one of task, machine, app, job, user, got ['day', 'hour']",
        ),
    ],
)
def test_what_makes_no_sense_is_named(declared, message):
    usage = {"task": "a", "time": {"column": "t", "unit": "s"}}
    with pytest.raises(UsageError) as error:
        declare({"clock": "relative", "step": "60s", "usage": usage, **declared}, "own.toml")
    assert str(error.value) == message
