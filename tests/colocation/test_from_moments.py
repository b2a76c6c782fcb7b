"""Fit tests and packings from means and deviations, against numbers from tables of the Gaussian."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from borgtrace.colocation import TaskPool, fits, overflow_probability, pack
from borgtrace.colocation.packing.from_moments import NamedTasks, read_moments
from borgtrace.errors import SourceError, UsageError
from borgtrace.placement import Gpa, Percentile, Request, parse_estimator
from tests.colocation.known import packing_of


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        # Room over deviation is 1, 2 and 3: tails of the standard Gaussian, from a table.
        ([0.5, 0.3], [0.12, 0.16], 0.158655),
        ([0.3, 0.3], [0.12, 0.16], 0.022750),
        ([0.2, 0.2], [0.12, 0.16], 0.001350),
        ([0.5, 0.5], [0.3, 0.4], 0.5),
        ([0.5, 0.4], [0.0, 0.0], 0.0),
        ([0.5, 0.6], [0.0, 0.0], 1.0),
        # A rounding of float32 above the capacity still fits, and no more.
        ([1 + 2**-23], [0.0], 0.0),
        ([1 + 2**-22], [0.0], 1.0),
        ([], [], 0.0),
    ],
)
def test_overflow_is_the_tail_of_the_gaussian_sum(mean, std, expected):
    assert overflow_probability(mean, std) == pytest.approx(expected, abs=2e-6)
    if 0 < expected < 1:
        assert fits(mean, std, rho=expected + 1e-4)
        assert not fits(mean, std, rho=expected - 1e-4)


def test_tasks_are_placed_where_they_fit_in_their_order():
    # .6 twice needs two machines; .3 joins the first of the two that are equally full; 2 fits none.
    assert pack([0.6, 0.6, 0.3, 2.0], [0, 0, 0, 0]).tolist() == [0, 1, 0, -1]
    # Best fit takes the fuller machine, first fit the first one.
    mean = [0.5, 0.6, 0.3]
    std = [0.0, 0.0, 0.0]
    assert pack(mean, std, packer="first-fit").tolist() == [0, 1, 0]
    # Means of .25 with deviations of .1: three make .75 and √.03 = .173, over 1 with Φ(−1.44) = .0745.
    assert pack([0.25] * 4, [0.1] * 4, rho=0.08).tolist() == [0, 0, 0, 1]
    assert pack([0.25] * 4, [0.1] * 4, rho=0.07).tolist() == [0, 0, 1, 1]
    assert pack(
        [2.5] * 4,
        [1.0] * 4,
        capacity=10.0,
        rho=0.08,
    ).tolist() == [0, 0, 0, 1]


def test_rebalancing_fills_the_last_machine_from_the_first_tasks_of_the_others():
    """Best fit: .6 and .3 share machine 0, .6 and .3 machine 1, and .6 opens machine 2.

    Round robin (Algorithm 1): the first task of 0 (.6) does not fit beside .6, nor does that of 1; after five failed
    attempts it ends.  With .35 first in each machine, the first of 0 joins the last, which is then too full for more.
    """
    zeros = [0.0] * 5
    large_first = [0.6, 0.3, 0.6, 0.3, 0.6]
    assert pack(large_first, zeros).tolist() == [0, 0, 1, 1, 2]
    assert pack(large_first, zeros, rebalancing=True).tolist() == [0, 0, 1, 1, 2]
    small_first = [0.35, 0.6, 0.35, 0.6, 0.6]
    assert pack(small_first, zeros).tolist() == [0, 0, 1, 1, 2]
    assert pack(small_first, zeros, rebalancing=True).tolist() == [2, 0, 1, 1, 2]


def test_a_machine_that_rebalancing_empties_is_no_machine():
    tasks = NamedTasks(["a", "b", "c"], np.array([0.2, 0.9, 0.9]), np.array([0.0, 0.0, 0.1]))
    emptied = packing_of([2, 1, 2], 3)
    assert emptied.n_bins == 2
    # Machine 1 holds .9 of 1 for certain; machine 2 holds 1.1 ± .1: over 1 with Φ(1) = .841345.
    assert tasks.overflow(emptied) == pytest.approx([0, 0.841345], abs=2e-6)
    assert len(tasks.overflow(emptied)) == emptied.n_bins


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0.1], [0.1, 0.2]),
            "mean and std: differ in length: expected one number per task in both, got 1 and 2",
        ),
        (
            ([[0.1, 0.2], [0.3, 0.4]], [[0.0, 0.0], [0.0, 0.0]]),
            "mean: not a list of numbers: expected one number per task, shape (n,), got shape (2, 2)",
        ),
        (
            ([0.1], 0.1),
            "std: not a list of numbers: expected one number per task, shape (n,), got shape ()",
        ),
        (([-0.1], [0.1]), "mean: negative or not a number: expected numbers ≥ 0, got -0.1"),
        (([0.1], [np.nan]), "std: negative or not a number: expected numbers ≥ 0, got nan"),
        (
            ([0.1], [0.1], 0.0),
            "capacity: not the capacity of a machine: expected a number above 0, got 0",
        ),
        (([0.1], [0.1], 1.0, 1.0), "rho: not a probability: expected above 0 and below 1, got 1"),
    ],
)
def test_what_is_no_moment_is_refused(arguments, message):
    for function in (fits, pack):
        with pytest.raises(UsageError) as error:
            function(*arguments)
        assert str(error.value) == message


def test_a_machine_may_overflow_on_average():
    tasks = NamedTasks(
        ["a", "b", "c"],
        np.array([0.6, 0.6, 0.5]),
        np.array([0.12, 0.16, 0.0]),
    )
    packing = packing_of([0, 0, 1], 2)
    assert tasks.overflow(packing) == pytest.approx([0.841345, 0], abs=2e-6)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_moments_is_read(tmp_path, suffix):
    table = pa.table(
        {
            "task": [7, 8],
            "mean": [0.25, 0.5],
            "std": [0.0, 0.125],
            "request": [0.5, 1.0],
        }
    )
    path = tmp_path / f"tasks.{suffix}"
    pacsv.write_csv(table, path) if suffix == "csv" else pq.write_table(table, path)
    moments = read_moments(path)
    assert moments.task == ["7", "8"]
    assert moments.mean.tolist() == [0.25, 0.5]
    assert moments.std.tolist() == [0.0, 0.125]
    assert moments.request.tolist() == [0.5, 1.0]
    assert moments.maximum is None


def test_moments_of_a_pool_are_those_of_its_windows():
    pool = TaskPool(
        offsets=np.array([0, 2, 3]),
        inst=np.float32([0, 0.5, 0.25]),
        avg=np.float32([0.1, 0.4, 0.25]),
        collection_id=np.array([7, 8]),
        instance_index=np.array([0, 1]),
        cpu_request=np.float32([0.5, 1]),
    )
    moments = NamedTasks.of(pool)
    assert list(moments.task) == ["7/0", "8/1"]
    assert moments.mean.tolist() == [0.25, 0.25]
    assert moments.std.tolist() == [0.25, 0.0]
    assert list(NamedTasks.of(pool, {7: "web"}).task) == ["web", "8/1"]
    assert moments.maximum.tolist() == [0.5, 0.25]
    assert moments.request.tolist() == [0.5, 1.0]
    assert moments.packed(Request(1.0)).bins.tolist() == [0, 1]
    assert moments.packed(Percentile(100)).bins.tolist() == [0, 0]
    # Together .5 and .25: room over deviation is 2.
    assert moments.overflow(moments.packed(Gpa(0.03))) == pytest.approx([0.02275], abs=2e-6)
    with pytest.raises(UsageError) as error:
        moments.packed(parse_estimator("percentile:95"))
    assert str(error.value) == (
        "--estimator: needs more than is known of the tasks: expected percentile 100 with a column maximum, "
        "got percentile 95"
    )


WRONG = {
    "task,mean\na,1\n": "no column std: got task, mean; give it columns task, mean, std, and maybe maximum and request",
    "task,mean,std\na,-1,0\n": "row 0: column mean: expected numbers ≥ 0, got -1",
    "task,mean,std\na,x,0\n": "column mean is not of numbers",
    "task,mean,std\n": "no tasks; give it columns task, mean, std, and maybe maximum and request",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_a_table_that_is_none_says_why(tmp_path, text, message):
    (tmp_path / "moments.csv").write_text(text)
    with pytest.raises(SourceError) as error:
        read_moments(tmp_path / "moments.csv")
    assert str(error.value) == f"{tmp_path / 'moments.csv'}: {message}"
