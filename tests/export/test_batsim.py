"""Files for Batsim, by hand, by the rules of its readers, and as SimGrid itself reads the platform.

The rules are those of `docs/input-workload.rst` and of `Job::from_json` and `Profile::from_json` (oar-team/batsim,
version 4), restated.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from borgtrace.errors import UsageError
from borgtrace.export import LedgerLine, export_files
from tests.export.cell import SIZE, cell_of_2011, synthetic
from tests.export.stores import text_store
from tests.ingest.cluster_samples import AZURE

SYSTEM_PYTHON = Path("/usr/bin/python3")
"""Where Debian's python3-simgrid can be imported."""
COUNT_HOSTS = """
import sys, simgrid
engine = simgrid.Engine(["count"])
engine.load_platform(sys.argv[1])
print(len(engine.all_hosts), sorted(host.name for host in engine.all_hosts)[-1])
"""


def read_workload(path):
    """Read a workload as Batsim does: what it would refuse fails here."""
    workload = json.loads(path.read_text())
    assert isinstance(workload["nb_res"], int)
    assert workload["nb_res"] > 0
    for profile in workload["profiles"].values():
        assert profile["type"] == "delay"
        # "invalid 'delay': should be strictly positive"
        assert profile["delay"] > 0
    ids = set()
    for job in workload["jobs"]:
        assert isinstance(job["id"], str)
        # Batsim puts the name of the workload and this sign before it.
        assert "!" not in job["id"]
        assert job["id"] not in ids
        ids.add(job["id"])
        assert isinstance(job["res"], int)
        assert job["res"] > 0
        assert job["subtime"] >= 0
        assert job["profile"] in workload["profiles"]
    return workload


def test_attempts_are_jobs_and_cores_are_hosts(tmp_path):
    exported = export_files(cell_of_2011(tmp_path), tmp_path / "out", "batsim", SIZE)
    assert read_workload(tmp_path / "out" / "workload.json") == {
        # 32 + 32 + 64 cores.
        "nb_res": 128,
        "jobs": [
            {
                "id": "1-0-1",
                "subtime": 0.0,
                "res": 32,
                "profile": "delay-100",
                "extra_data": '{"memory_bytes": 68719476736}',
            },
            # 0.001 of 64 cores are a part of one.
            {
                "id": "2-0-1",
                "subtime": 50.0,
                "res": 1,
                "profile": "delay-10",
                "extra_data": '{"memory_bytes": 27487790}',
            },
            # From 680 s to the last event of the trace at 1,000 s.
            {
                "id": "2-0-2",
                "subtime": 70.000007,
                "res": 1,
                "profile": "delay-320",
                "extra_data": '{"memory_bytes": 27487790}',
            },
        ],
        "profiles": {
            "delay-10": {"type": "delay", "delay": 10},
            "delay-100": {"type": "delay", "delay": 100},
            "delay-320": {"type": "delay", "delay": 320},
        },
    }
    platform = ElementTree.parse(tmp_path / "out" / "platform.xml").getroot()
    hosts = [host.get("id") for host in platform.iter("host")]
    assert hosts[:2] == ["master_host", "m5-0"]
    assert len(hosts) == len(set(hosts)) == 1 + 128
    machines = [prop.get("value") for prop in platform.iter("prop")]
    assert [machines.count(machine) for machine in ("5", "7", "8")] == [32, 64, 32]
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
    store = synthetic(tmp_path, generation)
    exported = export_files(store, tmp_path / "out", "batsim", SIZE)
    workload = read_workload(tmp_path / "out" / "workload.json")
    attempts, machines = exported.ledger
    assert len(workload["jobs"]) == attempts.written > 100
    times = [job["subtime"] for job in workload["jobs"]]
    assert times == sorted(times)
    # Nothing is lost: a SUBMIT begins an attempt, as does what ran before the trace.
    swf = export_files(store, tmp_path / "swf", "swf", SIZE)
    assert attempts.written + sum(attempts.left_out.values()) == swf.rows
    n_machines = store.sql("select count(distinct machine_id) as n from machine_events")
    assert machines.written + sum(machines.left_out.values()) == n_machines["n"][0].as_py()


@pytest.mark.wide
def test_simgrid_reads_the_platform(tmp_path):
    if not SYSTEM_PYTHON.exists():
        pytest.skip("needs Debian's Python, for its package python3-simgrid")
    has_simgrid = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import simgrid"], capture_output=True, check=False
    )
    if has_simgrid.returncode:
        pytest.skip("needs Debian's package python3-simgrid")
    export_files(cell_of_2011(tmp_path), tmp_path / "out", "batsim", SIZE)
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", COUNT_HOSTS, tmp_path / "out" / "platform.xml"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "129 master_host\n"


@pytest.mark.parametrize("layout", ["batsim", "alea", "kwok"])
def test_a_store_without_machines_is_refused(tmp_path, layout):
    store = text_store(tmp_path, AZURE, "64cores,256GiB")
    with pytest.raises(UsageError) as caught:
        export_files(store, tmp_path / "out", layout, SIZE)
    assert str(caught.value) == (
        f"--layout {layout}: the store has no machine with a capacity; --layout swf and opendc need no machines"
    )
    assert not (tmp_path / "out").exists()
