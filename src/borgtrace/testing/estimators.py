"""The contract of an estimator, on tasks that are made up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers, Values
from borgtrace.placement import Estimator, Observation
from borgtrace.placement.estimators.registry import ESTIMATOR_KINDS, is_estimator
from borgtrace.testing.trial import Trials, check_words, same_bytes

_CAPACITY = 1.0
_TASKS = 12
_SAMPLES = 50
_ROUNDING = 1e-9
_PARAMETERS = (0.01, 0.05, 0.5, 1.0, 2.0, 50.0, 95.0)
"""Tried in this order where a class is checked and names none in `paper`: the first that it accepts."""
_HUGE = 1e6
ORDINARY = "on a few small tasks"


def check_estimator(estimator: Estimator | type[Estimator]) -> None:
    """Check that an estimator keeps its contract; this needs no store.

    It describes any tasks by finite numbers, the same again, each task by itself, and leaves its input as it is.  Its
    fit test can be compiled, a machine does not get emptier by a task, the order in which tasks join does not matter,
    and a task that is larger than the machine does not fit.

    Parameters
    ----------
    estimator
        An object, or a class, which is checked with a parameter that it accepts.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace.placement import parse_estimator
    >>> check_estimator(parse_estimator("gpa:0.01"))
    """
    trials = Trials()
    check_words(trials, estimator)
    instance = _made(trials, estimator)
    if instance is not None:
        for where, observed in tasks():
            _check_items(trials, instance, where, observed)
        if not trials.failures:
            _check_machine(trials, instance)
    trials.raise_all(str(getattr(estimator, "name", None) or estimator))


def _made(trials: Trials, estimator: Estimator | type[Estimator]) -> Estimator | None:
    """Return an object of the class with a parameter that it accepts; None where there cannot be one."""
    if not isinstance(estimator, type):
        return estimator
    if not is_estimator(estimator):
        trials.add(f"it is not {ESTIMATOR_KINDS.wanted}")
        return None
    for attribute in ("symbol", "slack"):
        if not hasattr(estimator, attribute):
            trials.add(f"it has no attribute `{attribute}`")
    if trials.failures:
        return None
    for parameter in (*estimator.paper, *_PARAMETERS):
        try:
            return estimator(parameter)
        except UsageError:
            continue
    trials.add(f"it accepts none of the parameters {', '.join(f'{p:g}' for p in _PARAMETERS)}")
    return None


def _check_items(trials: Trials, estimator: Estimator, where: str, observed: Observation) -> None:
    """Check how tasks are described."""
    items = described(trials, estimator, where, observed)
    if items is None:
        return
    if items.ndim != 2 or len(items) != len(observed):
        trials.add(
            f"items has shape {items.shape}: expected a row for each of {len(observed)} tasks",
            where,
        )
        return
    if items.dtype.kind not in "fiu" or not np.isfinite(items).all():
        trials.add("items holds what is no finite number", where)
        return
    again = described(trials, estimator, where, observed)
    if again is not None and not same_bytes(items, again):
        trials.add("items are others when it is asked again", where)
    if len(observed) > 1:
        alone = described(trials, estimator, where, some_of(observed, slice(0, 1)))
        if alone is not None and not np.allclose(items[:1], alone, _ROUNDING, _ROUNDING):
            trials.add("how it describes a task depends on the other tasks", where)


def _check_machine(trials: Trials, estimator: Estimator) -> None:
    """Check the fit test on a machine that fills up."""
    observed = dict(tasks())[ORDINARY]
    # An estimator that learns tries others of its kind: here none of them ever overflows.
    estimator = estimator.prepared(lambda tried: [0.0] * len(tried))
    items = np.ascontiguousarray(estimator.items(observed, _CAPACITY), np.float64)
    empty = trials.call("of an empty machine", lambda: estimator.empty(items).copy())
    test = trials.call("when its fit test is compiled", lambda: estimator.test)
    if empty is None or test is None:
        return
    capacity = np.array([_CAPACITY])
    parameters = np.asarray(estimator.parameters(_CAPACITY), np.float64)

    def room(state: Numbers, item: Numbers) -> float:
        return float(test.room(state, item, capacity, parameters))

    def filled(order: Numbers) -> Numbers:
        state = empty.copy()
        for item in order:
            test.join(state, item)
        return state

    large = some_of(observed, slice(0, 1), factor=_HUGE)
    large_item = np.ascontiguousarray(estimator.items(large, _CAPACITY), np.float64)[0]
    if (
        trials.call("on a task larger than the machine", lambda: room(empty.copy(), large_item))
        is None
    ):
        return
    if room(empty.copy(), items[0]) < 0:
        trials.add("a task of a hundredth of a machine does not fit on an empty one")
    if room(empty.copy(), large_item) >= 0:
        trials.add("a task that always uses more than the machine has fits on it")
    before = room(empty.copy(), items[0])
    after = room(filled(items[1:6]), items[0])
    if after > before + _ROUNDING:
        trials.add("there is more room on a machine with tasks than on an empty one")
    if not np.allclose(filled(items), filled(items[::-1]), _ROUNDING, _ROUNDING):
        trials.add("the state of a machine depends on the order in which tasks joined")


def described(
    trials: Trials, estimator: Estimator, where: str, observed: Observation
) -> Numbers | None:
    """Return the items of some tasks; None where that fails."""
    items: Numbers | None = trials.call(
        where, lambda: np.asarray(estimator.items(observed, _CAPACITY)), [observed.values]
    )
    return items


def tasks() -> Iterator[tuple[str, Observation]]:
    """Yield observed tasks, each with where a sentence says that something went wrong."""
    rng = np.random.default_rng(0)
    values = rng.uniform(0.001, 0.009, (_TASKS, _SAMPLES)).astype(np.float32)
    yield ORDINARY, observation(values)
    yield "on tasks that use nothing", observation(np.zeros_like(values))
    yield "on tasks of one sample", observation(values[:, :1])
    yield "on tasks that use the whole machine", observation(np.ones_like(values))
    yield "without tasks", observation(values[:0])


def observation(values: Values) -> Observation:
    """Return tasks whose requests are their largest usage, and whose series are their samples."""
    request = values.max(axis=1).astype(np.float64)
    return Observation(values, request=request, series=values)


def some_of(observed: Observation, chosen: slice, factor: float = 1.0) -> Observation:
    """Return some of the tasks, with so many times their usage."""
    return observation(observed.values[chosen] * np.float32(factor))
