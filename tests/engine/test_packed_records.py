"""Records on their way from a task: the same bytes come out, and few are sent."""

from __future__ import annotations

import pickle
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from borgtrace.engine.packed_records import PackedRecords

SUMS = np.dtype(
    [
        ("slots", "i8"),
        ("is_judged", "?"),
        ("peak", "f8"),
        ("share", "<f4"),
        ("counts", "i8", (100,)),
    ]
)


def sums(n_machines: int, n_policies: int) -> npt.NDArray[Any]:
    """Return made sums of machines and policies: slots are those of the machine, most counts are zero."""
    rng = np.random.default_rng(1)
    made = np.zeros((n_machines, n_policies), SUMS)
    made["slots"] = rng.integers(500, 600, n_machines)[:, None]
    made["is_judged"] = rng.random((n_machines, n_policies)) < 0.9
    made["peak"] = rng.random((n_machines, n_policies))
    made["share"] = rng.random((n_machines, n_policies))
    made["counts"][:, :, 3] = rng.integers(1, 9, (n_machines, n_policies))
    return made


@pytest.mark.parametrize(
    "records",
    [
        sums(5, 3),
        sums(0, 3),
        sums(6, 4)[::2, 1:],
        np.arange(24, dtype=">i4").reshape(2, 3, 4),
        np.array([[np.nan, -0.0], [np.inf, 5e-324]]),
        np.array([[True], [False]]),
        np.empty((0, 2)),
    ],
    ids=["sums", "no machine", "a view", "big-endian", "odd floats", "flags", "nothing"],
)
def test_what_is_packed_comes_out(records: npt.NDArray[Any]) -> None:
    sent = pickle.loads(pickle.dumps(PackedRecords.of(records)))
    received = sent.array()
    assert received.dtype == records.dtype
    assert received.shape == records.shape
    assert received.tobytes() == records.tobytes()


def test_the_order_of_bytes_is_by_field_policy_machine_and_place_in_the_number() -> None:
    records = np.zeros((2, 2), [("slots", "<u2"), ("kills", "u1")])
    records["slots"] = [[0x0102, 0x0304], [0x0506, 0x0708]]
    records["kills"] = [[1, 2], [3, 4]]
    lowest = bytes([0x02, 0x06, 0x04, 0x08])
    highest = bytes([0x01, 0x05, 0x03, 0x07])
    assert PackedRecords.of(records).content == lowest + highest + bytes([1, 3, 2, 4])


def test_compressed_records_take_little_more_than_what_is_random_in_them() -> None:
    records = sums(80, 11)
    # Of each record 53 bits of one float, 24 of another, and 3 of a count are random.
    random_bytes = records.size * (53 + 24 + 3) / 8
    sent = len(zlib.compress(pickle.dumps(PackedRecords.of(records))))
    in_memory_order = len(zlib.compress(pickle.dumps(records)))
    assert sent < 1.5 * random_bytes
    assert in_memory_order > 1.8 * random_bytes
