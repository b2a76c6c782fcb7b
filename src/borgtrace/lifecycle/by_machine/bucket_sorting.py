"""Rows of a bucket of machines, sorted, with those of a slot combined."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.kernels.arrays import Flags, Index, Values
from borgtrace.kernels.runs import spans
from borgtrace.lifecycle.by_machine.limits import PartitionLimits
from borgtrace.lifecycle.by_machine.row_files import (
    MACHINE_ENTRY,
    MACHINE_ROW,
    Rows,
    map_rows,
    rows_name,
    unsorted_name,
)
from borgtrace.lifecycle.by_machine.window_rows import WINDOW_ROW


@dataclass(frozen=True)
class BucketSorter:
    """Sorts the buckets of a folder.

    Attributes
    ----------
    folder
        Where they are.
    is_peak
        Whether CPU, and memory, are peaks.
    limits
        What is held in memory and in a sorting key.
    """

    folder: Path
    is_peak: Flags
    limits: PartitionLimits

    def sort(self, bucket: int) -> Rows:
        """Write the sorted rows of a bucket in place of the unsorted ones, and return where those of each machine are.

        Parameters
        ----------
        bucket
            Its number.
        """
        unsorted = self.folder / unsorted_name(bucket)
        rows = map_rows(unsorted, WINDOW_ROW)
        ids, number = _number_machines(rows["machine"])
        by_machine = np.argsort(number, kind="stable")
        lengths = np.bincount(number, minlength=len(ids))
        ends = np.append(0, np.cumsum(lengths))
        entries = np.zeros(len(ids), MACHINE_ENTRY)
        entries["machine"] = ids
        entries["bucket"] = bucket
        with (self.folder / rows_name(bucket)).open("wb") as file:
            # Some machines at a time: reused memory need not be cleared by the system again.
            for low, high in spans(lengths, self.limits.chunk):
                part = by_machine[ends[low] : ends[high]]
                machine = number[part].astype(np.int64) - low
                combined, machine_of_row = self._combine_slots(rows[part], machine)
                entries["n"][low:high] = np.bincount(machine_of_row, minlength=high - low)
                combined.tofile(file)
        entries["first"] = np.cumsum(entries["n"]) - entries["n"]
        unsorted.unlink()
        return entries

    def _combine_slots(self, rows: Rows, machine: Index) -> tuple[Rows, Index]:
        """Sort rows of numbered machines and combine those of a slot; return them and their machines."""
        bits_of_slot = self.limits.bits_of_slot
        key = machine << (bits_of_slot + self.limits.bits_of_term)
        key |= rows["term"].astype(np.int64) << bits_of_slot
        key |= rows["slot"]
        # Stable: windows of a slot are added in the order of their start, whatever the buckets.
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        first_rows = order[first]
        combined = np.empty(len(first), MACHINE_ROW)
        combined["term"] = rows["term"][first_rows]
        combined["slot"] = rows["slot"][first_rows]
        for name, is_peak in zip(("cpu", "memory"), self.is_peak, strict=True):
            combined[name] = _combine(rows[name][order], first, is_peak)
        return combined, machine[first_rows]


def _number_machines(ids: Index) -> tuple[Index, npt.NDArray[np.unsignedinteger]]:
    """Return the ids that occur, ascending, and the number of each; in one or two bytes it sorts fastest."""
    encoded = pa.array(ids).dictionary_encode()
    unique_ids = encoded.dictionary.to_numpy()
    order = np.argsort(unique_ids)
    number = np.empty(len(unique_ids), np.min_scalar_type(len(unique_ids)))
    number[order] = np.arange(len(unique_ids))
    return unique_ids[order], number[encoded.indices.to_numpy()]


def _combine(
    values: Values,
    first: Index,
    is_peak: bool,
) -> Values:
    """Combine neighboring values into one by their maximum or their sum; NaN is no value."""
    if not len(first):
        return values
    if is_peak:
        return np.fmax.reduceat(values, first)
    sums = np.add.reduceat(np.nan_to_num(values).astype(np.float64), first)
    has_value = np.logical_or.reduceat(~np.isnan(values), first)
    return np.where(has_value, sums, np.nan).astype(np.float32)
