"""Amounts of CPU that may be percentages or shares: asked about, unless something beside them settles what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.errors import UsageError
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.ingest.find.sniffing import sniff

_ASKED = "are its numbers, up to 12, cores or percentages"
_AMOUNTS = (4.0, 12.0, 2.0)


def _table(
    folder: Path,
    cpu: str,
    task: str = "vm",
    amounts: tuple[float, ...] = _AMOUNTS,
    beside: str = "",
    size: object = "",
) -> Path:
    """Write two tasks, six times each, and return the file."""
    lines = [",".join(filter(None, (task, "time", cpu, beside)))]
    for slot in range(6):
        for number in range(2):
            amount = amounts[(slot + number) % len(amounts)]
            fields = [f"t{number}", 1_793_491_200 + 300 * slot, amount]
            lines.append(",".join(map(str, [*fields, size] if beside else fields)))
    path = folder / "own.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("task", ["vm", "instance_id", "container", "host_task_id", "name"])
@pytest.mark.parametrize(
    "cpu",
    ["avg cpu", "CPU Usage Avg", "mean_cpu", "average CPU", "cpu_usage", "CPU used", "cpu load"],
)
def test_percentages_and_cores_up_to_16_are_asked_about(tmp_path, cpu, task):
    task = "task_id" if task.startswith("host") else task
    (question,) = sniff(_table(tmp_path, cpu, task)).questions
    assert (question.about, question.asked) == (cpu, _ASKED)
    assert question.line == (
        'unit = "cores" or unit = "percent_of_core" or unit = "percent_of_machine"'
    )


def test_without_a_terminal_the_line_that_settles_it_is_said(tmp_path):
    path = _table(tmp_path, "avg cpu")
    with pytest.raises(UsageError) as refusal:
        find_raw_files([path])
    assert str(refusal.value) == (
        f"{path}: column avg cpu: {_ASKED}; borgtrace dialect sniff {path} > own.toml, "
        'add unit = "cores" or unit = "percent_of_core" or unit = "percent_of_machine", and --dialect own.toml'
    )


@pytest.mark.parametrize(
    ("cpu", "settled"),
    [
        # No more than its size, at any time: percentages would soon be more.
        ("avg cpu", {"beside": "cpu_limit", "size": 16}),
        ("avg cpu", {"beside": "cpu_request_cores", "size": 12}),
        ("cpu_usage", {"beside": "cpu_capacity", "size": 64}),
        # Tools of Kubernetes write cores.
        ("cpu_usage", {"task": "pod"}),
        # A unit in the name, and amounts up to 1: as those of nearly all tasks.
        ("avg_cpu_cores", {}),
        ("avg cpu", {"amounts": (0.25, 1.0, 0.5)}),
        ("cpu", {}),
    ],
)
def test_what_is_settled_is_not_asked(tmp_path, cpu, settled):
    draft = sniff(_table(tmp_path, cpu, **settled))
    assert not draft.questions
    assert draft.declaration["usage"]["cpu"] == {"column": cpu, "unit": "cores", "kind": "average"}


def test_a_size_that_is_exceeded_settles_nothing(tmp_path):
    (question,) = sniff(_table(tmp_path, "avg cpu", beside="cpu_limit", size=2)).questions
    assert question.asked == _ASKED


@pytest.mark.parametrize("name", ["ratio", "fraction", "frac", "norm", "normalized"])
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_a_share_is_asked_of_what_it_is_one(tmp_path, resource, name):
    path = _table(tmp_path, f"{resource}_{name}", amounts=(0.25, 0.75, 0.5))
    (question,) = sniff(path).questions
    assert question.asked == "a share of what"
    assert question.line == 'unit = "fraction_of_machine" or "fraction_of_request"'


@pytest.mark.parametrize("name", ["cpu_jiffies", "cpu ticks"])
def test_ticks_of_a_clock_are_no_seconds(tmp_path, name):
    (question,) = sniff(_table(tmp_path, name, amounts=(100.0, 200.0, 300.0))).questions
    assert question.asked == "counts ticks of a clock, of which a second has 100 on most machines"


@pytest.mark.parametrize(
    ("name", "unit"), [("cpu_minutes", "min"), ("core_hours", "h"), ("cpu_hrs", "h")]
)
def test_cpu_time_in_minutes_and_hours_is_a_counter(tmp_path, name, unit):
    path = tmp_path / "own.csv"
    rows = [f"a,{1_793_491_200 + 300 * slot},{slot}" for slot in range(6)]
    path.write_text("\n".join([f"task,time,{name}", *rows]) + "\n")
    assert sniff(path).declaration["usage"]["cpu"] == {
        "column": name,
        "unit": unit,
        "kind": "counter",
    }


def test_an_amount_is_usage_before_a_percentage_of_it(tmp_path):
    path = _table(tmp_path, "cpu(millicores)", "pod", (500.0, 250.0), "%cpu", 5)
    draft = sniff(path)
    assert not draft.questions
    assert draft.declaration["usage"]["cpu"]["column"] == "cpu(millicores)"
