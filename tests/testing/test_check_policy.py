"""The contract check of policies names each fault in one sentence; ours keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.extensions import import_source
from borgtrace.overcommit import parse_policy
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.testing import ContractError, check_policy
from tests.extensions.own_code import policy_with, write

ALONE = [name for name, kind in POLICY_KINDS.own.items() if not kind.pools]
SIZES = {"cores": 64.0, "gib": 256.0}
FEW = "on a machine with a few tasks"
FAULTS = {
    "one number": (
        "return np.array([1.0])",
        f"{FEW}, what predict returns: expected numbers of shape (40,), one for each slot, "
        "got float64 of shape (1,)",
    ),
    "words": (
        'return ["high"] * len(block.slots)',
        f"{FEW}, what predict returns: expected numbers of shape (40,), one for each slot, "
        "got <U4 of shape (40,)",
    ),
    "NaN": (
        "return block.limits * np.nan",
        f"{FEW}, what predict returns: expected finite numbers, got 40 of 40 that are NaN or infinite; "
        "predict block.limits where too little is known",
    ),
    "negative": ("return -block.limits", f"{FEW}, it predicts a negative peak"),
    "look-ahead": (
        "return np.maximum.accumulate(block.total_usage[::-1])[::-1]",
        f"{FEW}, it looks ahead: earlier peaks change with what comes later",
    ),
    "exception": (
        "return block.limits.nothing",
        f"{FEW}, it raises AttributeError in {{file}}:10: "
        "'numpy.ndarray' object has no attribute 'nothing'",
    ),
    "empty machine": (
        "return np.maximum.accumulate(block.limits) + 0 * block.limits[0]",
        "on a machine without tasks, it raises IndexError in {file}:10: "
        "index 0 is out of bounds for axis 0 with size 0",
    ),
    "print": (
        'print("now")\nreturn block.limits',
        "it prints to stdout ('now'), which is for data: print to stderr",
    ),
    "percent": (
        "return 100 * block.limits",
        "it predicts 100 times the limits of the tasks: peaks are fractions of the largest machine, "
        "as usage and limits are",
    ),
    "changes its input": (
        "peak = block.limits.copy()\nblock.all.usage[:] = 0\nreturn peak",
        "it changes its input: work on a copy",
    ),
    "chance": (
        "return np.random.default_rng().random(len(block.slots))",
        f"{FEW}, it predicts other numbers when it is asked again",
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_ours_keep_the_contract(name: str) -> None:
    check_policy(parse_policy(name, SIZES))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path: Path, fault: str) -> None:
    predict, sentence = FAULTS[fault]
    file = write(tmp_path, "own.py", policy_with(predict))
    policy = import_source(str(file)).Own
    with pytest.raises(ContractError) as raised:
        check_policy(policy)
    assert sentence.format(file=file) in raised.value.failures
