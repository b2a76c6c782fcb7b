"""Every command that shows machines, tasks or amounts says them as their owner does: names, cores, wall clock."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from borgtrace.cli import main
from borgtrace.cli.app import COMMANDS
from tests.ingest.own_data import hashed, ingest_own
from tests.printed import shown

NODE = hashed("node-01")
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
POLICIES = ("--policy", "limit", "--policy", "katalyst-realtime", "--horizon", "30m")
PACKING = ("--experiment", "packing_advice", "--tasks", "12", "--size", "6", "--instances", "2")
FAMILY: dict[str, tuple[list[str], list[str]]] = {
    "info": ([], ["largest machine: 16 cores, 64 GiB", "2026-11-01 00:00:00 UTC"]),
    "machine": (
        ["node-01"],
        [
            f"machine node-01 ({NODE}) at the end: up, 16 cores, 64 GiB\n",
            "CPU (cores) memory (GiB)",
            # Four of the eight pods use half a core and a GiB each.
            "2026-11-01 00:00 UTC 0 4 2 4",
            "CPU 12.5 % used; memory 6.25 % used",
        ],
    ),
    "machine --at": (
        ["node-01", "--at", "2026-11-01T01:00"],
        [
            "at 2026-11-01 01:00 UTC, 1 h after the start: up, 16 cores, 64 GiB",
            "CPU requested (cores)",
            "web-6",
            "CPU 12.5 % used, 25 % requested; memory 6.25 % used, 12.5 % requested",
        ],
    ),
    "trace": (
        ["web-7"],
        [
            f"task web-7 ({hashed('web-7')}:0) of alice: 24 windows",
            "CPU mean (cores)",
            "memory mean (GiB)",
            "2026-11-01 00:05:00 UTC 0.08333 300 0.5",
        ],
    ),
    "overcommit": ([*POLICIES], ["katalyst-realtime"]),
    "overcommit explain": (
        ["node-01", "--at", "2026-11-01T01:00", *POLICIES],
        [
            f"machine node-01 ({NODE}) at 2026-11-01 01:00 UTC, 1 h after the start",
            "CPU (cores)",
            "memory (GiB)",
            # The limits of four pods of one core and two GiB.
            "sum of the limits 4",
            "sum of the limits 8",
        ],
    ),
    "overcommit recommend": (["--recommender", "vpa"], ["of the time above"]),
    "compact": (
        ["--what-if", "limits", "--seeds", "1"],
        ["At 2026-11-01 00:00 UTC, 0 h after the start"],
    ),
    "colocate": ([*PACKING], ["A machine of capacity 1 is the largest one: 16 cores, 64 GiB."]),
    "subset": (["OUT", "--machines", "node-01"], ["tasks: 4 rows"]),
}
"""What follows the store on the command line, and what must then be read."""
ELSEWHERE = {
    "advise": "has tests of its own",
    "explore": "has pages",
    "mcp": "answers an assistant, with stored names and units",
    "report": "has pages",
    "reproduce": "has pages",
    "demo": "makes a cell without names",
    "synth": "makes a cell without names",
    "sql": "shows what is stored, as the query asks",
    "dataset": "writes files for programs",
    "export": "writes files for programs",
    "simulate": "compares policies by times and counts",
    "forecast": "compares forecasters by errors",
    "analyze": "prints the answers of questions, whose columns keep their units",
    "compare": "prints distances",
}
"""Commands that read a store, and why they are not here; the others show no machine, task or amount."""
NO_STORE = {
    "check",
    "dialect",
    "doctor",
    "experiment",
    "fetch",
    "ingest",
    "merge",
    "verify",
    "views",
}


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hours of eight pods on two nodes: each uses half a core and one GiB, and asks for twice as much."""
    lines = ["pod,time,node,cpu,memory,cpu_request,memory_request,user,priority"]
    for slot in range(24):
        for pod in range(8):
            time = f"2026-11-01T{slot // 12:02}:{slot % 12 * 5:02}:00Z"
            lines.append(f"web-{pod},{time},node-0{pod % 2 + 1},0.5,1,1,2,alice,200")
    files = {
        "usage.csv": "\n".join(lines) + "\n",
        "nodes.csv": "node,cores,gib\nnode-01,16,64\nnode-02,8,32\n",
    }
    folder = tmp_path_factory.mktemp("own")
    return ingest_own(folder, DECLARATION, files, capacity="").path


def printed(words: list[Any]) -> str:
    """Return what a command prints on a terminal, with one blank between the cells of a row."""
    with shown() as streams, pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    text = streams.out.text() + streams.err.text()
    assert ended.value.code == 0, text
    return re.sub(" +", " ", text)


@pytest.mark.parametrize("name", FAMILY)
def test_a_command_says_names_and_cores(
    name: str,
    own_cluster: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    # A dumb terminal has 80 columns, unless both are set.
    monkeypatch.setenv("LINES", "50")
    monkeypatch.setenv("TERM", "dumb")
    words, expected = FAMILY[name]
    command = name.removesuffix(" --at").split()
    out = tmp_path / "out"
    text = printed([*command, own_cluster, *(out if word == "OUT" else word for word in words)])
    for part in expected:
        assert part in text
    # The digest of a store is no id; an id stands in brackets behind its name.
    without_digest = re.sub(r"digest \w+", "", text)
    assert not re.search(r"(?<![(\d])\d{15,}", without_digest)


def test_the_family_is_whole() -> None:
    here = {name.removesuffix(" --at") for name in FAMILY}
    known = here | set(ELSEWHERE) | NO_STORE
    others = {name for name in COMMANDS if name not in known}
    # What has modes is known by one of them.
    assert {name for name in others if name.split()[0] not in known} == set()
    assert here <= set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["machine", "STORE", "node"],
            "machine: more than one is meant: expected an id, a name, or how one begins, "
            "got node, which fits 2; name one, such as node-01 or node-02",
        ),
        (
            ["trace", "STORE", "db"],
            "JOB: nothing has this name: expected an id, a name, or how one begins, got db",
        ),
        (
            ["overcommit", "explain", "STORE", "node-3", "--at", "1h"],
            "MACHINE: nothing has this name: expected an id, a name, or how one begins, got node-3",
        ),
        (
            ["subset", "STORE", "out", "--user", "bob"],
            "--user: nothing has this name: expected a user's name, or how one begins, got bob",
        ),
    ],
)
def test_a_name_that_is_none_is_refused(
    words: list[str],
    problem: str,
    own_cluster: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(own_cluster) if word == "STORE" else word for word in words])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"borgtrace: {problem}"


def test_a_policy_with_buckets_of_cores_takes_the_size_from_the_store(own_cluster: Path) -> None:
    text = printed(
        [
            "overcommit",
            own_cluster,
            "--policy",
            "koordinator-prod",
            "--horizon",
            "30m",
            "--resource",
            "cpu",
        ]
    )
    assert "koordinator-prod" in text
