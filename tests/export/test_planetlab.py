"""Files of PlanetLab, as CloudSim's reader takes them: percentages worked out by hand from the rows above them."""

from __future__ import annotations

from pathlib import Path

import borgtrace
from borgtrace.export import export_files
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store
from tests.ingest.cluster_samples import PLANETLAB
from tests.ingest.own_data import AVERAGES, hashed, ingest_own

# 1 November 2026, 23:50 in UTC.
BEFORE_MIDNIGHT = 1_793_577_000


def _files(store: Store, out: Path) -> dict[str, list[int]]:
    """Export a store; return the percentages of each file, as CloudSim parses them: one whole number a line."""
    export_files(store, out, "planetlab")
    files = {}
    for path in sorted(out.rglob("*")):
        if path.is_file():
            name = path.relative_to(out).as_posix()
            files[name] = [int(line) for line in path.read_text().splitlines()]
    return files


def test_a_trace_of_planetlab_comes_back_as_it_was(tmp_path: Path) -> None:
    for day, text in (("20110303", PLANETLAB), ("20110304", "50\n" * 288)):
        (tmp_path / "raw" / day).mkdir(parents=True)
        (tmp_path / "raw" / day / "host_a_org").write_text(text)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    name = f"{hashed('host_a_org')}_0"
    files = _files(borgtrace.open(tmp_path / "store"), tmp_path / "out")
    assert files == {
        f"20110303/{name}": [25, *[0] * 286, 100],
        f"20110304/{name}": [50] * 288,
    }


REQUESTS = """\
[tasks]
task = "task"
cpu_request = { column = "request", unit = "cores" }
"""


def test_days_begin_at_midnight_and_percentages_are_of_the_request(tmp_path: Path) -> None:
    declared = AVERAGES.replace('"relative"', '"epoch"') + REQUESTS
    first = BEFORE_MIDNIGHT
    usage = (
        "task,time,cpu\n"
        # Half of 4 cores, a quarter, one and a half of them, and a window that ends in the middle of five minutes.
        f"7,{first},2\n7,{first + 300},1\n7,{first + 600},6\n7,{first + 900},4\n7,{first + 1050},0\n"
        # No request: a share of the largest machine, which has 8 cores.
        f"9,{first + 600},2\n"
    )
    files = {"own.csv": usage, "tasks.csv": "task,request\n7,4\n"}
    store = ingest_own(tmp_path, declared, files)
    assert _files(store, tmp_path / "out") == {
        "20261101/7_0": [0] * 286 + [50, 25],
        "20261102/7_0": [100, 50] + [0] * 286,
        "20261102/9_0": [25] + [0] * 287,
    }
