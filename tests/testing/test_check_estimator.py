"""The contract check of estimators names each fault in one sentence; ours keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.extensions import import_source
from borgtrace.placement import ESTIMATOR_KINDS
from borgtrace.testing import ContractError, check_estimator
from tests.extensions.own_code import write

FEW = "on a few small tasks"
ITEMS = "return np.column_stack([observed.mean, observed.std])"
ROOM = "return capacity[0] - state[0] - item[0]"
FAULTS = {
    "no rows": (
        "return observed.mean",
        ROOM,
        f"{FEW}, items has shape (12,): expected a row for each of 12 tasks",
    ),
    "NaN": (
        "return np.full((len(observed), 2), np.nan)",
        ROOM,
        f"{FEW}, items holds what is no finite number",
    ),
    "other tasks": (
        "return np.full((len(observed), 2), len(observed) / 1000)",
        ROOM,
        f"{FEW}, how it describes a task depends on the other tasks",
    ),
    "everything fits": (
        ITEMS,
        "return 1.0",
        "a task that always uses more than the machine has fits on it",
    ),
    "nothing fits": (
        ITEMS,
        "return -1.0",
        "a task of a hundredth of a machine does not fit on an empty one",
    ),
    "room grows": (
        ITEMS,
        "return capacity[0] + state[0] - item[0]",
        "there is more room on a machine with tasks than on an empty one",
    ),
}


@pytest.mark.parametrize("name", ESTIMATOR_KINDS.own)
def test_ours_keep_the_contract(name: str) -> None:
    check_estimator(ESTIMATOR_KINDS[name])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path: Path, fault: str) -> None:
    items, room, sentence = FAULTS[fault]
    text = f"""import numpy as np
from borgtrace import Estimator


def room(state, item, capacity, parameters):
    {room}


class Own(Estimator):
    name = "own"
    symbol = "k"
    about = "an estimator of a test"
    slack = staticmethod(room)

    def items(self, observed, capacity):
        {items}
"""
    file = write(tmp_path, "own.py", text)
    estimator = import_source(str(file)).Own
    with pytest.raises(ContractError) as raised:
        check_estimator(estimator)
    assert sentence in raised.value.failures


def test_what_numba_cannot_compile_is_named_by_its_line(tmp_path: Path) -> None:
    text = """import numpy as np
from borgtrace import Estimator


def room(state, item, capacity, parameters):
    return open("room").read()


class Own(Estimator):
    name = "own"
    symbol = "k"
    about = "an estimator of a test"
    slack = staticmethod(room)

    def items(self, observed, capacity):
        return np.column_stack([observed.mean, observed.std])
"""
    file = write(tmp_path, "own.py", text)
    with pytest.raises(ContractError) as raised:
        check_estimator(import_source(str(file)).Own)
    (failure,) = raised.value.failures
    assert failure.startswith(f"when its fit test is compiled, it raises TypingError in {file}:6: ")


METHOD = """import numpy as np
from borgtrace import Estimator


def room(state, item, capacity, parameters):
    return capacity[0] - state[0] - item[0]


class Own(Estimator):
    name = "own"
    symbol = "k"
    about = "an estimator of a test"
    slack = room

    def items(self, observed, capacity):
        return np.column_stack([observed.mean, observed.std])
"""


def test_a_test_that_is_a_method_is_named_with_what_to_write(tmp_path: Path) -> None:
    file = write(tmp_path, "own.py", METHOD)
    with pytest.raises(ContractError) as raised:
        check_estimator(import_source(str(file)).Own)
    assert raised.value.failures == (
        "when its fit test is compiled, `slack` of own is a method, which Numba does not compile: "
        "expected slack = staticmethod(room)",
    )


def test_a_helper_that_is_not_compiled_is_named_with_what_to_write(tmp_path: Path) -> None:
    text = METHOD.replace("slack = room", "slack = staticmethod(room)").replace(
        "def room(", "def left(a, b):\n    return a - b\n\n\ndef room("
    )
    file = write(
        tmp_path, "own.py", text.replace("capacity[0] - state[0]", "left(capacity[0], state[0])")
    )
    with pytest.raises(ContractError) as raised:
        check_estimator(import_source(str(file)).Own)
    assert raised.value.failures == (
        f"when its fit test is compiled, it raises TypingError in {file}:10: "
        "left is not compiled: put @borgtrace.compiled() above it",
    )
