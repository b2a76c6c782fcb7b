"""The values of a measurement window: CPU, memory, disk and cycles of one execution."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.normal import normal_score
from borgtrace.synth.model.cpu_process import (
    DRIFTING,
    NOISE,
    STATIONARY,
    STEADY,
    CpuModel,
    begin_noise,
    noise_at,
    normal_value,
    random_second,
    shape_value,
    window_average,
)
from borgtrace.synth.model.fault_rates import FaultRates
from borgtrace.synth.model.hashing import key, mix, unit

_SCALARS = (
    "average_cpu",
    "sampled_cpu",
    "maximum_cpu",
    "average_memory",
    "assigned_memory",
    "unmapped_page_cache_memory",
    "page_cache_memory",
    "maximum_memory",
    "mean_disk_io_time",
    "maximum_disk_io_time",
    "mean_disk_space",
    "cycles_per_instruction",
    "memory_accesses_per_instruction",
    "sample_portion",
    "aggregation_type",
    "sample_rate",
)
MEASURED = np.dtype(
    [
        *[(name, "f8") for name in _SCALARS],
        ("cpu_usage_distribution", "f8", 11),
        ("tail_cpu_usage_distribution", "f8", 9),
    ]
)
"""One window: the measured columns of ``instance_usage``, with one number each or several."""


def _places_of_numbers(record: np.dtype[np.void]) -> dict[str, range]:
    places: dict[str, range] = {}
    first = 0
    for name in record.names or ():
        width = record[name].itemsize // np.dtype("f8").itemsize
        places[name] = range(first, first + width)
        first += width
    return places


PLACES = _places_of_numbers(MEASURED)
"""Where the numbers of each column stand among all of a window."""
_LOWEST = PLACES["cpu_usage_distribution"][0]
_HIGHEST = PLACES["cpu_usage_distribution"][-1]
_LOWEST_OF_TAIL = PLACES["tail_cpu_usage_distribution"][0]

TRAITS = np.dtype(
    [
        # Keys of its seconds and of its faults.
        ("seconds", "u8"),
        ("faults", "u8"),
        # Noise of the task, of its job, of all tasks, and of its memory.
        ("own", NOISE),
        ("job", NOISE),
        ("cell", NOISE),
        ("memory", NOISE),
        # How its usage moves: stationary, drifting or steady.
        ("course", "i8"),
        # Page cache and assigned memory per memory used.
        ("cache", "f8"),
        ("assigned", "f8"),
        ("disk_io", "f8"),
        ("disk_space", "f8"),
        ("cpi", "f8"),
        ("mai", "f8"),
        # Whether CPI and MAI are there.
        ("has_counters", "i8"),
    ]
)
"""What does not change within an execution."""

_PROBABILITIES = (
    # 0, 10 … 100 %; the ends stand for one second in 300.
    *[0.0035, *np.arange(10, 100, 10) / 100.0, 0.9985],
    # 91 … 99 %.
    *np.arange(91, 100) / 100.0,
)
PERCENTILES = normal_score(np.array(_PROBABILITIES))
"""Normal scores of 0, 10 … 100 % and of 91 … 99 %."""
WORK = 4
"""Number of seconds that act as one: the maximum of a window is the largest of a quarter of its seconds (calibrated to
the ratios of maximum to average of 2019, 2.05 to 10.5)."""
MAXIMUM_CPU = 1.0
"""A task uses at most the largest machine."""
SHARED_BY_JOB = 0.3
"""Share of the variance that drifting tasks of a job have in common."""

FAULTS = (
    "missing_usage",
    "above_one",
    "bad_counters",
    "no_assigned",
    "no_percentiles",
    "no_disk_io",
)
"""Faults of usage records, in the order in which they are counted."""
MISSING_USAGE = FAULTS.index("missing_usage")
ABOVE_ONE = FAULTS.index("above_one")
BAD_COUNTERS = FAULTS.index("bad_counters")
NO_ASSIGNED = FAULTS.index("no_assigned")
NO_PERCENTILES = FAULTS.index("no_percentiles")
NO_DISK_IO = FAULTS.index("no_disk_io")
_NOT_MEASURED = -1.0
EMPTY_LIST = -2.0
"""Stands in place of the first number of a list without numbers; the others are not measured."""
SAMPLE_RATES = (
    (0.0006, 0.5, 0.9),
    (0.0127, 0.95, 0.99),
    (0.0364, 0.99609375, 0.99609375),
)
"""Cumulative shares of windows with a sample rate between two numbers (2019); it is 1 in all others."""

# What is hashed of a task, beyond its noise: each purpose has its own number, which is part of the data.
_SECONDS = np.uint64(7)
_MEMORY = np.uint64(9)
_DRIFTS = np.uint64(101)
_STEADY = np.uint64(108)
_CACHE = np.uint64(102)
_ASSIGNED = np.uint64(103)
_DISK_IO = np.uint64(104)
_DISK_SPACE = np.uint64(105)
_CPI = np.uint64(106)
_MAI = np.uint64(107)
# … of a window …
_MAXIMUM = np.uint64(8)
_OTHER_SHARES = np.uint64(10)
_COUNTERS = np.uint64(11)
# … and of its faults and percentiles.
_IS_ABOVE_ONE = np.uint64(1)
_HAS_BAD_COUNTERS = np.uint64(3)
_HAS_NO_ASSIGNED = np.uint64(4)
_HAS_NO_DISK_IO = np.uint64(9)
_HAS_COUNTERS = np.uint64(5)
_SAMPLE_RATE = np.uint64(6)
_PERCENTILES = np.uint64(7)
_HIGHEST_PERCENTILE = np.uint64(8)
_HAS_NO_PERCENTILES = np.uint64(10)


def traits_of(
    model: CpuModel,
    executions: NDArray[np.void],
    seed: int,
    rates: FaultRates,
    drifting: Numbers,
) -> NDArray[np.void]:
    """Draw the :data:`TRAITS` of executions, shape (n,); they depend on seed and task only.

    Parameters
    ----------
    model
        Tables of the CPU process.
    executions
        Structured array with :data:`~borgtrace.synth.measure.usage_windows.EXECUTION`, shape (n,).
    seed
        Of the trace.
    rates
        Says how many executions have no counters.
    drifting
        Share of tasks whose level wanders, by class.
    """
    # Two keys: whether faults are injected must not change what is measured.
    process_key = np.uint64(key(seed, "process"))
    fault_key = np.uint64(key(seed, "faults"))
    return _draw_traits(model, process_key, fault_key, executions, rates, drifting)


@compiled()
def _draw_traits(
    model: CpuModel,
    process_key: np.uint64,
    fault_key: np.uint64,
    executions: NDArray[np.void],
    rates: FaultRates,
    drifting: Numbers,
) -> NDArray[np.void]:
    traits = np.empty(len(executions), TRAITS)
    for i in range(len(executions)):
        execution = executions[i]
        trait = traits[i]
        # The process follows the task (of an alloc instance: the task inside it), so that a task keeps its level and
        # its phase over all of its runs and parts.
        job = mix(process_key, np.uint64(execution["process_job"]))
        process_number = np.uint64(execution["process_index"] + 1)
        own = mix(job, process_number)
        collection_faults = mix(fault_key, np.uint64(execution["collection_id"]))
        instance_number = np.uint64(execution["instance_index"] + 1)
        faults = mix(collection_faults, instance_number)
        trait["seconds"] = mix(own, _SECONDS)
        trait["faults"] = faults
        begin_noise(trait["own"], own)
        begin_noise(trait["job"], job)
        begin_noise(trait["cell"], process_key)
        begin_noise(trait["memory"], mix(own, _MEMORY))
        is_drifting = unit(mix(own, _DRIFTS)) < drifting[execution["kind"]]
        is_steady = unit(mix(job, _STEADY)) < execution["steadiness"]
        trait["course"] = DRIFTING if is_drifting else STATIONARY
        if is_steady:
            trait["course"] = STEADY
        trait["cache"] = 0.35 * unit(mix(own, _CACHE)) ** 1.5
        trait["assigned"] = 1.2 + 0.3 * unit(mix(own, _ASSIGNED))
        trait["disk_io"] = -2.3e-4 * math.log(unit(mix(own, _DISK_IO)))
        trait["disk_space"] = 3e-4 * unit(mix(own, _DISK_SPACE))
        # The few published rows have a CPI of 2.1 to 5.6 and a MAI of .005 to .02.
        cpi_score = normal_value(model, mix(own, _CPI))
        mai_score = normal_value(model, mix(own, _MAI))
        trait["cpi"] = 4.2 * math.exp(0.42 * cpi_score)
        trait["mai"] = 0.0145 * math.exp(0.5 * mai_score)
        trait["has_counters"] = unit(mix(faults, _HAS_COUNTERS)) >= rates.no_counters
    return traits


@compiled(inline=True)
def _share(bits: np.uint64, which: int) -> float:
    """Return one of the four numbers in [0, 1) that 64 random bits hold."""
    shifted = bits >> np.uint64(16 * which)
    sixteen_bits = shifted & np.uint64(0xFFFF)
    return float(sixteen_bits) * (1.0 / 65536.0)


# Inlined, because passing so many arrays costs as much as measuring.
@compiled(inline=True)
def measure(
    model: CpuModel,
    execution: Any,
    trait: Any,
    start: int,
    end: int,
    out: Any,
) -> None:
    """Fill `out` with all of one window except percentiles, as exact numbers before rounding.

    Parameters
    ----------
    model
        Tables of the CPU process.
    execution, trait
        An execution, and what was drawn for it.
    start, end
        Limits of the window, s.
    out
        Record with :data:`MEASURED`.
    """
    # Keyed by the start of the window, not by its number in the run: parts of a run are measured apart.
    bits = mix(trait["seconds"], np.uint64(start))
    _measure_cpu(model, execution, trait, start, end, bits, out)
    bits = mix(mix(bits, _MAXIMUM), _OTHER_SHARES)
    _measure_memory(model, execution, trait, start // 300, bits, out)
    mean_disk_io = trait["disk_io"] * (0.5 + _share(bits, 2))
    maximum_disk_io = mean_disk_io * (27.0 + 40.0 * _share(bits, 3))
    out["mean_disk_io_time"] = mean_disk_io
    out["maximum_disk_io_time"] = min(maximum_disk_io, 1.0)
    out["mean_disk_space"] = trait["disk_space"]
    score = normal_value(model, mix(bits, _COUNTERS))
    wobble = 1.0 + 0.06 * score
    out["cycles_per_instruction"] = trait["cpi"] * wobble
    out["memory_accesses_per_instruction"] = trait["mai"] * wobble
    out["sample_portion"] = 0.0
    out["aggregation_type"] = execution["collection_id"] & 1


@compiled(inline=True)
def _measure_cpu(
    model: CpuModel,
    execution: Any,
    trait: Any,
    start: int,
    end: int,
    bits: np.uint64,
    out: Any,
) -> None:
    """Fill in the average, a random second and the maximum of CPU."""
    kind = execution["kind"]
    course = trait["course"]
    average = window_average(
        model,
        execution,
        trait["own"],
        trait["job"],
        trait["cell"],
        course,
        SHARED_BY_JOB if course == DRIFTING else 0.0,
        start // 300,
    )
    # Above 1 is a fault (13 records of the real trace): only the injector makes it, and counts it.
    average = min(average, execution["most_cpu"], MAXIMUM_CPU)
    sampled = min(random_second(model, bits, average, kind), MAXIMUM_CPU)
    # The largest of n seconds is looked up for the power of two below n.
    level = 0
    seconds = (end - start) // WORK
    while seconds > 1 and level < len(model.largest) - 1:
        seconds >>= 1
        level += 1
    eight_bits = mix(bits, _MAXIMUM) >> np.uint64(56)
    peak_score = model.largest[level, eight_bits]
    peak = average * shape_value(model.within, kind, peak_score)
    out["average_cpu"] = average
    out["sampled_cpu"] = sampled
    # A maximum below the sample or the mean would be counted as a fault at ingest.
    out["maximum_cpu"] = min(max(peak, sampled, average), MAXIMUM_CPU)


@compiled(inline=True)
def _measure_memory(
    model: CpuModel,
    execution: Any,
    trait: Any,
    window: int,
    bits: np.uint64,
    out: Any,
) -> None:
    """Fill in the memory of a window whose CPU is known."""
    # Memory has a slow noise of its own and follows CPU a little: the real series correlate with a median of .54.
    relative_cpu = out["average_cpu"] / max(execution["level"], 1e-9)
    deviation = min(max(relative_cpu - 1.0, -1.0), 2.0)
    slow = noise_at(model, trait["memory"], 1, window)
    relative_memory = max(1.0 + 0.05 * slow + 0.04 * deviation, 0.05)
    average = min(execution["memory"] * relative_memory, execution["most_memory"])
    out["average_memory"] = average
    above_average = 0.02 * _share(bits, 0)
    out["maximum_memory"] = min(average * (1.0 + above_average), execution["most_memory"])
    out["assigned_memory"] = average * trait["assigned"]
    page_cache = average * trait["cache"]
    out["page_cache_memory"] = page_cache
    unmapped_share = 0.85 + 0.14 * _share(bits, 1)
    out["unmapped_page_cache_memory"] = page_cache * unmapped_share


@compiled(inline=True)
def inject_faults(
    own: np.uint64,
    rates: FaultRates,
    has_counters: bool,
    start: int,
    out: Any,
    faults: Index,
) -> None:
    """Put faults into a measured window, by the hash `own`, and count them; what is missing becomes −1.

    Parameters
    ----------
    own
        Hash of the window.
    rates
        Rates of the faults.
    has_counters
        Whether the execution has CPI and MAI.
    start
        Start of the window, s.
    out
        Record with :data:`MEASURED`; changed.
    faults
        Counts by kind, shape (len(:data:`FAULTS`),); changed.
    """
    u = unit(own)
    if rates.above_one > 0.0 and unit(mix(own, _IS_ABOVE_ONE)) < rates.above_one:
        faults[ABOVE_ONE] += 1
        # Up to 6.6, as in the real trace (6.633 in part 0).
        out["average_cpu"] = 1.001 + 5.6 * u
        # Otherwise the record would have a second fault that nobody planted: a mean above its maximum.
        out["maximum_cpu"] = max(out["maximum_cpu"], out["average_cpu"])
    if rates.bad_counters > 0.0 and unit(mix(own, _HAS_BAD_COUNTERS)) < rates.bad_counters:
        faults[BAD_COUNTERS] += 1
        out["cycles_per_instruction"] = 30.0 + 400.0 * u
        out["memory_accesses_per_instruction"] = 3.0
    elif not has_counters:
        out["cycles_per_instruction"] = _NOT_MEASURED
        out["memory_accesses_per_instruction"] = _NOT_MEASURED
    if rates.no_assigned > 0.0 and unit(mix(own, _HAS_NO_ASSIGNED)) < rates.no_assigned:
        faults[NO_ASSIGNED] += 1
        out["assigned_memory"] = 0.0
    has_no_disk_io = start >= rates.disk_io_until
    if not has_no_disk_io and rates.no_disk_io > 0.0:
        has_no_disk_io = unit(mix(own, _HAS_NO_DISK_IO)) < rates.no_disk_io
        faults[NO_DISK_IO] += has_no_disk_io
    if has_no_disk_io:
        out["mean_disk_io_time"] = _NOT_MEASURED
        out["maximum_disk_io_time"] = _NOT_MEASURED


@compiled(makes_arrays=False)
def sample_percentiles(
    model: CpuModel,
    own: np.uint64,
    kind: int,
    scores: Numbers,
    out: Any,
    numbers: Numbers,
) -> None:
    """Fill in the percentiles of a second in the window, from at most the sample to the maximum, and the rate.

    Parameters
    ----------
    model
        Tables of the CPU process.
    own
        Hash of the window.
    kind
        Class of the task.
    scores
        Normal scores of the percentiles, shape (20,).
    out
        Record with :data:`MEASURED`; the rate is filled in.
    numbers
        All numbers of that record; the last 20 are filled in.
    """
    wobble = 0.08 * normal_value(model, mix(own, _PERCENTILES))
    # A planted average above 1 must not move the percentiles.
    mean = min(out["average_cpu"], MAXIMUM_CPU)
    maximum = out["maximum_cpu"]
    sampled = out["sampled_cpu"]
    for i in range(len(scores)):
        score = scores[i] + wobble
        percentile = mean * shape_value(model.within, kind, score)
        numbers[_LOWEST + i] = min(percentile, maximum)
    # The sample is one of the seconds: it lies between the smallest and the largest percentile.
    numbers[_LOWEST] = min(numbers[_LOWEST], sampled)
    below_maximum = 0.01 * unit(mix(own, _HIGHEST_PERCENTILE))
    almost_maximum = maximum * (1.0 - below_maximum)
    numbers[_HIGHEST] = max(almost_maximum, numbers[-1], sampled)
    u = unit(mix(own, _SAMPLE_RATE))
    out["sample_rate"] = 1.0
    below = 0.0
    for share, lowest, highest in SAMPLE_RATES:
        if below <= u < share:
            inside = (u - below) / (share - below)
            out["sample_rate"] = lowest + inside * (highest - lowest)
        below = share


@compiled(makes_arrays=False)
def empty_percentiles(
    own: np.uint64,
    rates: FaultRates,
    seconds: int,
    numbers: Numbers,
    faults: Index,
) -> None:
    """Take the percentiles out of some windows of one second, and count them.

    Parameters
    ----------
    own
        Hash of the window.
    rates
        Rates of the faults.
    seconds
        Length of the window.
    numbers
        All numbers of the window; changed.
    faults
        Counts by kind, shape (len(:data:`FAULTS`),); changed.
    """
    if seconds > 1 or unit(mix(own, _HAS_NO_PERCENTILES)) >= rates.no_percentiles:
        return
    faults[NO_PERCENTILES] += 1
    numbers[_LOWEST:] = _NOT_MEASURED
    numbers[_LOWEST] = EMPTY_LIST
    numbers[_LOWEST_OF_TAIL] = EMPTY_LIST
