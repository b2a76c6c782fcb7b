"""The contract of a recommender, on jobs that are made up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from borgtrace.kernels.arrays import Flags, Numbers
from borgtrace.overcommit.recommenders import JobSamples, Recommender
from borgtrace.overcommit.recommenders.registry import RECOMMENDER_KINDS, is_recommender
from borgtrace.testing.named_rules import check_label, made
from borgtrace.testing.trial import Trials, check_words, same_bytes

_SLOTS = 60
_TASKS = 4
_SIZES = {"cpu": 64.0, "memory": 256.0 * 2**30}
_FAR_FROM_USAGE = 30
"""A limit of so many times the usage, or so small a share of it, is in another unit: percent, or largest machines.

Tasks here request twice what they use; a machine is 20 times as large as that."""
_ROUNDING = 1e-9
ORDINARY = "on a job with a few tasks"


def check_recommender(recommender: Recommender | type[Recommender]) -> None:
    """Check that a recommender keeps its contract; this needs no store.

    It recommends an amount, or NaN, after each sample of any jobs: of none, of one sample, of tasks that use nothing or
    more than they requested.  It recommends the same again, does not look ahead, leaves its input as it is, prints
    nothing, keeps jobs apart, and recommends cores and bytes.

    Parameters
    ----------
    recommender
        An object, or a class whose parameters have defaults.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace.overcommit.recommenders import parse_recommender
    >>> check_recommender(parse_recommender("request"))
    """
    trials = Trials()
    check_words(trials, recommender)
    instance = made(trials, recommender, is_recommender, RECOMMENDER_KINDS.wanted)
    if instance is not None:
        check_label(trials, instance)
        for resource in instance.resources:
            for where, samples in jobs(resource):
                _check_jobs(trials, instance, f"{where}, {resource}", samples)
            _check_unit(trials, instance, resource)
    trials.raise_all(str(getattr(recommender, "name", None) or recommender))


def _check_jobs(trials: Trials, recommender: Recommender, where: str, samples: JobSamples) -> None:
    """Check what is recommended for the samples of some jobs."""
    limits = recommended(trials, recommender, where, samples)
    if limits is None:
        return
    again = recommended(trials, recommender, where, samples)
    if again is not None and not same_bytes(limits, again):
        trials.add("it recommends something else when it is asked again", where)
        return
    is_early = samples.slot < _SLOTS // 2
    earlier = recommended(trials, recommender, where, some_of(samples, is_early))
    if earlier is not None and not _is_close(limits[is_early], earlier):
        trials.add("it looks ahead: earlier limits change with what comes later", where)
    is_first_job = samples.job == 0
    alone = recommended(trials, recommender, where, some_of(samples, is_first_job))
    if alone is not None and not _is_close(limits[is_first_job], alone):
        trials.add("what it recommends for a job depends on other jobs", where)


def _is_close(limits: Numbers, others: Numbers) -> bool:
    """Whether two limits are the same but for rounding: sums of other lengths are rounded otherwise."""
    return bool(np.allclose(limits, others, _ROUNDING, _ROUNDING, equal_nan=True))


def _check_unit(trials: Trials, recommender: Recommender, resource: str) -> None:
    samples = dict(jobs(resource))[ORDINARY]
    limits = recommended(trials, recommender, ORDINARY, samples)
    if limits is None or np.isnan(limits).all():
        return
    # Those of the samples as they were made: the recommender may have written over its own.
    ratio = float(np.nanmedian(limits)) / float(np.median(two_jobs(resource).value))
    if not 1 / _FAR_FROM_USAGE < ratio < _FAR_FROM_USAGE:
        trials.add(
            f"it recommends {ratio:.3g} times the {resource} that is used: limits are cores, or bytes, as values are"
        )


def recommended(
    trials: Trials, recommender: Recommender, where: str, samples: JobSamples
) -> Numbers | None:
    """Return what is recommended after each sample; None where that fails."""
    inputs = [samples.job, samples.task, samples.slot, samples.value, samples.request]
    limits: Numbers | None = trials.call(
        where, lambda: recommender.checked(recommender.recommend(samples), len(samples)), inputs
    )
    return limits


def jobs(resource: str) -> Iterator[tuple[str, JobSamples]]:
    """Yield samples of jobs of one resource, each with where a sentence says that something went wrong."""
    ordinary = two_jobs(resource)
    yield ORDINARY, ordinary
    yield "on a job whose tasks use nothing", replace(ordinary, value=0 * ordinary.value)
    yield (
        "on a job whose tasks use more than they requested",
        replace(ordinary, request=ordinary.value / 3),
    )
    rng = np.random.default_rng(1)
    yield "on a job with gaps between its slots", some_of(ordinary, rng.random(len(ordinary)) < 0.3)
    numbers = np.arange(len(ordinary))
    yield "on a single sample", some_of(ordinary, numbers < 1)
    yield "without jobs", some_of(ordinary, numbers < 0)


def two_jobs(resource: str) -> JobSamples:
    """Return samples of two jobs of a few tasks, sorted by job, slot and task."""
    rng = np.random.default_rng(0)
    size = _SIZES[resource]
    n = 2 * _SLOTS * _TASKS
    request = np.full(n, 0.1 * size)
    return JobSamples(
        job=np.repeat(np.arange(2), _SLOTS * _TASKS),
        task=np.concatenate(
            [np.tile(np.arange(_TASKS), _SLOTS), np.tile(np.arange(_TASKS, 2 * _TASKS), _SLOTS)]
        ),
        slot=np.tile(np.repeat(np.arange(_SLOTS), _TASKS), 2),
        value=request * rng.uniform(0.1, 0.9, n),
        request=request,
        is_serving=np.repeat(np.array([True, False]), _SLOTS * _TASKS),
        resource=resource,
        size=size,
        beside=(),
    )


def some_of(samples: JobSamples, chosen: Flags) -> JobSamples:
    """Return some of the samples; jobs and tasks keep their numbers."""
    return replace(
        samples,
        job=samples.job[chosen],
        task=samples.task[chosen],
        slot=samples.slot[chosen],
        value=samples.value[chosen],
        request=samples.request[chosen],
        is_serving=samples.is_serving[chosen],
    )
