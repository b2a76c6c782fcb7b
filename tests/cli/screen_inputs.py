"""The files and stores whose screens are kept: a tiny cell of 2011, and a cluster with names in cores and GiB."""

from __future__ import annotations

import gzip
from pathlib import Path

from borgtrace.ingest import IngestOptions, ingest
from tests.extensions.own_code import HALF
from tests.forecast.board_files import made_readings, write_parquet
from tests.gpu_files import write_gpu_files
from tests.ingest.raw import write_cell, write_part
from tests.lifecycle.test_by_machine import CELL

DECLARATION = """\
clock = "epoch"
step = "5m"
[usage]
task = "pod"
time = { column = "time", unit = "iso" }
machine = "node"
cpu = { column = "cpu", unit = "cores", kind = "average" }
memory = { column = "memory", unit = "GiB", kind = "average" }
cpu_request = { column = "cpu_request", unit = "cores" }
memory_request = { column = "memory_request", unit = "GiB" }
user = "user"
priority = "priority"
[machines]
machine = "node"
cpu = { column = "cores", unit = "cores" }
memory = { column = "gib", unit = "GiB" }
"""
GUESSED = """\
pod,timestamp,node,cpu_cores,memory_bytes
web-1,2026-11-01T00:00:00Z,node-01,0.5,1073741824
web-1,2026-11-01T00:05:00Z,node-01,0.75,1073741824
web-2,2026-11-01T00:00:00Z,node-02,0.25,2147483648
web-2,2026-11-01T00:05:00Z,node-02,0.5,2147483648
"""
MOMENTS = """\
task,mean,std,maximum,request
web-1,0.1,0.02,0.2,0.25
web-2,0.2,0.05,0.4,0.5
web-3,0.3,0.05,0.5,0.5
web-4,0.25,0.04,0.4,0.5
"""


EXPERIMENT = """\
resources = ["cpu"]
horizon = "10m"

[stores]
cluster = "own"

[policies.borg]
phi = [0.5, 0.9]

[policies.nsigma]
n = [2, 5]
"""


def write_inputs(folder: Path) -> None:
    """Write everything that command lines name, relative to a folder.

    Parameters
    ----------
    folder
        An empty one.
    """
    (folder / "half.py").write_text(HALF, encoding="utf-8")
    write_parquet(folder / "vms.parquet", made_readings(2, 400))
    tables = {**CELL, "machine_events": ["0,7,0,PLATFORM,1,1"]}
    for table, lines in tables.items():
        write_part(folder / "raw", table, lines, compressed=False)
        # Stores of the same cell, to be merged: events in one, usage in the other.
        part = "usage" if table == "task_usage" else "events"
        write_part(folder / f"raw-{part}", table, lines, compressed=False)
    refused = [
        "600000000,,x,0,5,1,bob,3,9,0.1,0.1,0.1,0",
        "600000000,,7,0,5,1,bob,3,9,-1,0.1,0.1,0",
    ]
    write_part(folder / "refused", "task_events", refused, compressed=False)
    for name, source in {
        "cell-2011": "raw",
        "events": "raw-events",
        "usage": "raw-usage",
    }.items():
        ingest([folder / source], folder / name, IngestOptions(jobs=1))
    (folder / "guessed.csv").write_text(GUESSED)
    (folder / "moments.csv").write_text(MOMENTS)
    (folder / "experiment.toml").write_text(EXPERIMENT)
    write_own_cluster(folder)
    write_gpu_files(folder / "gpus")


def write_own_cluster(folder: Path) -> None:
    """Write three hours of eight pods on two nodes, which are busier in the last ten minutes of an hour."""
    lines = ["pod,time,node,cpu,memory,cpu_request,memory_request,user,priority"]
    for slot in range(36):
        time = f"2026-11-01T{slot // 12:02}:{slot % 12 * 5:02}:00Z"
        for pod in range(8):
            cores = 0.4 + 0.05 * ((slot * 7 + pod * 3) % 5) + (0.3 if slot % 12 > 9 else 0)
            user = "alice" if pod < 5 else "bob"
            row = (f"web-{pod}", time, f"node-0{pod % 2 + 1}", f"{cores:.2f}", 1, 1, 2, user, 200)
            lines.append(",".join(map(str, row)))
    (folder / "own.csv").write_text("\n".join(lines) + "\n")
    (folder / "nodes.csv").write_text("node,cores,gib\nnode-01,16,64\nnode-02,8,32\n")
    (folder / "own.toml").write_text(DECLARATION)
    options = IngestOptions(jobs=1, dialect=str(folder / "own.toml"))
    ingest([folder / "own.csv", folder / "nodes.csv"], folder / "own", options)


def files_of_bucket(folder: Path) -> dict[str, bytes]:
    """Return two files as Google's bucket of 2011 has them.

    Parameters
    ----------
    folder
        Where they are written first.
    """
    write_cell(folder)
    files = {}
    for table in ("machine_events", "machine_attributes"):
        (path,) = (folder / table).iterdir()
        # Each of these tables has one part.
        files[f"{table}/part-00000-of-00001.csv.gz"] = gzip.compress(
            gzip.decompress(path.read_bytes()), mtime=0
        )
    return files
