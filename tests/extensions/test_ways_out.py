"""What is said where a command cannot use an idea of the user: each time what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from borgtrace.catalog import QUESTION_KINDS
from borgtrace.forecast import FORECASTER_KINDS
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS
from borgtrace.placement import ESTIMATOR_KINDS
from borgtrace.scheduling import SCHEDULER_KINDS
from tests.extensions.conftest import Run
from tests.extensions.own_code import policy_with, write

OWN = "one of your own: name its file with --from"


def listed(kinds: Mapping[str, Any]) -> str:
    return ", ".join(kinds)


UNKNOWN = {
    "overcommit {store} --policy zzz": lambda: (
        f"--policy: no such policy: expected one of {listed(dict(sorted(POLICY_KINDS.items())))}, got zzz; {OWN}"
    ),
    "overcommit recommend {store} --recommender zzz --cores-per-unit 64 --gib-per-unit 256": lambda: (
        f"--recommender: no such recommender: expected one of {listed(dict(sorted(RECOMMENDER_KINDS.items())))}, "
        f"got zzz; {OWN}"
    ),
    "forecast {store} --forecaster zzz": lambda: (
        f"--forecaster: no such forecaster: expected one of {listed(FORECASTER_KINDS)}, got zzz; {OWN}"
    ),
    "simulate {store} --policy zzz": lambda: (
        f"--policy: no such policy: expected {listed(SCHEDULER_KINDS)}, with +preempt or without, got zzz; {OWN}"
    ),
    "compact {store} --policy zzz": lambda: (
        f"--policy: no such policy: expected {listed(SCHEDULER_KINDS)}, with +preempt or without, got zzz; {OWN}"
    ),
    "colocate place --synthetic 9 --estimator zzz:1": lambda: (
        f"--estimator: unknown name: expected one of {listed(ESTIMATOR_KINDS)}, got zzz; "
        f"write name:parameter, such as gpa:0.001; {OWN}"
    ),
    "analyze {store} zzz": lambda: (
        f"NAME: no such question: got zzz; every name: borgtrace analyze --list; {OWN}"
    ),
}
"""Command lines with a name that nothing has, and the whole message."""


@pytest.mark.parametrize("line", UNKNOWN)
def test_where_a_name_is_unknown_a_file_of_ones_own_is_offered(
    store: Path, run: Run, line: str
) -> None:
    assert "zzz" not in QUESTION_KINDS
    code, _, err = run(*line.format(store=store).split())
    assert code == 2
    assert err.splitlines()[-1] == f"borgtrace: {UNKNOWN[line]()}"


@pytest.mark.parametrize("option", ["--policy", "--recommender"])
def test_an_advice_takes_no_file_and_offers_none(store: Path, run: Run, option: str) -> None:
    code, _, err = run("advise", store, option, "zzz")
    assert code == 2
    assert err.startswith(f"borgtrace: {option}: no such {option.lstrip('-')}: expected one of ")
    assert err.endswith(", got zzz\n")


def test_a_cell_is_compacted_with_one_policy(store: Path, run: Run) -> None:
    code, _, err = run("compact", store, "--policy", "best-fit", "--policy", "worst-fit")
    assert code == 2
    assert err == (
        "borgtrace: --policy: a cell is compacted with one policy: expected one, got best-fit, worst-fit; "
        "ask for one after the other\n"
    )


DEVIATIONS = """import numpy as np
from borgtrace import Estimator


def room(state, item, capacity, parameters):
    return capacity[0] - state[0] - item[0]


class Own(Estimator):
    name = "{name}"
    symbol = "k"
    about = "an estimator of a test"
    {slack}

    def items(self, observed, capacity):
        return np.column_stack([observed.mean, observed.std])
"""


@pytest.mark.wide
def test_an_estimator_without_parameters_to_try_is_named(
    tmp_path: Path, name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    text = DEVIATIONS.format(name=name, slack="slack = staticmethod(room)")
    file = write(tmp_path, "deviations.py", text)
    few = ("--experiment", "sum_normality", "--samples", 7, "--realizations", 200)
    code, _, err = run("colocate", "--synthetic", 20, *few, "--from", file)
    assert code == 0, err
    assert err.splitlines()[0] == (
        f"{name} is not tried: it names no parameters. In its class, write those to try, such as paper = (1.0, 2.0)."
    )


def test_a_room_test_without_staticmethod_is_named(tmp_path: Path, name: str, run: Run) -> None:
    file = write(tmp_path, "deviations.py", DEVIATIONS.format(name=name, slack="slack = room"))
    words = ("colocate", "place", "--synthetic", 20, "--from", file, "--estimator", f"{name}:1")
    code, _, err = run(*words)
    assert code == 2
    assert err.splitlines()[-1] == (
        f"borgtrace: {file}:5: `slack` of {name} is a method, which Numba does not compile: "
        "expected slack = staticmethod(room)"
    )


def test_a_helper_of_a_policy_that_is_not_compiled_is_named(
    store: Path, tmp_path: Path, name: str, run: Run
) -> None:
    before = """from borgtrace import compiled


def half(value):
    return value / 2


@compiled()
def halves(values):
    for place in range(len(values)):
        values[place] = half(values[place])


"""
    body = "limits = block.limits.copy()\nhalves(limits)\nreturn limits"
    file = write(tmp_path, "own.py", policy_with(body, name=name, before=before))
    words = (
        "overcommit",
        store,
        "--from",
        file,
        "--policy",
        name,
        "--resource",
        "cpu",
        "--horizon",
        "5m",
    )
    code, _, err = run(*words)
    assert code == 2
    assert err.splitlines()[-1] == (
        f"borgtrace: {file}:13: the code of this extension failed: got TypingError: "
        "half is not compiled: put @borgtrace.compiled() above it"
    )


def test_a_helper_of_a_scheduler_that_is_not_compiled_is_named(
    store: Path, tmp_path: Path, name: str, run: Run
) -> None:
    text = f"""from borgtrace import Scheduler


def left(machine):
    return machine.cpu_free


def score(task, machine):
    return left(machine)


SCHEDULER = Scheduler(name="{name}", about="a scheduler of a test", score=score)
"""
    file = write(tmp_path, "own.py", text)
    code, _, err = run("simulate", store, "--from", file, "--policy", name)
    assert code == 2
    assert err.splitlines()[-1] == (
        f"borgtrace: {file}:9: Numba cannot compile this: got left is not compiled: put @borgtrace.compiled() "
        "above it; use numbers, conditions and loops alone, and put @borgtrace.compiled() above functions it calls"
    )
