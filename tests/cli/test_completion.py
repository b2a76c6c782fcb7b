"""A shell completes commands and the values of their options: names that exist, and all of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from borgtrace.catalog import questions
from borgtrace.forecast.board import BASELINES, BOARDS
from borgtrace.forecast.registry import FORECASTER_KINDS
from borgtrace.overcommit.policies import policies
from borgtrace.overcommit.recommenders import recommenders
from borgtrace.placement import estimators, packers
from borgtrace.scheduling.whatifs import WHAT_IFS

pytestmark = pytest.mark.wide


def completions(line: str) -> set[str]:
    """Return what bash offers at the end of a line, as Typer's script for it asks."""
    words = line.split(" ")
    environment = {
        **os.environ,
        "_BORGTRACE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "borgtrace"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("borgtrace overcommit store --policy n", {"nsigma"}),
        ("borgtrace overcommit target store --policy nsigma+task", {"nsigma+task-percentile"}),
        ("borgtrace overcommit store --policy ", set(policies())),
        ("borgtrace overcommit recommend store --recommender ", set(recommenders())),
        ("borgtrace colocate place store --estimator ", set(estimators())),
        ("borgtrace colocate place store --packer ", set(packers())),
        ("borgtrace compact store --what-if ", {what_if.name for what_if in WHAT_IFS}),
        ("borgtrace forecast store --forecaster ", {*FORECASTER_KINDS.own, *BASELINES}),
        ("borgtrace forecast files --board ", set(BOARDS)),
        ("borgtrace analyze store queue_l", {"queue_length"}),
        ("borgtrace analyze store ", set(questions())),
        (
            "borgtrace trace store 1 0 --columns average_cpu,maximum_m",
            {"average_cpu,maximum_memory"},
        ),
        ("borgtrace over", {"overcommit"}),
    ],
)
def test_values_are_completed(line: str, names: set[str]) -> None:
    assert completions(line) == names
