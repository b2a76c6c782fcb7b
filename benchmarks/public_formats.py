"""Azure's readings and Alibaba's container usage → store, beside Polars' scan to Parquet of the same files.

    python benchmarks/public_formats.py [--rows 2000000] [--runs 3]

Rows are drawn in the documented layouts.  Each way runs in a process of its own with two threads or workers; CPU
seconds are those of the process and its children, beyond what an ingest of a hundredth of the rows takes for what is
loaded and compiled on first use.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

sys.path.insert(0, str(Path(__file__).parent))
from cpu_of_process import cpu_of

AZURE = ("timestamp", "vmid", "mincpu", "maxcpu", "avgcpu")
ALIBABA = (
    "container_id",
    "machine_id",
    "time_stamp",
    "cpu_util_percent",
    "mem_util_percent",
    "cpi",
    "mem_gps",
    "mpki",
    "net_in",
    "net_out",
    "disk_io_percent",
)
NAMES = ("vmid", "container_id", "machine_id")
STEP = 300


def write_csv(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb", 1) as file:
        options = csv.WriteOptions(include_header=False, quoting_style="none")
        csv.write_csv(table, file, options)


def azure(folder: Path, rows: int) -> list[Path]:
    """Write readings by time, of VMs that all live throughout; names are 64 characters, as the encrypted ones are."""
    rng = np.random.default_rng(0)
    vms = max(rows // 288, 1)
    names = np.array([hashlib.sha512(f"vm{k}".encode()).hexdigest()[:64] for k in range(vms)])
    steps = -(-rows // vms)
    mean = rng.gamma(2, 5, steps * vms).clip(0, 90).round(6)
    readings = {
        "timestamp": np.repeat(np.arange(steps) * STEP, vms),
        "vmid": np.tile(names, steps),
        "mincpu": (mean / 2).round(6),
        "maxcpu": (mean * 1.1).round(6),
        "avgcpu": mean,
    }
    write_csv(folder / "vm_cpu_readings-file-1-of-195.csv.gz", pa.table(readings).slice(0, rows))
    about = {
        "vmid": names,
        "subscriptionid": names,
        "deploymentid": names,
        "vmcreated": np.zeros(vms, np.int64),
        "vmdeleted": np.full(vms, 2_591_700),
        "maxcpu": np.full(vms, 99.0),
        "avgcpu": np.full(vms, 10.0),
        "p95maxcpu": np.full(vms, 90.0),
        "vmcategory": np.full(vms, "Unknown"),
        "vmcorecountbucket": np.full(vms, "4"),
        "vmmemorybucket": np.full(vms, "32"),
    }
    write_csv(folder / "vmtable.csv.gz", pa.table(about))
    return [folder / "vm_cpu_readings-file-1-of-195.csv.gz", folder / "vmtable.csv.gz"]


def alibaba(folder: Path, rows: int) -> list[Path]:
    """Write usage container by container, with the machines and the containers that it is of."""
    rng = np.random.default_rng(1)
    containers = max(rows // 288, 1)
    names, machines = (
        [f"c_{k + 1}" for k in range(containers)],
        [f"m_{k % 400 + 1}" for k in range(containers)],
    )
    each = -(-rows // containers)
    n = each * containers
    usage = {
        "container_id": np.repeat(names, each),
        "machine_id": np.repeat(machines, each),
        "time_stamp": np.tile(np.arange(each) * STEP, containers),
        "cpu_util_percent": rng.integers(0, 100, n),
        "mem_util_percent": rng.integers(0, 100, n),
        "cpi": rng.gamma(2, 0.5, n).round(2),
        "mem_gps": rng.random(n).round(2),
        "mpki": rng.integers(0, 9, n),
        "net_in": rng.random(n).round(2),
        "net_out": rng.random(n).round(2),
        "disk_io_percent": rng.integers(0, 100, n),
    }
    write_csv(folder / "container_usage.csv.gz", pa.table(usage).slice(0, rows))
    fixed = np.zeros(containers, np.int64)
    about = {
        "container_id": names,
        "machine_id": machines,
        "time_stamp": fixed,
        "app_du": [f"app_{k % 90}" for k in range(containers)],
        "status": np.full(containers, "started"),
        "cpu_request": fixed + 400,
        "cpu_limit": fixed + 800,
        "mem_size": np.full(containers, 1.56),
    }
    write_csv(folder / "container_meta.csv.gz", pa.table(about))
    cells = {
        "machine_id": [f"m_{k + 1}" for k in range(400)],
        "time_stamp": np.zeros(400, np.int64),
        "failure_domain_1": np.arange(400),
        "failure_domain_2": np.arange(400),
        "cpu_num": np.full(400, 96),
        "mem_size": np.full(400, 100.0),
        "status": np.full(400, "USING"),
    }
    write_csv(folder / "machine_meta.csv.gz", pa.table(cells))
    return [
        folder / f"{name}.csv.gz" for name in ("container_usage", "container_meta", "machine_meta")
    ]


def run(way: str, folder: Path, out: Path) -> None:
    """Do it once, of all files of a folder."""
    paths = sorted(folder.glob("*.csv.gz"))
    if way == "polars":
        import polars as pl

        usage = max(paths, key=lambda path: path.stat().st_size)
        types = {"timestamp": pl.Int64, "time_stamp": pl.Int64} | dict.fromkeys(NAMES, pl.String)
        columns = AZURE if usage.name.startswith("vm_cpu") else ALIBABA
        frame = pl.scan_csv(
            usage, has_header=False, schema={name: types.get(name, pl.Float32) for name in columns}
        )
        frame.sink_parquet(out, compression="zstd", compression_level=1)
        return
    from borgtrace.ingest import IngestOptions, ingest

    capacity = "64cores,512GiB" if (folder / "vmtable.csv.gz").exists() else ""
    ingest(paths, out, IngestOptions(jobs=2, stage_only=way == "stage", capacity=capacity))


def _cpu_of(way: str, folder: Path, out: Path) -> float:
    return cpu_of([__file__, "--only", way, str(folder)], out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--keep", type=Path, help="folder for the files, reused when they are there"
    )
    parser.add_argument("--only", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        way, folder, out = options.only
        run(way, Path(folder), Path(out))
        return
    with tempfile.TemporaryDirectory() as temporary:
        kept = options.keep or Path(temporary)
        print(
            "| format | stage ÷ Polars | whole ÷ Polars | Polars CPU s | stage | whole |\n|---|--:|--:|--:|--:|--:|"
        )
        for name, make in (("azure-2019", azure), ("alibaba-2018", alibaba)):
            for rows in (options.rows, options.rows // 100):
                if not (kept / f"{name}-{rows}").exists():
                    make(kept / f"{name}-{rows}", rows)
            found = {}
            for way in ("polars", "stage", "whole"):
                large, small = (
                    kept / f"{name}-{rows}" for rows in (options.rows, options.rows // 100)
                )
                out = Path(temporary) / "out"
                found[way] = statistics.median(
                    _cpu_of(way, large, out) - _cpu_of(way, small, out) for _ in range(options.runs)
                )
            ratios = (found[way] / found["polars"] for way in ("stage", "whole"))
            cells = (f"{value:.2f}" for value in (*ratios, *found.values()))
            print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
