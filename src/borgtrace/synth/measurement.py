"""What a measurement window says: CPU, memory, disk and cycles of one execution in one window."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.synth.cpu_process import (
    NOISE,
    CpuModel,
    begin_noise,
    noise_at,
    random_second,
    shape_value,
    window_average,
)
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import key, mix, unit

_SCALARS = (
    *("average_cpu", "sampled_cpu", "maximum_cpu", "average_memory", "assigned_memory"),
    *("unmapped_page_cache_memory", "page_cache_memory", "maximum_memory", "mean_disk_io_time"),
    *(
        "maximum_disk_io_time",
        "mean_disk_space",
        "cycles_per_instruction",
        "memory_accesses_per_instruction",
    ),
    *("sample_portion", "aggregation_type", "sample_rate"),
)
_LISTS = (("cpu_usage_distribution", "f8", 11), ("tail_cpu_usage_distribution", "f8", 9))
MEASURED = np.dtype([*((name, "f8") for name in _SCALARS), *_LISTS])
"""One window: the measured columns of ``instance_usage``, with one number each or several."""
PLACES = {
    name: range(offset // 8, (offset + kind.itemsize) // 8)
    for name, (kind, offset, *_) in (MEASURED.fields or {}).items()
}
"""Where the numbers of each column stand among all of a window."""
TRAITS = np.dtype(
    [
        *(
            ("seconds", "u8"),
            ("faults", "u8"),
            ("own", NOISE),
            ("job", NOISE),
            ("cell", NOISE),
            ("memory", NOISE),
        ),
        ("drifts", "i8"),
        *((name, "f8") for name in ("cache", "assigned", "disk_io", "disk_space", "cpi", "mai")),
        ("has_counters", "i8"),
    ]
)
"""What does not change within an execution: keys of its seconds and of its faults; noise of the task, of its job, of
all tasks, of its memory; whether its level drifts; page cache and assigned memory per memory used, disk I/O, disk
space, CPI, MAI; whether the counters of the last two are there."""
_LOWEST, *_, _HIGHEST = PLACES["cpu_usage_distribution"]
PERCENTILES = special.ndtri(
    np.array([0.0035, *np.arange(10, 100, 10) / 100.0, 0.9985, *np.arange(91, 100) / 100.0])
)
"""Normal scores of 0, 10 … 100 % and of 91 … 99 %; the ends stand for one second in 300."""
WORK = 4
"""Seconds of a window are this much alike: its maximum is the largest of a quarter of them (calibrated to the ratios
of maximum to average of 2019, 2.05 to 10.5)."""
FAULTS = ("missing_usage", "above_one", "bad_counters", "no_assigned")
"""Faults of usage records, in the order in which they are counted."""


def traits_of(
    model: CpuModel, executions: NDArray[np.void], seed: int, rates: FaultRates, drifting: Numbers
) -> NDArray[np.void]:
    """Draw the :data:`TRAITS` of executions, shape (n,); they depend on seed and task only.

    Parameters
    ----------
    model
        Tables of the CPU process.
    executions
        Structured array with :data:`~borgtrace.synth.usage_windows.FIELDS`, shape (n,).
    seed
        Of the trace.
    rates
        Says how many executions have no counters.
    drifting
        Share of tasks whose level wanders, by class.
    """
    # Two keys: whether faults are injected must not change what is measured.
    keys = np.array([key(seed, "process"), key(seed, "faults")], np.uint64)
    return _draw_traits(model, keys, executions, rates, drifting)


@compiled()
def _draw_traits(
    model: CpuModel,
    keys: NDArray[np.uint64],
    executions: NDArray[np.void],
    rates: FaultRates,
    drifting: Numbers,
) -> NDArray[np.void]:
    process, faults = keys[0], keys[1]
    traits = np.empty(len(executions), TRAITS)
    for i in range(len(executions)):
        execution, trait = executions[i], traits[i]
        # The process follows the task (of an alloc instance: the task inside it), so that a task keeps its level and
        # its phase over all of its runs and parts.
        job = mix(process, np.uint64(execution["process_job"]))
        own = mix(job, np.uint64(execution["process_index"] + 1))
        fault = mix(
            mix(faults, np.uint64(execution["collection_id"])),
            np.uint64(execution["instance_index"] + 1),
        )
        trait["seconds"], trait["faults"] = mix(own, np.uint64(7)), fault
        begin_noise(trait["own"], own)
        begin_noise(trait["job"], job)
        begin_noise(trait["cell"], process)
        begin_noise(trait["memory"], mix(own, np.uint64(9)))
        trait["drifts"] = unit(mix(own, np.uint64(101))) < drifting[execution["kind"]]
        trait["cache"] = 0.35 * unit(mix(own, np.uint64(102))) ** 1.5
        trait["assigned"] = 1.2 + 0.3 * unit(mix(own, np.uint64(103)))
        trait["disk_io"] = -2.3e-4 * math.log(unit(mix(own, np.uint64(104))))
        trait["disk_space"] = 3e-4 * unit(mix(own, np.uint64(105)))
        # The few published rows have a CPI of 2.1 to 5.6 and a MAI of .005 to .02.
        trait["cpi"] = 4.2 * math.exp(
            0.42 * model.normal[mix(own, np.uint64(106)) >> np.uint64(52)]
        )
        trait["mai"] = 0.0145 * math.exp(
            0.5 * model.normal[mix(own, np.uint64(107)) >> np.uint64(52)]
        )
        trait["has_counters"] = unit(mix(fault, np.uint64(5))) >= rates.no_counters
    return traits


@compiled(inline=True)
def _share(bits: np.uint64, which: int) -> float:
    """Return one of four numbers in [0, 1) that 64 random bits hold."""
    return float((bits >> np.uint64(16 * which)) & np.uint64(0xFFFF)) * (1.0 / 65536.0)


# Inlined, because passing so many arrays costs as much as measuring.
@compiled(inline=True)
def measure(model: CpuModel, execution: Any, trait: Any, start: int, end: int, out: Any) -> None:
    """Fill `out` with all of one window but percentiles, as exact numbers before rounding.

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
    kind, drifts, window = execution["kind"], trait["drifts"], start // 300
    y = window_average(
        model, execution, trait["own"], trait["job"], trait["cell"], drifts, 0.3 * drifts, window
    )
    # Above 1 is a fault (13 records of the real trace): only the injector makes it, and counts it.
    y = min(y, 1.0)
    # By the start of the window, not by its number in the run: parts of a run are measured apart.
    bits = mix(trait["seconds"], np.uint64(start))
    x = min(random_second(model, bits, y, kind), 1.0)
    bits = mix(bits, np.uint64(8))
    # The largest of n seconds is looked up for the power of two below n.
    level, seconds = 0, (end - start) // WORK
    while seconds > 1 and level < len(model.largest) - 1:
        seconds >>= 1
        level += 1
    peak = y * shape_value(model.within, kind, model.largest[level, bits >> np.uint64(56)])
    # A maximum below the sample or the mean would be counted as a fault at ingest.
    out["average_cpu"], out["sampled_cpu"], out["maximum_cpu"] = y, x, min(max(peak, x, y), 1.0)

    # Memory has a slow noise of its own and follows CPU a little: the real series correlate with a median of .54.
    deviation = min(max(y / max(execution["level"], 1e-9) - 1.0, -1.0), 2.0)
    slow = noise_at(model, trait["memory"], 1, window)
    memory = execution["memory"] * max(1.0 + 0.05 * slow + 0.04 * deviation, 0.05)
    bits = mix(bits, np.uint64(10))
    out["average_memory"], out["maximum_memory"] = memory, memory * (1.0 + 0.02 * _share(bits, 0))
    out["assigned_memory"], out["page_cache_memory"] = (
        memory * trait["assigned"],
        memory * trait["cache"],
    )
    out["unmapped_page_cache_memory"] = out["page_cache_memory"] * (0.85 + 0.14 * _share(bits, 1))
    out["mean_disk_io_time"] = trait["disk_io"] * (0.5 + _share(bits, 2))
    out["maximum_disk_io_time"] = min(
        out["mean_disk_io_time"] * (27.0 + 40.0 * _share(bits, 3)), 1.0
    )
    out["mean_disk_space"] = trait["disk_space"]
    wobble = 1.0 + 0.06 * model.normal[mix(bits, np.uint64(11)) >> np.uint64(52)]
    out["cycles_per_instruction"] = trait["cpi"] * wobble
    out["memory_accesses_per_instruction"] = trait["mai"] * wobble
    out["sample_portion"], out["aggregation_type"] = 0.0, execution["collection_id"] & 1


@compiled(inline=True)
def inject_faults(
    own: np.uint64, rates: FaultRates, has_counters: bool, start: int, out: Any, faults: Index
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
    if rates.above_one > 0.0 and unit(mix(own, np.uint64(1))) < rates.above_one:
        faults[1] += 1
        # Up to 6.6, as in the real trace (6.633 in part 0).
        out["average_cpu"] = 1.001 + 5.6 * u
        # Else the record would have a second fault that nobody planted: a mean above its maximum.
        out["maximum_cpu"] = max(out["maximum_cpu"], out["average_cpu"])
    if rates.bad_counters > 0.0 and unit(mix(own, np.uint64(3))) < rates.bad_counters:
        faults[2] += 1
        out["cycles_per_instruction"], out["memory_accesses_per_instruction"] = (
            30.0 + 400.0 * u,
            3.0,
        )
    elif not has_counters:
        out["cycles_per_instruction"] = out["memory_accesses_per_instruction"] = -1.0
    if rates.no_assigned > 0.0 and unit(mix(own, np.uint64(4))) < rates.no_assigned:
        faults[3] += 1
        out["assigned_memory"] = 0.0
    if start >= rates.disk_io_until:
        out["mean_disk_io_time"] = out["maximum_disk_io_time"] = -1.0


@compiled(makes_arrays=False)
def sample_percentiles(
    model: CpuModel, own: np.uint64, kind: int, scores: Numbers, out: Any, numbers: Numbers
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
    wobble = 0.08 * model.normal[mix(own, np.uint64(7)) >> np.uint64(52)]
    # A planted average above 1 must not move the percentiles.
    mean, top = min(out["average_cpu"], 1.0), out["maximum_cpu"]
    for i in range(len(scores)):
        numbers[_LOWEST + i] = min(mean * shape_value(model.within, kind, scores[i] + wobble), top)
    # The sample is one of the seconds: it lies between the smallest and the largest percentile.
    numbers[_LOWEST] = min(numbers[_LOWEST], out["sampled_cpu"])
    numbers[_HIGHEST] = max(
        top * (1.0 - 0.01 * unit(mix(own, np.uint64(8)))), numbers[-1], out["sampled_cpu"]
    )
    out["sample_rate"] = (
        0.99609375 if mix(own, np.uint64(6)) & np.uint64(15) == np.uint64(0) else 1.0
    )
