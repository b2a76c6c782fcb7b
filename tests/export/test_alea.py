"""Files for Alea, by hand and by the rules of its readers.

`SWFLoader`, `MachineLoader` and `FailureLoaderNew` in `Alea/src/xklusac/environment` (aleasimulator/alea), restated.
"""

from __future__ import annotations

import pytest

from borgtrace.export import LedgerLine, export_files
from tests.export.cell import SIZE, cell_of_2011, synthetic

JOBS = "fairshare.swf"
INT_END = 2**31


def read_jobs(path):
    """Read jobs as SWFLoader does: id, arrival, length, nodes, processors of each, KB of a node, queue."""
    assert any(word in path.name for word in ("wagap", "meta", "ncbr", "fairshare"))
    is_in_bytes = any(word in path.name for word in ("zewura", "wagap", "meta", "ncbr"))
    assert not is_in_bytes
    jobs = []
    start = None
    for line in path.read_text().splitlines():
        values = line.split()
        # It stops where there are 20, as it reads the last one then.
        assert len(values) == 21
        numbers = [int(values[place]) for place in (0, 1, 3, 4, 8)]
        assert all(-INT_END <= number < INT_END for number in numbers)
        # Such lines are no jobs.
        assert "-1" not in (values[1], values[3], values[4])
        number, submitted, length, processors, _ = numbers
        start = submitted if start is None else start
        per_node = int(values[20].split(":ppn=")[1])
        n_nodes = processors // per_node
        assert n_nodes * per_node == processors
        jobs.append(
            (number, submitted - start, length, n_nodes, per_node, int(values[9]), values[19])
        )
    assert len({job[0] for job in jobs}) == len(jobs)
    return jobs


def read_machines(path):
    """Read clusters as MachineLoader does: by name, machines, processors and KB of each."""
    clusters = {}
    for line in path.read_text().splitlines():
        number, name, machines, processors, speed, kilobytes = line.split("\t")
        assert int(number) == len(clusters)
        assert int(speed) == 1
        clusters[name] = (int(machines), int(processors), int(kilobytes))
    return clusters


def read_failures(path, clusters):
    """Read failures as FailureLoaderNew does: cluster, time, seconds, machines."""
    failures = []
    for line in path.read_text().splitlines():
        time, name, seconds, machines = line.split("\t")
        places = [int(machine) for machine in machines.split(" ")]
        assert all(0 <= place < clusters[name][0] for place in places)
        failures.append((name, int(time), int(seconds), places))
    times = [failure[1] for failure in failures]
    assert times == sorted(times)
    assert min(times, default=0) >= 0
    return failures


def test_jobs_machines_and_failures(tmp_path):
    exported = export_files(cell_of_2011(tmp_path), tmp_path / "out", "alea", SIZE)
    # 0.25 of 256 GiB are 64 GiB; the third runs on to the end of the trace.
    gib = 2**20
    assert read_jobs(tmp_path / "out" / JOBS) == [
        (1, 0, 100, 1, 32, 64 * gib, "production"),
        (2, 50, 10, 1, 1, 26844, "free"),
        (3, 70, 320, 1, 1, 26844, "free"),
    ]
    clusters = read_machines(tmp_path / "out" / f"{JOBS}.machines")
    assert clusters == {"shape0": (2, 32, 64 * gib), "shape1": (1, 64, 256 * gib)}
    # Machine 5 is the first of its shape and away from 800 to 900 s; machine 7 comes at 700 s.
    assert read_failures(tmp_path / "out" / f"{JOBS}.failures", clusters) == [
        ("shape1", 0, 100, [0]),
        ("shape0", 200, 100, [0]),
    ]
    assert exported.ledger == (
        LedgerLine(
            what="attempts",
            written=3,
            left_out={"that never started": 1, "without a length": 1},
            cut=1,
        ),
        LedgerLine(what="machines", written=3, left_out={"without a capacity": 1}),
    )


@pytest.mark.wide
@pytest.mark.parametrize("generation", ["2011", "2019"])
def test_what_is_made_of_a_cell_is_taken(tmp_path, generation):
    exported = export_files(synthetic(tmp_path, generation), tmp_path / "out", "alea", SIZE)
    jobs = read_jobs(tmp_path / "out" / JOBS)
    attempts, machines = exported.ledger
    assert len(jobs) == attempts.written > 100
    arrivals = [job[1] for job in jobs]
    assert arrivals == sorted(arrivals)
    clusters = read_machines(tmp_path / "out" / f"{JOBS}.machines")
    assert sum(cluster[0] for cluster in clusters.values()) == machines.written
    read_failures(tmp_path / "out" / f"{JOBS}.failures", clusters)
