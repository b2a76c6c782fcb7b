"""A cell typed by hand, one of hostile names, and clients that hold the cookie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import borgtrace
from borgtrace.explore.application import application
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.pyramid import pyramid
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import HASH, write_part

BASE = "http://127.0.0.1:8321"
TOKEN = "only-once"
CELL = {
    "machine_events": ["0,7,0,PLATFORM,0.5,0.25", "0,8,0,PLATFORM,1,1", "1500000000,8,1,,,"],
    "job_events": [
        f"600000000,,100,0,{HASH},2,{HASH},{HASH}",
        "610000000,,200,0,bob,0,name,logical",
    ],
    "task_events": [
        f"600000000,,100,0,,0,{HASH},2,9,0.25,0.125,0.001,0",
        f"600000000,,100,1,,0,{HASH},2,9,0.25,0.125,0.001,0",
        "610000000,,200,0,,0,bob,0,0,0.125,0.0625,0.001,0",
        "620000000,,200,0,8,1,bob,0,0,0.125,0.0625,0.001,0",
        f"650000000,,100,0,7,1,{HASH},2,9,0.25,0.125,0.001,0",
        "1200000000,,200,0,8,2,bob,0,0,0.125,0.0625,0.001,0",
        "1200000000,,200,0,,0,bob,0,0,0.125,0.0625,0.001,0",
        "1260000000,,200,0,7,1,bob,0,0,0.125,0.0625,0.001,0",
        f"1800000000,,100,0,7,4,{HASH},2,9,0.25,0.125,0.001,0",
    ],
    "task_constraints": [f"600000000,100,0,0,{HASH},b", f"600000000,100,1,0,{HASH},b"],
    "task_usage": [
        "600000000,900000000,100,0,7,0.125,0.0625,0.07,,,0.07,,,0.2,,2.5,0.01,1,0,0.15",
        "900000000,1200000000,100,0,7,0.25,0.0625,0.07,,,0.07,,,0.3,,2.5,0.01,1,0,0.25",
        "600000000,900000000,200,0,8,0.5,0.25,0.3,,,0.3,,,0.6,,2.5,0.01,1,0,0.55",
        "900000000,1050000000,200,0,8,0.25,0.25,0.3,,,0.3,,,0.5,,2.5,0.01,1,0,0.45",
        "1500000000,1800000000,200,0,7,0.0625,0.03125,0.04,,,0.04,,,0.1,,2.5,0.01,1,0,0.05",
    ],
}
"""Half an hour minus ten minutes, four slots of 300 s: production task 100:0 runs on machine 7 from 650 s until it
finishes, 100:1 waits for ever; free task 200:0 runs on machine 8, is evicted at 1200 s and goes on on machine 7 from
1260 s.  Machine 8 is removed at 1500 s."""
ATTACKS = (
    "<script>document.title='hacked'</script>",
    "<img src=x onerror=document.title='hacked'>",
    "</textarea></script><svg onload=document.title='hacked'>",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "'; DROP TABLE tasks; --",
    "javascript:document.title='hacked'",
    "../../etc/passwd%00%2e%2e?&#x3c;b",
    "&lt;script&gt;\u202egnp.exe 😈 \u0000".replace("\u0000", ""),
    "=HYPERLINK('http://x')",
    "a" * 300,
)
HOSTILE = tuple(f"{attack}{number}" for number in range(50) for attack in ATTACKS)
"""Five hundred names, each its own job's, user's and constraint's."""


def write_store(root: Path, raw: Mapping[str, Sequence[str]]) -> Path:
    """Write raw files and ingest them; return the store."""
    for table, lines in raw.items():
        write_part(root / "raw", table, lines, compressed=False)
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return root / "store"


def client_of(store: Path) -> TestClient:
    """Open a store and a client that has exchanged the token."""
    opened = borgtrace.open(store, memory="1GB")
    app = application(ExploredStore(opened, pyramid(opened)), TOKEN)
    client = TestClient(app, base_url=BASE)
    assert client.get(f"/?token={TOKEN}").status_code == 200
    return client


@pytest.fixture(scope="session")
def cell_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cell above."""
    return write_store(tmp_path_factory.mktemp("cell"), CELL)


@pytest.fixture(scope="session")
def cell(cell_store: Path) -> TestClient:
    """A client of it."""
    return client_of(cell_store)


@pytest.fixture(scope="session")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job and a task for each hostile name, which is its user, its names, and the value of its constraint."""
    names = list(
        enumerate((HASH, *HOSTILE), 1000)
    )  # by the first line a file is known for what it is
    raw = {
        "machine_events": [f"0,7,0,{HASH},0.5,0.25"],
        "job_events": [f"600000000,,{job},0,{name},2,{name},{name}" for job, name in names],
        "task_events": [
            f"{600000000 + job},,{job},0,7,1,{name},2,9,0.25,0.125,0.001,0" for job, name in names
        ],
        "task_constraints": [f"600000000,{job},0,0,{HASH},{name}" for job, name in names],
    }
    return write_store(tmp_path_factory.mktemp("hostile"), raw)


@pytest.fixture(scope="session")
def hostile_store_client(hostile_store: Path) -> TestClient:
    """A client of the store of hostile names."""
    return client_of(hostile_store)
