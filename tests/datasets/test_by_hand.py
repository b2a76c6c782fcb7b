"""Small tables of what datasets are made of: rows in, rows out."""

from __future__ import annotations

import io
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from borgtrace.datasets import DatasetOptions, Selection, Split, build
from borgtrace.datasets.batches import ahead, batch_of, batches_of
from borgtrace.datasets.formats import FORMATS, tfrecord
from borgtrace.datasets.formats.arrays import (
    FeatureNames,
    TraceArrays,
    buffered,
    concatenated,
    empty,
)
from borgtrace.datasets.histogram import LengthBin, drawn, lengths
from borgtrace.datasets.metadata import Metadata
from borgtrace.datasets.scaling import FeatureMoments, scaling_of

from .stores import array_store

NAMES = FeatureNames(("cpu",), (), {})


def part_of(*traces: list[float]) -> TraceArrays:
    """Traces of one feature; each is named by its number."""
    values = np.float32([[value] for trace in traces for value in trace])
    n = len(traces)
    identity = np.column_stack(
        [
            np.arange(n),
            np.zeros(n, int),
            [len(trace) for trace in traces],
            np.zeros(n, int),
        ]
    )
    return TraceArrays(
        offsets=np.cumsum([0, *map(len, traces)]),
        values=values,
        mask=(~np.isnan(values)).view(np.uint8),
        identity=identity.astype(np.int64),
        numbers=np.empty((n, 0), np.float32),
        codes=np.empty((n, 0), np.int64),
    )


PART = part_of(
    [1, 2, 3],
    [4],
    [5, np.nan],
    [6, 7, 8, 9],
    [10],
)


def test_batches_are_cut_by_length_and_padded_to_their_longest() -> None:
    batches = batches_of(
        buffered(PART),
        2,
        None,
        -1.0,
        1,
    )
    assert [batch.collection_id.tolist() for batch in batches] == [
        [1, 4],
        [2, 0],
        [3],
    ]
    assert [batch.lengths.tolist() for batch in batches] == [
        [1, 1],
        [2, 3],
        [4],
    ]
    assert [batch.data[:, :, 0].tolist() for batch in batches] == [
        [[4], [10]],
        [
            [5, -1, -1],
            [1, 2, 3],
        ],
        [[6, 7, 8, 9]],
    ]
    assert batches[1].mask[:, :, 0].tolist() == [[True, False, False], [True, True, True]]
    assert (
        batches_of(
            buffered(empty(NAMES)),
            2,
            None,
            0.0,
            1,
        )
        == []
    )


def test_a_seed_shuffles_batches_and_traces_of_one_length() -> None:
    short = [[float(k)] for k in range(64)]
    long = [[0.0, float(k)] for k in range(64)]
    part = part_of(*short, *long)
    batches = batches_of(
        buffered(part),
        8,
        np.random.default_rng(0),
        0.0,
        1,
    )
    longest = [int(batch.lengths.max()) for batch in batches]
    assert sorted(longest) == [1] * 8 + [2] * 8
    assert longest != sorted(longest)
    seen = [job for batch in batches for job in batch.collection_id.tolist()]
    assert sorted(seen) == list(range(128))
    short = [job for job in seen if job < 64]
    assert short != sorted(short)


def test_one_batch_of_all_and_of_none() -> None:
    batch = batch_of(PART, fill=-1.0)
    assert batch.data[:3, :, 0].tolist() == [
        [1, 2, 3, -1],
        [4, -1, -1, -1],
        [5, -1, -1, -1],
    ]
    assert batch.mask[2, :, 0].tolist() == [True, False, False, False]
    nothing = batch_of(empty(NAMES))
    assert nothing.data.shape == (0, 0, 1)
    assert nothing.mask.shape == (0, 0, 1)
    assert len(nothing) == 0


@pytest.mark.parametrize("threads", [-1, 0, 1, 2, 9])
def test_results_come_in_order_whatever_the_threads(threads: int) -> None:
    assert list(ahead(lambda item: 10 * item, range(5), threads)) == [0, 10, 20, 30, 40]


def test_one_more_than_threads_is_under_way() -> None:
    begun = []
    gate = threading.Event()

    def work(item: int) -> int:
        begun.append(item)
        if item:
            gate.wait(10)
        return item

    results = ahead(work, range(5), 1)
    assert next(results) == 0
    # Item 1 is worked on, 2 waits; what is further on has not been asked for.
    assert max(begun) <= 1
    gate.set()
    assert list(results) == [1, 2, 3, 4]


def test_parts_are_put_one_after_the_other_and_taken_out_again() -> None:
    whole = concatenated(
        [
            part_of([1, 2]),
            empty(NAMES),
            part_of([3], [4, 5]),
        ],
        NAMES,
    )
    assert whole.offsets.tolist() == [0, 2, 3, 5]
    assert whole.values[:, 0].tolist() == [1, 2, 3, 4, 5]
    some = whole.take(np.array([2, 0]))
    assert some.offsets.tolist() == [0, 2, 4]
    assert some.values[:, 0].tolist() == [4, 5, 1, 2]
    assert len(concatenated([], NAMES)) == 0


@pytest.mark.parametrize("name", list(FORMATS))
def test_what_traces_do_not_have_takes_no_column(tmp_path: Path, name: str) -> None:
    FORMATS[name].write(tmp_path / "x", NAMES, [PART])
    found = FORMATS[name].read(tmp_path / "x", NAMES)
    assert len(found) == 5
    assert found.numbers.shape == (5, 0)
    assert found.codes.shape == (5, 0)
    np.testing.assert_array_equal(found.values, PART.values)


@pytest.mark.parametrize(
    ("size", "varint"),
    [
        (0, [0]),
        (127, [127]),
        (128, [128, 1]),
        (300, [0xAC, 2]),
        (16_384, [128, 128, 1]),
    ],
)
def test_the_size_of_a_field_is_a_varint(size: int, varint: list[int]) -> None:
    """As in protobuf's description of its encoding, where 300 is AC 02; 10 is field 1 with a length."""
    assert tfrecord.field(1, bytes(size)) == bytes([10, *varint]) + bytes(size)


def test_a_word_is_a_feature_of_one_text() -> None:
    """As in TensorFlow's example.proto: features { feature { key: "tier" value { bytes_list { value: "mid" } } } }."""
    value = b"\x0a\x05" + b"\x0a\x03mid"
    assert tfrecord.word_entry("tier", "mid") == b"\x0a\x0f" + b"\x0a\x04tier" + b"\x12\x07" + value


def test_bins_of_lengths_hold_their_first_and_not_their_last() -> None:
    store = array_store([4, 5, 9, 50, 51, 5000, 5001, 6000])
    found = {
        entry.low: (entry.high, entry.traces, entry.windows)
        for entry in lengths(store)
        if entry.traces
    }
    assert found == {
        **{
            1: (4, 1, 4),
            5: (9, 2, 14),
            45: (50, 1, 50),
            51: (100, 1, 51),
            2001: (5000, 1, 5000),
        },
        5001: (None, 2, 11_001),
    }
    assert {
        (entry.traces, entry.windows) for entry in lengths(store) if entry.low not in found
    } == {(0, 0)}
    # Bounds on the length are what the histogram is asked for: they are set aside, other criteria are not.
    assert sum(entry.traces for entry in lengths(store, Selection(min_length=9, max_length=9))) == 8
    assert sum(entry.traces for entry in lengths(store, Selection(where="n_windows > 50"))) == 4


def test_bins_are_drawn_down_to_the_last_with_a_trace() -> None:
    bins = [
        LengthBin(1, 4, 4),
        LengthBin(5, 9, 0),
        LengthBin(10, 14, 1),
        LengthBin(15, 50, 3),
        LengthBin(51, 100, 0),
        LengthBin(101, None, 0),
    ]
    lines = drawn(bins)
    # A quarter of 20 blocks is 5, three quarters are 15.
    assert [line.split("%")[-1].strip() for line in lines[1:-2]] == [
        "█" * 20,
        "",
        "█" * 5,
        "█" * 15,
    ]
    assert lines[-2].startswith("5 to 50 points: 4 of 8 traces, 50.0 %")


def test_what_an_early_dataset_does_not_say_is_nothing() -> None:
    assert Metadata({}).windows == 0
    assert Metadata({}).removed == {}
    for is_compressed in (True, False):
        assert (
            Metadata({"options": {"is_compressed": is_compressed}}).is_compressed is is_compressed
        )


def test_slots_of_the_grid_leave_out_traces_with_all_their_windows(tmp_path: Path) -> None:
    store = array_store([2, 3, 4])
    # On a grid they span 6, 3 and 4 slots.
    store.arrays["start_time"][:] = [600, 2100, 600, 900, 1200, 600, 900, 1200, 1500]
    selection = Selection(
        gaps="grid",
        min_length=4,
        max_length=6,
    )
    built = build(
        store,
        tmp_path / "d",
        DatasetOptions(
            selection=selection,
            split=Split((1.0,)),
            format="npz",
        ),
    )
    assert built.removed == {"all": (3, 9), "slots of the grid": (1, 3)}
    assert (built.n_matched, built.counts) == (2, {"training": 2})


def test_one_value_has_no_deviation() -> None:
    value = FeatureMoments(
        count=1,
        mean=3.0,
        squares=0.0,
        minimum=3.0,
        maximum=3.0,
    )
    scaling = scaling_of("x", "standard", value)
    assert scaling.deviation == 0.0
    assert scaling.divisor == 1.0
    assert scaling.offset == 3.0
    assert scaling.count == 1


def test_the_sum_of_squares_of_three_values_is_divided_by_two() -> None:
    values = FeatureMoments(
        count=3,
        mean=3.0,
        squares=8.0,
        minimum=1.0,
        maximum=5.0,
    )
    assert scaling_of("x", "standard", values).divisor == 2.0
    none = scaling_of("x", "none", values)
    assert none.offset == 0.0
    assert none.divisor == 1.0
    assert none.minimum == 1.0
    assert none.maximum == 5.0


def test_pickles_are_not_read(tmp_path: Path) -> None:
    """A pickle runs code: a file that holds one is refused, compressed or not."""
    held = io.BytesIO()
    np.lib.format.write_array(
        held,
        np.array([{}], object),
        version=(1, 0),
        allow_pickle=True,
    )
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
            archive.writestr("data.npy", held.getvalue())
        with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
            FORMATS["npz"].read(tmp_path / "x.npz", NAMES)


def test_the_smallest_record() -> None:
    # A length of 8 bytes and two check sums of 4; each empty feature takes 10 and its name.
    assert tfrecord.smallest_record(("data", "mask", "x")) == 16 + 14 + 14 + 11
