"""Tasks known only by mean and standard deviation: do some fit a machine, and how many machines do all need?

The sum of the tasks on a machine is taken as Gaussian (GPA, Janus & Rzadca, SoCC'17, Algorithm 1).  That errs most
where few tasks share a machine, where usage is skewed, and where tasks peak together, which moments cannot show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.errors import SourceError, UsageError
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.normal import erfc
from borgtrace.placement import (
    CAPACITY_RTOL,
    Estimator,
    Fitted,
    Gpa,
    Observation,
    Packing,
    pack_fitted,
    parse_packer,
    rebalanced,
    require_capacity,
)
from borgtrace.placement.estimators.features import MAXIMUM, N_MOMENTS
from borgtrace.storage import open_regular, refuse_shortage

_REQUIRED_COLUMNS = ("task", "mean", "std")
_OPTIONAL_COLUMNS = ("maximum", "request")


def overflow_probability(mean: ArrayLike, std: ArrayLike, capacity: float = 1.0) -> float:
    """Probability that independent tasks together exceed a machine, their sum taken as Gaussian.

    Parameters
    ----------
    mean, std
        Of each task, shape (n,), in the unit of the capacity.
    capacity
        Of the machine.

    Raises
    ------
    UsageError
        A number is negative or not finite, the two differ in length, or are no lists of numbers.

    Examples
    --------
    >>> round(overflow_probability([0.3, 0.3], [0.12, 0.16]), 5)  # 1 - Φ((1 - .6) / .2)
    0.02275
    >>> overflow_probability([0.5, 0.5], [0, 0]), overflow_probability([0.5, 0.6], [0, 0])
    (0.0, 1.0)
    """
    means, deviations = _checked(mean, std)
    require_capacity("capacity", capacity)
    room = capacity * CAPACITY_RTOL - float(np.add.reduce(means))
    variance = float(deviations @ deviations)
    if variance == 0:
        return float(room < 0)
    return 0.5 * math.erfc(room / math.sqrt(2 * variance))


def fits(
    mean: ArrayLike,
    std: ArrayLike,
    capacity: float = 1.0,
    rho: float = 0.001,
) -> bool:
    """Whether tasks fit a machine: together they exceed it with a probability of at most `rho`.

    Parameters
    ----------
    mean, std
        Of each task, shape (n,), in the unit of the capacity.
    capacity
        Of the machine.
    rho
        Tolerated probability of overflow.

    Raises
    ------
    UsageError
        As :func:`overflow_probability`, or `rho` is no probability.

    Examples
    --------
    >>> fits([0.3, 0.3], [0.12, 0.16], rho=0.03), fits([0.3, 0.3], [0.12, 0.16], rho=0.02)
    (True, False)
    """
    _require_target(rho)
    return overflow_probability(mean, std, capacity) <= rho


def pack(
    mean: ArrayLike,
    std: ArrayLike,
    capacity: float = 1.0,
    rho: float = 0.001,
    packer: str = "best-fit",
    *,
    rebalancing: bool = False,
) -> Index:
    """Place tasks, in their order, on machines that they fit.

    Parameters
    ----------
    mean, std
        Of each task, shape (n,), in the unit of the capacity.
    capacity
        Of each machine, of which there are enough.
    rho
        Tolerated probability of overflow of a machine.
    packer
        Which of the machines where a task fits it goes to: ``best-fit``, ``first-fit`` and others.
    rebalancing
        Fill up the last machine with the first tasks of the others afterward (the paper's Algorithm 1).

    Returns
    -------
    int64 (n,)
        Machine of each task, numbered in the order of opening; −1 where a task does not fit even alone.

    Raises
    ------
    UsageError
        As :func:`fits`, or there is no such packer.

    Examples
    --------
    >>> pack([0.6, 0.6, 0.3, 2], [0, 0, 0, 0])
    array([ 0,  1,  0, -1])
    >>> pack([0.6, 0.3, 0.6], [0, 0, 0]), pack([0.3, 0.6, 0.6], [0, 0, 0], rebalancing=True)
    (array([0, 0, 1]), array([1, 0, 1]))
    """
    _require_target(rho)
    means, deviations = _checked(mean, std)
    require_capacity("capacity", capacity)
    items = np.column_stack([means, deviations**2])
    fitted = Fitted(Gpa(rho), items, capacity)
    return _pack(fitted, packer, rebalancing=rebalancing).bins


def _pack(fitted: Fitted, packer: str, *, rebalancing: bool) -> Packing:
    packing = pack_fitted(fitted, packer=parse_packer(packer))
    return rebalanced(packing, fitted) if rebalancing else packing


def _require_target(rho: float) -> None:
    if not 0 < rho < 1:
        raise UsageError("rho", "not a probability", expected="above 0 and below 1", got=f"{rho:g}")


def _checked(mean: ArrayLike, std: ArrayLike) -> tuple[Numbers, Numbers]:
    means = np.asarray(mean, np.float64)
    deviations = np.asarray(std, np.float64)
    for name, values in (("mean", means), ("std", deviations)):
        if values.ndim != 1:
            raise UsageError(
                name,
                "not a list of numbers",
                expected="one number per task, shape (n,)",
                got=f"shape {values.shape}",
            )
    if len(means) != len(deviations):
        expected = "one number per task in both"
        got = f"{len(means):,} and {len(deviations):,}"
        raise UsageError("mean and std", "differ in length", expected=expected, got=got)
    _require_amounts("mean", means)
    _require_amounts("std", deviations)
    return means, deviations


def _require_amounts(name: str, values: Numbers) -> None:
    """Refuse negative, infinite and missing numbers."""
    if not values.size:
        return
    # `not … >= 0` refuses NaN too, and an infinite value makes the sum infinite.  For few tasks ufuncs take half the
    # time of the methods of arrays.
    is_valid = np.minimum.reduce(values) >= 0 and np.add.reduce(values) < np.inf
    if not is_valid:
        raise UsageError(
            name,
            "negative or not a number",
            expected="numbers ≥ 0",
            got=f"{values.min():g}",
        )


@dataclass(frozen=True, eq=False)
class NamedTasks:
    """Tasks by name, each with its moments, and what else is known of them.

    Attributes
    ----------
    task
        Name of each task, n of them.
    mean, std
        float64 (n,), in the unit of the capacity.
    maximum, request
        float64 (n,) or None.
    """

    task: Sequence[str]
    mean: Numbers
    std: Numbers
    maximum: Numbers | None = None
    request: Numbers | None = None

    @classmethod
    def of(cls, pool: TaskPool, names: Mapping[int, str] | None = None) -> NamedTasks:
        """Take the moments of the instantaneous CPU of a pool's tasks.

        Parameters
        ----------
        pool
            The tasks.
        names
            Names of collections by id; a task that is alone in a named one is called like it.
        """
        names = names or {}
        labels = []
        ids = zip(pool.collection_id.tolist(), pool.instance_index.tolist(), strict=True)
        for collection, instance in ids:
            if collection in names and instance == 0:
                labels.append(names[collection])
            else:
                labels.append(f"{names.get(collection, collection)}/{instance}")
        request = None
        if pool.cpu_request is not None and np.isfinite(pool.cpu_request).all():
            request = np.asarray(pool.cpu_request, np.float64)
        maximum = np.maximum.reduceat(pool.inst, pool.offsets[:-1])
        return cls(
            labels,
            pool.mean(),
            pool.std(),
            maximum=maximum.astype(np.float64),
            request=request,
        )

    def packed(
        self,
        estimator: Estimator,
        packer: str = "best-fit",
        capacity: float = 1.0,
        *,
        rebalancing: bool = False,
    ) -> Packing:
        """Pack the tasks, in their order.

        Parameters
        ----------
        estimator
            One that moments are enough for.
        packer
            Which of the machines where a task fits it goes to.
        capacity
            Of each machine.
        rebalancing
            As for :func:`pack`.

        Raises
        ------
        UsageError
            The estimator needs more than is known.

        Examples
        --------
        >>> from borgtrace.placement import Percentile
        >>> tasks = NamedTasks(["a", "b"], np.array([0.3, 0.3]), np.array([0.12, 0.16]), maximum=np.array([0.6, 0.7]))
        >>> tasks.packed(Gpa(0.03)).n_bins, tasks.packed(Percentile(100)).n_bins
        (1, 2)
        """
        require_capacity("capacity", capacity)
        # Instead of observed values the estimator is given moments, which answer what they can.
        observation = cast(Observation, _ObservedMoments(self, estimator))
        items = estimator.items(observation, capacity)
        fitted = Fitted(estimator, items, capacity)
        return _pack(fitted, packer, rebalancing=rebalancing)

    def overflow(self, packing: Packing, capacity: float = 1.0) -> Numbers:
        """Return the probability that each machine in use overflows, float64 (m,); sums are taken as Gaussian.

        Parameters
        ----------
        packing
            Where the tasks are.
        capacity
            Of each machine.
        """
        is_placed = packing.bins >= 0
        # Renumbered: rebalancing may have emptied a bin, which is then no machine.
        _, bins = np.unique(packing.bins[is_placed], return_inverse=True)
        means = np.bincount(bins, self.mean[is_placed])
        variances = np.bincount(bins, self.std[is_placed] ** 2)
        room = capacity * CAPACITY_RTOL - means
        sign = np.where(room < 0, -1, 1)
        # A sum without variance overflows or does not: the quotient is infinite then.
        with np.errstate(divide="ignore"):
            deviations = sign * np.abs(room) / np.sqrt(2 * variances)
        return np.asarray(0.5 * erfc(deviations))


class _ObservedMoments:
    """Moments in the place of an :class:`Observation`; what they do not tell is an error that says so."""

    def __init__(self, tasks: NamedTasks, estimator: Estimator) -> None:
        self.mean = tasks.mean
        self.std = tasks.std
        self.variance = tasks.std**2
        self._tasks = tasks
        self._estimator = estimator

    @property
    def request(self) -> Numbers:
        if self._tasks.request is None:
            raise self._unknown("a column request")
        return self._tasks.request

    @property
    def moments(self) -> Numbers:
        """As of an observation, with the maximum alone, which stands for an unknown request."""
        columns = np.full((len(self.mean), N_MOMENTS), np.nan)
        if self._tasks.maximum is not None:
            columns[:, MAXIMUM] = self._tasks.maximum
        return columns

    def percentile(self, level: float) -> Numbers:
        if level == 100 and self._tasks.maximum is not None:
            return self._tasks.maximum
        raise self._unknown("percentile 100 with a column maximum")

    def __getattr__(self, name: str) -> Numbers:
        raise self._unknown("gpa, cantelli or average")

    def _unknown(self, expected: str) -> UsageError:
        return UsageError(
            "--estimator",
            "needs more than is known of the tasks",
            expected=expected,
            got=self._estimator.label,
        )


def read_moments(path: Path) -> NamedTasks:
    """Read a table of tasks with their moments.

    Parameters
    ----------
    path
        CSV or Parquet with columns ``task``, ``mean``, ``std``, and maybe ``maximum`` and ``request``.

    Raises
    ------
    SourceError
        The file is not there, no table, or a column is missing or holds no numbers.
    """
    way_out = "give it columns task, mean, std, and maybe maximum and request"
    if not path.is_file():
        raise SourceError(str(path), "no such file", way_out="check the path")
    try:
        with open_regular(path) as file:
            is_parquet = path.suffix == ".parquet"
            table = pq.read_table(file) if is_parquet else pyarrow.csv.read_csv(file)
        names = table.column_names
    # Damaged pages and metadata are no ArrowInvalid; a text that is no UTF-8 is none either.
    except (pa.ArrowException, OSError, ValueError) as error:
        refuse_shortage(error, path)
        raise SourceError(str(path), "not a table", way_out=way_out) from error
    for name in _REQUIRED_COLUMNS:
        if name not in names:
            got = ", ".join(names)
            raise SourceError(str(path), f"no column {name}", got=got, way_out=way_out)
    for name in (*_REQUIRED_COLUMNS, *_OPTIONAL_COLUMNS):
        if names.count(name) > 1:
            raise SourceError(str(path), f"more than one column {name}", way_out=way_out)
    if not table.num_rows:
        raise SourceError(str(path), "no tasks", way_out=way_out)

    mean = _amounts(path, table, "mean")
    std = _amounts(path, table, "std")
    optional = {}
    for name in _OPTIONAL_COLUMNS:
        if name in names:
            optional[name] = _amounts(path, table, name)
    try:
        labels = [str(task) for task in table["task"].to_pylist()]
    except UnicodeDecodeError as error:
        raise SourceError(str(path), "column task is not UTF-8", way_out=way_out) from error
    return NamedTasks(labels, mean, std, **optional)


def _amounts(path: Path, table: pa.Table, name: str) -> Numbers:
    """Return a column of numbers, none of which is negative or missing."""
    try:
        values: Numbers = table[name].cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceError(str(path), f"column {name} is not of numbers") from error
    is_valid = np.isfinite(values) & (values >= 0)
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise SourceError(
            str(path),
            f"row {row}: column {name}",
            expected="numbers ≥ 0",
            got=str(table[name][row].as_py()),
        )
    return values
