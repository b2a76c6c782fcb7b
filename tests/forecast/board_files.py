"""Files of made boards: readings of VMs as Parquet and as CSV of GWA-T-12."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Reading = tuple[int, float, float, float]
"""VM, seconds, MHz, percent."""
HEADER = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];"
    "\tMemory capacity provisioned [KB];\tMemory usage [KB];\tDisk read throughput [KB/s];"
    "\tDisk write throughput [KB/s];\tNetwork received throughput [KB/s];\tNetwork transmitted throughput [KB/s]"
)
BEGIN = 1_372_629_600
"""The first bin of bitbrains_rnd: 2013-06-30 22:00 UTC."""
BIN = 300


def write_parquet(path: Path, readings: Sequence[Reading]) -> Path:
    """Write readings in their order."""
    vm, seconds, mhz, percent = zip(*readings, strict=True)
    table = pa.table(
        {
            "vm": pa.array(vm, pa.int16()),
            "time": pa.array(map(int, seconds), pa.int32()),
            "cpu_mhz": pa.array(mhz, pa.float32()),
            "cpu_pct": pa.array(percent, pa.float32()),
        }
    )
    pq.write_table(table, path)
    return path


def write_folder(folder: Path, readings: Iterable[Reading], *, scale: int = 1) -> Path:
    """Write a CSV for each VM, every other one compressed; `scale` 1000 writes times in ms."""
    folder.mkdir()
    lines: dict[int, list[str]] = {}
    for vm, seconds, mhz, percent in readings:
        fields = [int(seconds * scale), 4, 11703.99824, mhz, percent, 6.7108864e7, 1.0, 0, 0, 0, 0]
        lines.setdefault(vm, []).append(";\t".join(map(str, fields)))
    for vm, of_vm in lines.items():
        text = "\n".join([HEADER, *of_vm, ""])
        if vm % 2:
            (folder / f"{vm}.csv").write_text(text)
        else:
            (folder / f"{vm}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def made_readings(
    n_vms: int, n_bins: int, *, every: int = 1, seed: int = 0, begin: int = BEGIN
) -> list[Reading]:
    """Return readings every so many bins with a rhythm of days; the last bin has one of each VM."""
    rng = np.random.default_rng(seed)
    bins = [*range(0, n_bins - 1, every), n_bins - 1]
    readings = []
    for vm in range(1, n_vms + 1):
        rhythm = 30 + 10 * np.sin(np.array(bins) * 2 * np.pi / 288 + vm)
        percent = rhythm + rng.uniform(-5, 5, len(bins))
        for number, value in zip(bins, percent.round(3), strict=True):
            readings.append((vm, begin + number * BIN, float(value * 24), float(value)))
    return readings
