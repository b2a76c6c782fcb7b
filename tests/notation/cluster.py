"""A cluster that its owner names: two nodes of two sizes, a pod of three, and a batch of tasks."""

from __future__ import annotations

from pathlib import Path

from borgtrace.store import Store
from tests.ingest.own_data import ingest_own

DECLARATION = """\
clock = "epoch"
step = "5m"
[usage]
task = ["namespace", "pod", "container"]
time = { column = "time", unit = "iso" }
machine = "node"
cpu = { column = "cpu", unit = "cores", kind = "average" }
memory = { column = "memory", unit = "GiB", kind = "average" }
user = "user"
app = "app"
[machines]
machine = "node"
cpu = { column = "cores", unit = "cores" }
memory = { column = "gib", unit = "GiB" }
"""
NODES = "node,cores,gib\nnode-01,16,64\nnode-02,8,32\n"
PODS = (
    ("shop,web-0,app", "web", "alice"),
    ("shop,web-0,log", "web", "alice"),
    ("shop,web-01,app", "web", "alice"),
    ("shop,db,main", "db", "bob"),
    ("shop,100%,main", "db", "bobby"),
)
"""Names, owner and user."""


def named_cluster(folder: Path) -> Store:
    """Return a store of half an hour: each pod takes a core and two GiB on node-01 from 00:00 UTC."""
    lines = ["namespace,pod,container,time,node,cpu,memory,user,app"]
    for name, app, user in PODS:
        for minute in range(0, 30, 5):
            lines.append(f"{name},2026-11-01T00:{minute:02}:00Z,node-01,1,2,{user},{app}")
    files = {"usage.csv": "\n".join(lines) + "\n", "nodes.csv": NODES}
    return ingest_own(folder, DECLARATION, files, capacity="")
