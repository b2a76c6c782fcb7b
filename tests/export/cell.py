"""A small cell of 2011, typed: machines that come and go, attributes, constraints, and tasks that live in every way."""

from __future__ import annotations

from pathlib import Path

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store
from borgtrace.synth import generate
from tests.export.stores import ingested

SIZE = (64.0, 256 * 2.0**30)
USER = "u=="
ZONE, CLOCK, NOWHERE = (f"{name:n<43}=" for name in ("zone", "clock", "nowhere"))
"""Names of attributes are digests, which tell the files of constraints from others."""
FILES = {
    "machine_events": [
        "0,5,0,p,0.5,0.25",
        "0,6,0,,,",
        "0,8,0,p/q,0.5,0.25",
        # Away for 100 s.
        "800000000,5,1,,,",
        "900000000,5,0,p,0.5,0.25",
        # Comes late.
        "700000000,7,0,p,1,1",
    ],
    "machine_attributes": [
        f"0,5,{ZONE},a b,0",
        f"0,5,{CLOCK},-5,0",
        f"0,8,{ZONE},a/b,0",
        f"0,8,{CLOCK},,0",
        f"700000000,7,{CLOCK},12,0",
        f"800000000,7,{CLOCK},3,0",
    ],
    "job_events": [f"0,,{job},0,{USER},2,n,l" for job in (1, 2, 3)],
    "task_events": [
        # Runs from before the trace to 700 s; asks for 32 cores.
        f"0,2,1,0,,0,{USER},2,9,0.1,0.0123,,1",
        f"0,2,1,0,5,1,{USER},2,9,0.5,0.25,,1",
        f"700000000,,1,0,5,4,{USER},2,9,0.5,0.25,,1",
        # Evicted after 10 s, then runs to the end of the trace; asks for a part of a core.
        f"650000000,,2,0,,0,{USER},2,0,0.001,0.0001,,0",
        f"660000000,,2,0,5,1,{USER},2,0,0.001,0.0001,,0",
        f"670000000,,2,0,5,2,{USER},2,0,0.001,0.0001,,0",
        f"670000007,,2,0,,0,{USER},2,0,0.001,0.0001,,0",
        f"680000000,,2,0,8,1,{USER},2,0,0.001,0.0001,,0",
        # Never starts.
        f"690000000,,2,1,,0,{USER},2,0,0.001,0.0001,,0",
        f"695000000,,2,1,,5,{USER},2,0,0.001,0.0001,,0",
        # The last event of the trace: it starts and has no length.
        f"999000000,,3,0,,0,{USER},2,5,,,,0",
        f"1000000000,,3,0,8,1,{USER},2,5,,,,0",
    ],
}


def cell_of_2011(folder: Path, **more: list[str]) -> Store:
    """Ingest the cell, with more rows of some tables."""
    files = {**FILES, **{name: [*FILES.get(name, []), *lines] for name, lines in more.items()}}
    for name, lines in files.items():
        n_parts = 1 if name.startswith("machine") else 500
        path = folder / "source" / name / f"part-00000-of-{n_parts:05d}.csv"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(lines) + "\n")
    return ingested(folder, ["source"])


def synthetic(folder: Path, generation: str) -> Store:
    """Generate a cell of 20 machines, and ingest it."""
    generate(folder / "made", generation, 20, 3.0, 7)
    ingest([folder / "made"], folder / "store", IngestOptions(jobs=1))
    return borgtrace.open(folder / "store")
