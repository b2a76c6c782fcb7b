"""A scheduler in a file of the user's where devices are known: named, replayed, listed; its faults have their line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from borgtrace.errors import UsageError
from borgtrace.extensions import import_source
from borgtrace.scheduling.gpus import GPU_POLICIES, GPU_QUEUE, GPU_SCHEDULING, GpuOptions
from tests.extensions.conftest import Run
from tests.extensions.own_code import write
from tests.gpu_files import write_gpu_files

pytestmark = pytest.mark.wide  # replays of its own: they are compiled for half a minute

BEST_FIT = '''"""Our best fit, as somebody else would write it."""

from borgtrace import Scheduler


def score(task, machine):
    """Return what is left as shares of the largest machine that the authors of FGD assume, in whole percent."""
    cpu = round((machine.cpu_free - task.cpu) * 96_000) / 128_000
    gpu = round((machine.gpu_free - task.gpu) * 1000) / 8000
    return {score}


def device(task, machine):
    """Return the device on which least is left."""
    chosen = -1
    least = 2.0
    for place in range(8):
        free = machine.devices[place]
        if task.gpu <= free < least:
            chosen = place
            least = free
    return {device}


SCHEDULER = Scheduler(name="{name}", about="least is left", score=score, device=device)
'''
"""The largest node of the tests has 96 cores."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nodes with 16 GPUs, 40 pods."""
    return write_gpu_files(tmp_path_factory.mktemp("own-gpus") / "gpus")


def scheduler_file(
    tmp_path: Path,
    name: str,
    score: str = "-int((1.0 - (cpu * 0.5 + gpu * 0.5)) * 100)",
    device: str = "chosen",
) -> Path:
    return write(tmp_path, "own.py", BEST_FIT.format(name=name, score=score, device=device))


@pytest.fixture
def best_fit(tmp_path: Path, name: str) -> Path:
    return scheduler_file(tmp_path, name)


def rows_by_policy(out: str) -> dict[str, list[dict]]:
    rows: dict[str, list[dict]] = {}
    for row in json.loads(out)["rows"]:
        rows.setdefault(row.pop("policy"), []).append(row)
    return rows


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_scheduler_of_a_file_is_replayed_beside_ours(
    folder: Path, best_fit: Path, name: str, run: Run, jobs: int
) -> None:
    policies = ("--policy", name, "--policy", "best-fit", "--ties", "rank", "--ties", "drawn")
    words = ("simulate", "gpus", folder, "--from", best_fit, *policies, "--runs", 2)
    code, out, err = run(*words, "--jobs", jobs, "--json")
    assert code == 0, err
    rows = rows_by_policy(out)
    assert len(rows["best-fit"]) == 2
    assert rows[name] == rows["best-fit"]


def test_pods_that_come_and_go(folder: Path, best_fit: Path, name: str, run: Run) -> None:
    policies = ("--policy", name, "--policy", "best-fit")
    words = ("simulate", "gpus", folder, "--departures", "--nodes", 0.5)
    code, out, err = run(*words, "--from", best_fit, *policies, "--json")
    assert code == 0, err
    rows = rows_by_policy(out)
    # Pods wait on half of the nodes.
    assert rows["best-fit"][0]["waiting"] > 0
    assert rows[name] == rows["best-fit"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--runs", 1), list(GPU_POLICIES)),
        (("--departures",), ["best-fit", "bids", "fgd"]),
    ],
)
def test_where_none_is_named_it_stands_beside_the_defaults(
    folder: Path, best_fit: Path, name: str, run: Run, words: tuple, expected: list[str]
) -> None:
    code, out, err = run("simulate", "gpus", folder, "--from", best_fit, *words, "--json")
    assert code == 0, err
    assert sorted(rows_by_policy(out)) == sorted([*expected, name])


def test_the_list_says_where_it_comes_from(best_fit: Path, name: str, run: Run) -> None:
    code, out, _ = run("simulate", "gpus", "--list", "--from", best_fit)
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[: len(GPU_POLICIES)]] == list(GPU_POLICIES)
    assert f"{name:<22}least is left (from {best_fit})" in lines


def test_an_object_stands_in_the_place_of_a_name(folder: Path, best_fit: Path, name: str) -> None:
    scheduler = import_source(str(best_fit)).SCHEDULER
    source = {"source": "own.py", "sha256": hashlib.sha256(best_fit.read_bytes()).hexdigest()}
    for question, options in ((GPU_SCHEDULING, {"runs": 1}), (GPU_QUEUE, {})):
        answer = question.run(folder, policies=(scheduler, "best-fit"), **options)
        assert set(answer.table["policy"].to_pylist()) == {name, "best-fit"}
        assert answer.provenance.parameters["policies"] == [name, "best-fit"]
        assert answer.provenance.extensions == {name: source}


def test_what_is_no_scheduler_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        GpuOptions(policies=(3,))  # type: ignore[arg-type]
    assert str(raised.value) == (
        "policies: not a policy: expected names, and objects of borgtrace.Scheduler, "
        "got an object of the class int"
    )


def test_an_unknown_name_is_refused(folder: Path, run: Run) -> None:
    code, _, err = run("simulate", "gpus", folder, "--policy", "coin")
    assert code == 2
    # Names of other tests follow ours.
    ours = ", ".join(GPU_POLICIES)
    assert err.startswith(f"borgtrace: --policy: no such policy for GPUs: expected one of {ours}")
    assert err.endswith("got coin; one of your own: name its file with --from\n")


@pytest.mark.parametrize(
    ("words", "jobs"), [(("--runs", 1), 1), (("--runs", 1), 2), (("--departures",), 1)]
)
@pytest.mark.parametrize(
    ("fault", "line", "message"),
    [
        (
            {"score": "1.0 / (machine.n_tasks - 1)"},
            10,
            "the code of this extension failed: got ZeroDivisionError: ",
        ),
        (
            {"score": "cpu - cpu + (gpu - gpu) / 0.0 if machine.n_tasks > 99 else float('nan')"},
            6,
            "the score of {name} is not a number: got NaN for task(",
        ),
        (
            {"device": "7 - chosen"},
            13,
            "`device` of {name} returns no device that the task fits on: expected 0 to 7, with ",
        ),
        (
            {"device": "machine.temperature"},
            22,
            "Numba cannot compile this: got Unknown attribute 'temperature' of type MachineView(",
        ),
    ],
)
def test_its_own_line_is_named_where_it_fails(
    folder: Path,
    tmp_path: Path,
    name: str,
    run: Run,
    words: tuple,
    jobs: int,
    fault: dict[str, str],
    line: int,
    message: str,
) -> None:
    file = scheduler_file(tmp_path, name, **fault)
    policies = ("--policy", name, "--policy", "best-fit")
    asked = ("simulate", "gpus", folder, "--from", file, *policies, *words, "--jobs", jobs)
    code, out, err = run(*asked, "--out", tmp_path / "out")
    assert code == 2
    assert err.splitlines()[-1].startswith(f"borgtrace: {file}:{line}: {message.format(name=name)}")
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_a_name_that_is_taken_is_refused(tmp_path: Path, run: Run) -> None:
    file = scheduler_file(tmp_path, "fgd")
    code, _, err = run("simulate", "gpus", "--list", "--from", file)
    assert code == 2
    assert err == (
        f"borgtrace: {file}: borgtrace has a scheduler of this name: got fgd; give it another name\n"
    )
