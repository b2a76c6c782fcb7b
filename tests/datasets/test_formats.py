"""Every format gives back what was written, bit for bit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from borgtrace.datasets.formats import FORMATS, suffix_of
from borgtrace.datasets.formats.arrays import FeatureNames, TraceArrays, empty
from borgtrace.errors import StoreError

NAMES = FeatureNames(
    ("cpu", "memory"), ("request",), {"tier": ("free", "production"), "user": ("ü", "")}
)


def _part(lengths: list[int], seed: int) -> TraceArrays:
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths])
    values = rng.normal(size=(offsets[-1], 2)).astype(np.float32)
    values[rng.random(values.shape) < 0.2] = np.nan
    n = len(lengths)
    identity = np.stack(
        [
            rng.integers(0, 2**62, n),
            rng.integers(0, 2**31, n),
            np.array(lengths),
            rng.integers(0, 2**62, n),
        ],
        axis=1,
    )
    numbers = rng.normal(size=(n, 1)).astype(np.float32)
    numbers[rng.random(numbers.shape) < 0.3] = np.nan
    codes = np.stack([rng.integers(-1, 2, n), rng.integers(-1, 1, n)], axis=1)
    return TraceArrays(
        offsets,
        values,
        (~np.isnan(values)).view(np.uint8),
        identity,
        numbers,
        codes,
    )


def _equal(a: TraceArrays, b: TraceArrays) -> None:
    for name in ("offsets", "values", "mask", "identity", "numbers", "codes"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("name", list(FORMATS))
@settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    blocks=st.lists(st.lists(st.integers(1, 300), min_size=1, max_size=8), min_size=1, max_size=3),
    seed=st.integers(0, 100),
)
def test_what_is_written_is_read(
    tmp_path: Path,
    name: str,
    is_compressed: bool,
    blocks: list[list[int]],
    seed: int,
) -> None:
    path = tmp_path / f"x{suffix_of(name, is_compressed=is_compressed)}"
    whole = _part([length for block in blocks for length in block], seed)
    cuts = np.cumsum([0, *map(len, blocks)])
    parts = (
        TraceArrays(
            whole.offsets[a : b + 1] - whole.offsets[a],
            whole.values[whole.offsets[a] : whole.offsets[b]],
            whole.mask[whole.offsets[a] : whole.offsets[b]],
            whole.identity[a:b],
            whole.numbers[a:b],
            whole.codes[a:b],
        )
        for a, b in pairwise(cuts)
    )
    assert FORMATS[name].write(path, NAMES, parts, is_compressed=is_compressed) == len(whole)
    _equal(FORMATS[name].read(path, NAMES), whole)


@pytest.mark.parametrize("words", [(), ("end", "a longer word " * 12)])
def test_records_of_every_size_are_read(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Where sizes take a second or third byte, numbers all ten, and a word is missing."""
    lengths = [
        *range(1, 150),
        2040,
        2046,
        2047,
        2048,
        4090,
        4095,
        4096,
        5000,
        16_383,
        16_384,
        20_000,
    ]
    n = len(lengths)
    whole = _part(lengths, 1)
    edges_of_varints = [
        0,
        127,
        128,
        2**14,
        2**35,
        2**63 - 1,
        -1,
    ]
    whole.identity[:, 0] = np.resize(edges_of_varints, n)
    codes = np.empty((n, 0), np.int64)
    if words:
        codes = np.resize(np.arange(-1, len(words)), (n, 1))
    part = TraceArrays(
        whole.offsets,
        whole.values,
        whole.mask,
        whole.identity,
        whole.numbers,
        codes,
    )
    names = FeatureNames(("cpu", "memory"), ("request",), {"end": words} if words else {})
    FORMATS["tfrecord"].write(tmp_path / "x.tfrecord", names, [part])
    _equal(FORMATS["tfrecord"].read(tmp_path / "x.tfrecord", names), part)


@pytest.mark.parametrize("name", list(FORMATS))
def test_a_file_without_traces_is_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"x.{name}"
    assert FORMATS[name].write(path, NAMES, []) == 0
    _equal(FORMATS[name].read(path, NAMES), empty(NAMES))


def test_npz_is_mapped_and_numpy_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    part = _part([3, 2], 0)
    FORMATS["npz"].write(path, NAMES, [part])
    mapped = FORMATS["npz"].read(path, NAMES).values
    base = mapped.base
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert mapped.ctypes.data % 64 == 0
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["data"], part.values)
        assert set(arrays) == {
            "data",
            "mask",
            "offsets",
            "collection_id",
            "instance_index",
            "length",
            "first_time",
            "request",
            "tier",
            "tier_words",
            "user",
            "user_words",
        }


@pytest.mark.parametrize("damage", ["cut", "flip length", "flip data"])
def test_a_damaged_tfrecord_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.tfrecord"
    FORMATS["tfrecord"].write(path, NAMES, [_part([4, 4, 4], 0)])
    data = bytearray(path.read_bytes())
    second = 16 + int.from_bytes(data[:8], "little")
    if damage == "cut":
        data = data[:-1]
    else:
        data[second + (1 if damage == "flip length" else 20)] ^= 4
    path.write_bytes(data)
    record = 2 if damage == "cut" else 1
    with pytest.raises(StoreError) as caught:
        FORMATS["tfrecord"].read(path, NAMES)
    expected = f"{path}: damaged: expected a whole record, got a bad one at {record}; build the dataset again"
    assert str(caught.value) == expected


def test_features_that_do_not_end_with_their_record_are_told_without_check_sums(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.tfrecord"
    FORMATS["tfrecord"].write(path, NAMES, [_part([4, 4, 4], 0)])
    data = bytearray(path.read_bytes())
    second = 16 + int.from_bytes(data[:8], "little")
    entry = data.index(b"\x0a\x04mask", second) - 1
    data[entry] += 1
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        FORMATS["tfrecord"].read(path, NAMES, is_verified=False)
    expected = (
        f"{path}: damaged: expected a whole record, got a bad one at 1; build the dataset again"
    )
    assert str(caught.value) == expected


def test_a_flipped_value_in_parquet_is_found_by_its_check_sum(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    part = _part([4, 4], 0)
    FORMATS["parquet"].write(path, NAMES, [part])
    data = bytearray(path.read_bytes())
    value = next(value for value in part.values[:, 0] if not np.isnan(value))
    data[data.index(value.tobytes())] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"damaged: got .*; build the dataset again"):
        FORMATS["parquet"].read(path, NAMES)
