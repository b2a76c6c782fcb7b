"""The pool: long, well-behaved tasks with all their observed CPU windows.

All questions about colocation start from a pool.  It holds the observations (CSR: flat arrays over windows, and
offsets per task) and draws *realizations* from them: independent draws from each task's own empirical distribution
(Janus & Rzadca, SoCC'17, §3.1), reproducible by seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from borgtrace.colocation.tasks.draws import draw_quantiles, draw_uniform, draw_weighted
from borgtrace.colocation.tasks.moments import window_moments
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Index, Numbers, Values
from borgtrace.kernels.hashing import task_keys
from borgtrace.question import NotApplicable
from borgtrace.store.coverage import StoreCoverage

UsageColumn = Literal["inst", "avg", "memory"]
Instantaneous = Literal["sampled", "histogram"]
"""Where draws of instantaneous usage come from: one sampled second per window, or the window's percentiles."""

SLOT = 300
"""Seconds per slot of :meth:`TaskPool.slots`."""
LEVELS = np.array([*range(0, 100, 10), *range(91, 101)]) / 100
"""Levels of `TaskPool.quantiles`: 0, 10 … 90, 91 … 99, 100 % (2019's two percentile lists, merged)."""
PER_WINDOW = ("inst", "avg", "start", "seconds", "memory", "quantiles")
"""Fields of a pool with an entry for each window."""
REQUESTS = ("cpu_request", "memory_request", "disk_request")
PER_TASK = (
    "collection_id",
    "instance_index",
    *REQUESTS,
    "priority",
    "logical_name",
    "user",
    "retried",
)
"""Fields of a pool with an entry for each task."""


@dataclass(frozen=True, slots=True)
class PreparationStep:
    """One step of the preparation, and how many of how many tasks or windows it touched."""

    name: str
    count: int
    of: int
    unit: Literal["tasks", "windows"] = "tasks"


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
    kw_only=True,
)
class TaskPool:
    """Tasks and their observed windows, ready for Monte Carlo.

    Attributes
    ----------
    offsets
        int64 (n + 1,): windows of task i are ``offsets[i]:offsets[i + 1]``, in time order; never empty.
    inst, avg
        float32 (W,): CPU of one random second of the window, and its mean; fractions of the largest machine.
    collection_id, instance_index
        int64 (n,): identity of each task; unique together.
    start, seconds
        int64 (W,) each, or None: start of the window in seconds of the trace's clock, and its length.
    is_weighted
        Whether draws weigh windows by `seconds` (2019) or take all alike (2011).
    memory
        float32 (W,) or None: average memory of the window.
    quantiles
        float32 (W, 20) or None: CPU of the window at :data:`LEVELS`; when present, `inst` is *drawn* from it.
    cpu_request, memory_request, disk_request
        float32 (n,) or None: last request of the task; NaN where unknown.
    priority
        int64 (n,) or None: priority of the task in the store's generation; −1 where unknown.
    logical_name, user
        int64 (n,) or None: code of the task's logical name (tasks with one code share the name), and of its user; −1
        unknown.
    retried
        int64 (n,) or None: 1 for an attempt that failed and was made again, where attempts are told apart.
    generation
        "2011", "2019", or "" where it is unknown.
    source
        Where the pool comes from, in words, for captions.
    is_synthetic
        Whether pages made from this pool must say "synthetic".
    steps
        What the preparation dropped or replaced, in order.
    part
        How much of the whole trace the store holds that the pool was made from; None: all of it.

    Examples
    --------
    >>> pool = TaskPool(offsets=np.array([0, 2, 3]), inst=np.float32([0, 0.5, 0.25]),
    ...             avg=np.float32([0.1, 0.4, 0.25]), collection_id=np.array([7, 7]),
    ...             instance_index=np.array([0, 1]), source="two tasks")
    >>> len(pool), pool.job.tolist(), pool.n_windows.tolist()
    (2, [0, 0], [2, 1])
    >>> pool.draw(np.array([1]), realizations=3)
    array([[0.25, 0.25, 0.25]], dtype=float32)
    """

    offsets: Index
    inst: Values
    avg: Values
    collection_id: Index
    instance_index: Index
    start: Index | None = None
    seconds: Index | None = None
    is_weighted: bool = False
    memory: Values | None = None
    quantiles: Values | None = None
    cpu_request: Values | None = None
    memory_request: Values | None = None
    disk_request: Values | None = None
    priority: Index | None = None
    logical_name: Index | None = None
    user: Index | None = None
    retried: Index | None = None
    generation: str = ""
    source: str = ""
    is_synthetic: bool = False
    steps: tuple[PreparationStep, ...] = ()
    part: StoreCoverage | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_windows(self) -> Index:
        """Number of windows of each task, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def job(self) -> Index:
        """Dense index (0, 1, …) of each task's collection, shape (n,)."""
        return np.unique(self.collection_id, return_inverse=True)[1].astype(np.int64)

    @property
    def kin(self) -> tuple[Index, Index]:
        """Codes of tasks that are expected to be alike, (n,) each, the closest relation first; −1 where unknown.

        First the user together with the logical name, then the user alone.
        """
        unknown = np.full(len(self), -1)
        user = unknown if self.user is None else self.user
        name = unknown if self.logical_name is None else self.logical_name
        pairs = np.column_stack([user, name])
        codes = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        return np.where(name < 0, -1, codes), user

    @property
    def has_requests(self) -> bool:
        """Whether the CPU request of any task is known."""
        if self.cpu_request is None:
            return False
        return bool(np.isfinite(self.cpu_request).any())

    def slots(self) -> Index:
        """Slot of each window on the trace's clock, int64 (W,): :data:`SLOT` seconds, its measurement period.

        Raises
        ------
        NotApplicable
            The pool has no time stamps.
        """
        if self.start is None:
            raise NotApplicable("the pool has no time stamps")
        return self.start // SLOT

    def mean(self, column: UsageColumn = "inst") -> Numbers:
        """Mean of each task's observed windows (weighted where draws are), float64 (n,)."""
        return self._moments(column)[0]

    def std(self, column: UsageColumn = "inst") -> Numbers:
        """Standard deviation (ddof 0) of each task's observed windows, float64 (n,)."""
        return self._moments(column)[1]

    def sample(self, tasks: int, seed: int = 0) -> Index:
        """Draw min(`tasks`, available) tasks without replacement: sorted indices, int64.

        Parameters
        ----------
        tasks
            How many, at most.
        seed
            Seed of the sample.

        Raises
        ------
        UsageError
            `tasks` is below 1.
        """
        if tasks < 1:
            raise UsageError("tasks", "not a sample size", expected="at least 1", got=str(tasks))
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self), min(tasks, len(self)), replace=False)
        # Sorted, so that gathering windows reads the flat arrays forwards.
        return np.sort(chosen).astype(np.int64)

    def take(self, tasks: Index) -> TaskPool:
        """Keep only some tasks, in the order given; identities (and thus their draws) stay.

        Parameters
        ----------
        tasks
            Indices into the pool.
        """
        tasks = np.asarray(tasks, np.int64)
        counts = self.n_windows[tasks]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        # Gather the windows of all tasks at once: a slice per task would be 100,000 slices.
        shifts = np.repeat(self.offsets[tasks] - offsets[:-1], counts)
        windows = np.arange(offsets[-1]) + shifts
        return self._with_rows(tasks, windows, offsets)

    def during(self, first: int, slots: int) -> TaskPool:
        """Keep only the windows that begin in some slots, and the tasks that have one.

        Parameters
        ----------
        first, slots
            First slot, on the trace's clock, and their number.

        Raises
        ------
        NotApplicable
            The pool has no time stamps.
        """
        slot = self.slots()
        is_inside = (slot >= first) & (slot < first + slots)
        n_inside_before = np.concatenate(([0], np.cumsum(is_inside)))
        offsets = n_inside_before[self.offsets]
        tasks = np.flatnonzero(np.diff(offsets))
        # A task without a window inside begins where the next one does: its offset goes.
        offsets = np.append(offsets[tasks], offsets[-1])
        return self._with_rows(tasks, np.flatnonzero(is_inside), offsets)

    def _with_rows(self, tasks: Index, windows: Index, offsets: Index) -> TaskPool:
        """Return the pool of some tasks and windows; fields that describe the whole pool stay."""
        columns: dict[str, Any] = {}
        for name in PER_TASK:
            columns[name] = select_rows(getattr(self, name), tasks)
        for name in PER_WINDOW:
            columns[name] = select_rows(getattr(self, name), windows)
        return replace(self, offsets=offsets, **columns)

    def draw(
        self,
        tasks: Index,
        realizations: int = 10_000,
        seed: int = 0,
        column: UsageColumn = "inst",
    ) -> Values:
        """Draw windows of each task with replacement: realizations of its empirical distribution.

        Draw r of one column comes from the *same* window of the task as draw r of another.  The paper draws "each of
        X_i, Y_i" and uses no joint statistic of the two, so this pairing changes none of its numbers, and it keeps
        what is known about them together.  Different tasks are independent.

        Parameters
        ----------
        tasks
            Indices into the pool, shape (n,).  A task's draws depend on its identity and `seed` only: every call
            gives the same task the same draws, alone or among others, on any number of threads.  Fewer
            realizations are a prefix of more.
        realizations
            R, the number of draws.
        seed
            Seed of the draws.
        column
            Instantaneous or average CPU, or memory.

        Returns
        -------
        float32 (n, R), in capacity units

        Raises
        ------
        UsageError
            An index lies outside the pool, `realizations` is below 1, or the column was not observed.

        Examples
        --------
        >>> pool = TaskPool(offsets=np.array([0, 4]), inst=np.float32([1, 2, 3, 4]),
        ...             avg=np.float32([10, 20, 30, 40]), collection_id=np.array([1]),
        ...             instance_index=np.array([0]))
        >>> inst, avg = (pool.draw(np.array([0]), 1000, column=column) for column in ("inst", "avg"))
        >>> bool((avg == 10 * inst).all())
        True
        """
        tasks = self._checked(tasks)
        if realizations < 1:
            raise UsageError(
                "realizations",
                "not a number of draws",
                expected="at least 1",
                got=str(realizations),
            )
        out = np.empty((len(tasks), realizations), np.float32)
        # One random sequence per task, from its identity: its place in the pool must not matter.
        keys = task_keys(seed, self.collection_id[tasks], self.instance_index[tasks])
        if column == "inst" and self.quantiles is not None:
            # The kernel is compiled for arrays alone: an empty one says that all windows weigh alike.
            weights = np.empty(0, np.int64) if self.weights is None else self.weights
            draw_quantiles(self.quantiles, LEVELS, self.offsets, weights, tasks, keys, out)
        elif self.weights is not None:
            draw_weighted(self._observed(column), self.offsets, self.weights, tasks, keys, out)
        else:
            draw_uniform(self._observed(column), self.offsets, tasks, keys, out)
        return out

    def _observed(self, column: UsageColumn) -> Values:
        values: Values | None = getattr(self, column)
        if values is None:
            raise UsageError(
                self.source or "pool",
                f"no {column} was observed",
                way_out="build the pool from a store that has it",
            )
        return values

    def _checked(self, tasks: Index) -> Index:
        tasks = np.ascontiguousarray(tasks, np.int64)
        # Kernels do not check bounds: a wrong index would read arbitrary memory.
        if tasks.size and not (tasks.min() >= 0 and tasks.max() < len(self)):
            raise UsageError(
                "tasks",
                "index outside the pool",
                expected=f"0 … {len(self) - 1}",
                got=f"{tasks.min()} … {tasks.max()}",
            )
        return tasks

    @property
    def weights(self) -> Index | None:
        """Weight of each window in draws and moments: its seconds, int64 (W,); None if all weigh alike."""
        return self.seconds if self.is_weighted else None

    def _moments(self, column: UsageColumn) -> tuple[Numbers, Numbers]:
        return window_moments(self._observed(column), self.offsets, self.weights)


def select_rows(values: Any, rows: Any) -> Any:
    """Return some rows of a column; None where there is no column.

    Parameters
    ----------
    values
        An array, or None.
    rows
        Positions, or flags.
    """
    return None if values is None else values[rows]


def with_plausible_averages(inst: Values, avg: Values) -> tuple[Values, PreparationStep]:
    """Replace averages above the whole machine by the sampled CPU, and say how many there were.

    Parameters
    ----------
    inst, avg
        float32 (W,): sampled and average CPU of each window.
    """
    is_above = avg > 1
    step = PreparationStep(
        "averages above the whole machine, replaced by the sampled CPU",
        count=int(is_above.sum()),
        of=len(avg),
        unit="windows",
    )
    # Copied only where something changes: on a whole trace a column may have gigabytes.
    plausible = np.where(is_above, inst, avg) if is_above.any() else avg
    return plausible, step
