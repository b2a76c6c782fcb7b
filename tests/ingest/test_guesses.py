"""What is made of own data as people write it: the reading that is meant, a question, or a refusal with its cause.

Two pods, six times five minutes apart from 2026-11-01 00:00 UTC; each case changes one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from borgtrace.errors import SourceError
from borgtrace.ingest.find.sniffing import sniff

MIDNIGHT = 1_793_491_200
AMOUNTS = (0.5, 1.5, 0.25)


def _text(
    header: Sequence[str] = ("pod", "timestamp", "cpu"),
    amounts: Sequence[object] = AMOUNTS,
    time: Callable[[int], object] = str,
    more: Sequence[object] = (),
    separator: str = ",",
) -> str:
    """Return a table whose amounts go round and round."""
    lines = [separator.join(header)]
    for slot in range(6):
        for pod in range(2):
            fields = [
                f"web-{pod}",
                time(MIDNIGHT + 300 * slot),
                amounts[(slot + pod) % len(amounts)],
                *more,
            ]
            lines.append(separator.join(map(str, fields)))
    return "\n".join(lines) + "\n"


def _written(pattern: str) -> Callable[[int], str]:
    return lambda time: datetime.fromtimestamp(time, UTC).strftime(pattern)


def _in_three_weeks(pattern: str) -> Callable[[int], str]:
    return lambda time: _written(pattern)(time + 20 * 86_400)


def _sniffed(tmp_path: Path, text: str):
    path = tmp_path / "own.csv"
    path.write_text(text)
    return sniff(path)


@pytest.mark.parametrize(
    ("name", "amounts", "unit", "kind"),
    [
        ("cpu", AMOUNTS, "cores", "average"),
        ("CPU Usage (cores)", AMOUNTS, "cores", "average"),
        ("cpu_usage_cores", AMOUNTS, "cores", "average"),
        ("cpuUsageNanoCores", (500_000_000, 1_500_000_000, 250_000_000), "nanocores", "average"),
        ("cpu_nano", (500_000_000, 1_500_000_000, 250_000_000), "nanocores", "average"),
        ("CPU(m)", (500, 1500, 250), "millicores", "average"),
        ("cpu_mcores", (500, 1500, 250), "millicores", "average"),
        ("mCPU", (500, 1500, 250), "millicores", "average"),
        ("cpu_millicores_current", (500, 1500, 250), "millicores", "instant"),
        ("cpu", ("500m", "1", "250m"), "quantity", "average"),
        ("container_cpu_usage_seconds_total", (100, 250, 400), "s", "counter"),
        ("memory_mb", (500, 1500, 250), "MB", "average"),
        ("Memory(MiB)", (500, 1500, 250), "MiB", "average"),
        ("memory", ("1Gi", "512Mi", "2Gi"), "quantity", "average"),
        ("memory", ("500 MB", "2 GB", "512 MB"), "quantity", "average"),
        ("mem_rss", (2_000_000, 3_000_000, 1_000_000), "bytes", "average"),
    ],
)
def test_a_unit_is_told_by_name_and_values(tmp_path, name, amounts, unit, kind):
    draft = _sniffed(tmp_path, _text(("pod", "time", name), amounts))
    resource = "memory" if name.lower().startswith("mem") else "cpu"
    assert not draft.questions
    assert draft.declaration["usage"][resource] == {"column": name, "unit": unit, "kind": kind}


@pytest.mark.parametrize(
    ("name", "amounts", "asked", "line"),
    [
        ("cpu_pct", (50, 80, 25), "percent of what", "percent_of_core"),
        ("cpu", ("50%", "80%", "25%"), "percent of what", "percent_of_core"),
        ("cpu_utilization", (0.5, 0.8, 0.25), "percent of what", "percent_of_core"),
        ("memory%", (50, 80, 25), "percent of what", "percent_of_machine"),
        (
            "cpu",
            (50, 80, 25),
            "are its numbers, up to 80, cores, millicores or percentages",
            "cores",
        ),
        (
            "cpu",
            (500, 1500, 250),
            "are its numbers, up to 1500, cores, millicores or percentages",
            "millicores",
        ),
        ("cpu_usage_mhz", (500, 1500, 250), "a clock rate says no cores by itself", "cores"),
        ("memory", (500, 1500, 250), "in which unit", "MiB"),
        ("cpu", ("5x", "1x", "2x"), "what is 'x' behind a number", "cores"),
        ("cpu_cores", (4, 4, 4), "is it how many cores there are, or how many are used", "cores"),
        (
            "memory_mb",
            ('"1,500"', '"2,500"', '"2,250"'),
            "the comma of '1,500' may stand before a fraction",
            "thousands",
        ),
    ],
)
def test_an_amount_of_two_readings_is_asked_about(tmp_path, name, amounts, asked, line):
    draft = _sniffed(tmp_path, _text(("pod", "time", name), amounts))
    assert [question.about for question in draft.questions] == [name]
    assert asked in draft.questions[0].asked
    assert line in draft.questions[0].line


def test_what_never_falls_may_be_a_counter(tmp_path):
    lines = [f"web,{MIDNIGHT + 300 * slot},{100 + 150 * slot}" for slot in range(6)]
    draft = _sniffed(tmp_path, "\n".join(["pod,time,cpu", *lines]) + "\n")
    assert [question.asked for question in draft.questions] == ["never falls"]


@pytest.mark.parametrize(
    ("columns", "taken"),
    [
        (("cpu_request", "cpu_usage"), "cpu_usage"),
        (("cpu_limit", "cpu"), "cpu"),
        (("cpu_cores", "cpu_usage"), "cpu_usage"),
        (("num_cpus", "cpu"), "cpu"),
        (("cpu_max", "cpu_avg"), "cpu_avg"),
        (("cpu_throttled_seconds", "cpu_used"), "cpu_used"),
        (("cpu_idle", "cpu_used"), "cpu_used"),
        (("vcpus", "cpu_used"), "cpu_used"),
        (("cpu_model", "cpu"), "cpu"),
    ],
)
def test_of_several_columns_of_cpu_usage_is_taken(tmp_path, columns, taken):
    """In either order."""
    for order in (columns, columns[::-1]):
        draft = _sniffed(tmp_path, _text(("pod", "time", *order), more=(1,)))
        assert draft.declaration["usage"]["cpu"]["column"] == taken


def test_columns_that_are_usage_alike_are_asked_about(tmp_path):
    draft = _sniffed(tmp_path, _text(("pod", "time", "cpu_user", "cpu_system"), more=(0.1,)))
    assert [question.asked for question in draft.questions] == [
        "which of cpu_user or cpu_system is the usage of cpu"
    ]


@pytest.mark.parametrize(
    ("time", "entry"),
    [
        (str, {"unit": "s"}),
        (lambda time: time * 1000, {"unit": "ms"}),
        (lambda time: time + 0.125, {"unit": "s"}),
        (_written("%Y-%m-%d %H:%M:%S"), {"unit": "iso", "zone": "UTC"}),
        (_written("%Y-%m-%dT%H:%M:%S.000Z"), {"unit": "iso", "zone": "UTC"}),
        (_written("%Y-%m-%dT%H:%M:%S+02:00"), {"unit": "iso", "zone": "UTC"}),
        (_written("%Y-%m-%d %H:%M:%S +0000 UTC"), {"unit": "iso", "zone": "UTC"}),
        (_written("%Y-%m-%d %H:%M:%S PST"), {"unit": "iso", "zone": "UTC"}),
        (_written("%d.%m.%Y %H:%M"), {"format": "%d.%m.%Y %H:%M", "zone": "UTC"}),
        (_written("%Y/%m/%d %H:%M"), {"format": "%Y/%m/%d %H:%M", "zone": "UTC"}),
        (_written("%b %d %Y %H:%M:%S"), {"format": "%b %d %Y %H:%M:%S", "zone": "UTC"}),
        (_written("%a %b %d %H:%M:%S UTC %Y"), {"format": "%a %b %d %H:%M:%S %Z %Y", "zone": "UTC"}),
        (_written("%d/%b/%Y:%H:%M:%S +0000"), {"format": "%d/%b/%Y:%H:%M:%S %z", "zone": "UTC"}),
        # The 21st is no month.
        (_in_three_weeks("%m/%d/%Y %I:%M %p"), {"format": "%m/%d/%Y %I:%M %p", "zone": "UTC"}),
        (_in_three_weeks("%d/%m/%Y %H:%M"), {"format": "%d/%m/%Y %H:%M", "zone": "UTC"}),
        (_written("%Y%m%d%H%M"), {"unit": "compact", "zone": "UTC"}),
        (_written("%Y%m%d%H%M%S"), {"unit": "compact", "zone": "UTC"}),
        (lambda time: round(25_569 + time / 86_400, 8), {"unit": "excel", "zone": "UTC"}),
    ],
)  # fmt: skip
def test_times_are_told_by_how_they_are_written(tmp_path, time, entry):
    draft = _sniffed(tmp_path, _text(time=time))
    assert not draft.questions
    assert draft.declaration["usage"]["time"] == {"column": "timestamp", **entry}
    assert (draft.declaration["clock"], draft.declaration["step"]) == ("epoch", "5m")


@pytest.mark.parametrize(
    ("time", "asked"),
    [
        (_written("%m/%d/%Y %H:%M"), "'11/01/2026 00:00' may begin with the month or with the day"),
        (_written("%Y%m%d%H"), "2026110100 may be digits of a date or seconds since 1970"),
        (lambda time: (time - MIDNIGHT) // 60, "in s its times are 5 s apart"),
        (lambda time: time // 60, "in s its times are 5 s apart"),
        (lambda time: time // 3, "in s since 1970 its times are of the years 1988 to 1988"),
    ],
)
def test_times_of_two_readings_are_asked_about(tmp_path, time, asked):
    draft = _sniffed(tmp_path, _text(time=time))
    assert [question.asked for question in draft.questions] == [asked]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (
            _text(time=_written("%H:%M:%S")),
            "column timestamp: times of day without a date: expected dates and times, such as 2026-11-01 00:05:00, "
            "got '00:00:00'; add the date to each, in the same column",
        ),
        (
            _text(time=lambda time: f"slot {time}"),
            "column timestamp: no date and time that is read: expected such as 2026-11-01 00:05:00, or numbers, "
            "got 'slot 1793491200'; write a file with [usage] and "
            'time = { column = "…", format = "%d.%m.%Y %H:%M" }, and add --dialect FILE.toml',
        ),
        (
            "time,metric,pod,value\n1,cpu,web,0.5\n",
            "a row for each metric: expected a column for each, such as cpu and memory, "
            "got time, metric, pod, value; pivot it: a row for each task and time",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_cause(tmp_path, text, refusal):
    with pytest.raises(SourceError) as error:
        _sniffed(tmp_path, text)
    assert str(error.value) == f"{tmp_path / 'own.csv'}: {refusal}"


@pytest.mark.parametrize(
    ("header", "task"),
    [
        ("namespace,pod,container", ["namespace", "pod", "container"]),
        ("cluster,namespace,pod", ["cluster", "namespace", "pod"]),
        ("exported_namespace,exported_pod,x", ["exported_namespace", "exported_pod"]),
        ("vm_id,x,y", "vm_id"),
        ("podName,nodeName,x", "podName"),
        ("job_id,task_id,x", ["job_id", "task_id"]),
        ("name,host,x", "name"),
        ("deployment,x,y", "deployment"),
    ],
)
def test_a_task_is_all_columns_that_identify_it(tmp_path, header, task):
    lines = [f"a,b,c,{MIDNIGHT + 300 * slot},{AMOUNTS[slot % 3]}" for slot in range(6)]
    draft = _sniffed(tmp_path, "\n".join([f"{header},time,cpu", *lines]) + "\n")
    assert draft.declaration["usage"]["task"] == task
    assert not draft.questions


def test_a_column_that_tells_tasks_apart_is_asked_about(tmp_path):
    lines = [
        f"a,{core},{MIDNIGHT + 300 * slot},{AMOUNTS[slot % 3]}"
        for slot in range(6)
        for core in (0, 1)
    ]
    draft = _sniffed(tmp_path, "\n".join(["pod,core,time,cpu", *lines]) + "\n")
    assert [tuple(question) for question in draft.questions] == [
        (
            "pod",
            "6 rows have the task and the time of another; column core tells them apart",
            'task = ["pod", "core"]',
        )
    ]


def test_a_decimal_comma_is_told_from_marks_between_thousands(tmp_path):
    draft = _sniffed(tmp_path, _text(amounts=("0,5", "1,5", "0,25"), separator=";"))
    assert (draft.declaration["decimal"], draft.questions) == (",", [])
    grouped = _sniffed(
        tmp_path, _text(("pod", "time", "memory_kb"), ('"1,234,567"', '"2,345,678"'))
    )
    assert (grouped.declaration["thousands"], grouped.questions) == (",", [])


@pytest.mark.parametrize(
    ("name", "amounts", "marks"),
    [
        ("Memory MB", ("1\u00a0500,5", "250,25"), {"thousands": "\u00a0", "decimal": ","}),
        ("Memory MB", ("1\u202f500,5", "250,25"), {"thousands": "\u202f", "decimal": ","}),
        ("Memory MB", ("1'500.5", "250.25"), {"thousands": "'"}),
        ("Memory MB", ("1.500,5", "250,25"), {"thousands": ".", "decimal": ","}),
        ("Memory KB", ("1.234.567", "512.000"), {"thousands": ".", "decimal": ","}),
        ("Memory MB", ("0.500", "1.500"), {}),
    ],
)
def test_marks_inside_of_numbers_are_those_of_the_country(tmp_path, name, amounts, marks):
    draft = _sniffed(tmp_path, _text(("pod", "time", name), amounts, separator=";"))
    assert not draft.questions
    assert {key: draft.declaration.get(key) for key in ("thousands", "decimal")} == {
        "thousands": None,
        "decimal": None,
        **marks,
    }


def test_a_point_beside_semicolons_may_stand_between_thousands(tmp_path):
    rows = _text(("pod", "time", "Memory MB"), ("1.500", "2.000"), separator=";")
    assert [question.asked for question in _sniffed(tmp_path, rows).questions] == [
        "the point of '1.500' may stand before a fraction or between thousands"
    ]
    assert not _sniffed(tmp_path, rows.replace(";", ",")).questions


@pytest.mark.parametrize(
    ("header", "amounts", "more", "asked"),
    [
        # A gauge of nanocores, which Datadog calls a total.
        (
            "kubernetes.cpu.usage.total",
            (5e8, 1e8, 2e8),
            (),
            "called like a counter, but it falls again and again",
        ),
        ("cpu_seconds", (150, 20, 75), (), "called like a counter, but it falls again and again"),
        ("cpu_max", AMOUNTS, (), "it is called like no mean of each step"),
        ("cpu", (0.5, 0.15, 0.25), (4,), "is it a share of maxcpu, or an amount of its own"),
    ],
)
def test_an_amount_that_may_be_another_is_asked_about(tmp_path, header, amounts, more, asked):
    names = ("pod", "time", header, *(("maxcpu",) if more else ()))
    draft = _sniffed(tmp_path, _text(names, amounts, more=more))
    assert [question.asked for question in draft.questions] == [asked]


def test_the_memory_of_a_device_is_not_that_of_a_task(tmp_path):
    draft = _sniffed(tmp_path, _text(("pod", "time", "gpu_mem_bytes", "mem_bytes"), more=(5e8,)))
    assert draft.declaration["usage"]["memory"]["column"] == "mem_bytes"


def test_the_length_of_a_window_may_be_a_column(tmp_path):
    named = _sniffed(tmp_path, _text(("pod", "time", "cpu", "duration_s"), more=(300,)))
    assert named.declaration["usage"]["length"] == {"column": "duration_s", "unit": "s"}
    unnamed = _sniffed(tmp_path, _text(("pod", "time", "cpu", "duration"), more=(300,)))
    assert [question.asked for question in unnamed.questions] == [
        "in which unit is this length of time"
    ]


def test_a_column_called_instance_may_tell_tasks_apart(tmp_path):
    lines = [
        f"web,{host},{MIDNIGHT + 300 * slot},{AMOUNTS[slot % 3]}"
        for slot in range(6)
        for host in ("10.0.0.1:80", "10.0.0.2:80")
    ]
    draft = _sniffed(tmp_path, "\n".join(["service,instance,time,cpu", *lines]) + "\n")
    assert [question.line for question in draft.questions] == ['task = ["service", "instance"]']


@pytest.mark.parametrize(
    ("pattern", "entry"),
    [
        ("%d.%m.%y %H:%M", "%d.%m.%y %H:%M"),
        ("%d-%b-%y %H:%M", "%d-%b-%y %H:%M"),
        ("%m/%d/%y %H:%M", "%m/%d/%y %H:%M"),
        ("%Y.%m.%d %H:%M:%S", "%Y.%m.%d %H:%M:%S"),
        ("%Y年%m月%d日 %H:%M", "%Y年%m月%d日 %H:%M"),
    ],
)
def test_a_year_of_two_digits_is_of_this_age(tmp_path, pattern, entry):
    text = _text(("pod", "Zeitstempel", "cpu"), time=_in_five_weeks(pattern))
    draft = _sniffed(tmp_path, text)
    assert (draft.declaration["usage"]["time"]["format"], draft.declaration["step"]) == (
        entry,
        "5m",
    )
    assert not draft.questions


def _in_five_weeks(pattern: str) -> Callable[[int], str]:
    # The 31st of December: no month, and no year of ours has only two digits.
    return lambda time: _written(pattern)(time + 60 * 86_400)


def _refusal(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "own.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SourceError) as error:
        sniff(path)
    return str(error.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_text(amounts=("",)), "column cpu: no amounts"),
        ("time,value\n1793491200,0.5\n", "no column is called like a task"),
        ("pod,time,memory_limit\na,1793491200,5\n", "no column is called like usage of CPU"),
    ],
)
def test_what_keeps_a_table_from_being_read_is_said(tmp_path, text, cause):
    assert cause in _refusal(tmp_path, text)
