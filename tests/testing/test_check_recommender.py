"""The contract check of recommenders names each fault in one sentence; ours keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.extensions import import_source
from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS
from borgtrace.testing import ContractError, check_recommender
from tests.extensions.own_code import write

FEW = "on a job with a few tasks, cpu"
FAULTS = {
    "one number": (
        "return np.array([1.0])",
        f"{FEW}, what recommend returns: expected numbers of shape (480,), one for each sample, "
        "got float64 of shape (1,)",
    ),
    "negative": (
        "return -samples.value",
        f"{FEW}, what recommend returns: expected amounts of at least 0, and NaN where nothing is "
        "recommended, got 480 that are negative or infinite",
    ),
    "look-ahead": (
        "return samples.slot.max(initial=0) + 0 * samples.value + 1",
        f"{FEW}, it looks ahead: earlier limits change with what comes later",
    ),
    "other jobs": (
        "return samples.job.max(initial=0) + 0 * samples.value + 1",
        f"{FEW}, what it recommends for a job depends on other jobs",
    ),
    "exception": (
        "return samples.nothing",
        f"{FEW}, it raises AttributeError in {{file}}:10: "
        "'JobSamples' object has no attribute 'nothing'",
    ),
    "changes its input": (
        "samples.value[:] = 1\nreturn samples.value",
        "it changes its input: work on a copy",
    ),
    "fractions": (
        "return samples.value / 1e6",
        "it recommends 1e-06 times the cpu that is used: limits are cores, or bytes, as values are",
    ),
    "percent": (
        "return 100 * samples.value",
        "it recommends 100 times the cpu that is used: limits are cores, or bytes, as values are",
    ),
    "percent where fractions are meant": (
        "return samples.value / 100",
        "it recommends 0.01 times the cpu that is used: limits are cores, or bytes, as values are",
    ),
    "largest machines": (
        "return samples.value / samples.size",
        "it recommends 0.0156 times the cpu that is used: limits are cores, or bytes, as values are",
    ),
    "chance": (
        "return np.random.default_rng().random(len(samples))",
        f"{FEW}, it recommends something else when it is asked again",
    ),
}


@pytest.mark.parametrize("name", RECOMMENDER_KINDS.own)
def test_ours_keep_the_contract(name: str) -> None:
    check_recommender(RECOMMENDER_KINDS[name])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path: Path, fault: str) -> None:
    recommend, sentence = FAULTS[fault]
    body = "\n".join(f"        {line}" for line in recommend.splitlines())
    text = f"""import numpy as np
from borgtrace import Recommender


class Own(Recommender):
    name = "own"
    about = "a recommender of a test"

    def recommend(self, samples):
{body}
"""
    file = write(tmp_path, "own.py", text)
    recommender = import_source(str(file)).Own
    with pytest.raises(ContractError) as raised:
        check_recommender(recommender)
    assert sentence.format(file=file) in raised.value.failures
