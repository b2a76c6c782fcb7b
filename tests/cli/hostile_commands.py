"""Command lines that meet hostile text: in a store, in the name of a store, in files of one's own."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from pathlib import Path
from typing import Any

from borgtrace.errors import harmless
from borgtrace.schema import TABLES
from tests.gpu_files import write_gpu_files
from tests.hostile import TEXT

FOLDER = "=1+1\x1b[31m\u202e'\";--"
"""The name of a store, and of a file."""
ONE_LINE = TEXT.replace("\r\n", " ").replace('"', "")
CSV = "--format=csv"
CAPACITY = "--capacity=8cores,32GiB"
QUESTIONS = ["machine_attributes", "machine_shapes", "platform_counters", "placement_limits"]
"""Questions whose answers hold names of the trace."""
NO_FOREIGN_TEXT = {
    "check": "runs code of the user, which may do more than print",
    "demo": "makes its own trace",
    "doctor": "looks at this machine",
    "explore": "prints its address; what its pages show is the browser's",
    "mcp": "needs a client: see tests/assistants",
    "fetch": "needs a server; its lines go through the same streams",
    "fetch prometheus": "needs a server: see tests/fetch/test_live_refusals.py",
    "synth": "makes its own trace",
    "views": "writes SQL about declared tables",
}
"""Commands that print no text of a file."""

CommandLine = list[Any]


def own_csv(folder: Path) -> Path:
    """Write usage of one's own, with hostile names of a column and of a task."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "time", "cpu", ONE_LINE])
    for start in range(0, 3_600, 300):
        writer.writerow([ONE_LINE, start, 1, ONE_LINE])
        writer.writerow(["web", start, 2, ONE_LINE])
    path = folder / f"{FOLDER}.csv"
    path.write_text(text.getvalue(), newline="")
    return path


def own_toml(folder: Path) -> Path:
    """Write a declaration in which a column has a hostile name that no file has."""
    path = folder / f"{FOLDER}.toml"
    path.write_text(
        'clock = "relative"\nstep = "300s"\n[usage]\ntask = "task"\n'
        'time = { column = "time", unit = "s" }\n'
        f'cpu = {{ column = "{harmless(ONE_LINE)}", unit = "cores", kind = "average" }}\n'
    )
    return path


def own_experiment(folder: Path) -> Path:
    """Write an experiment on a store of a hostile name."""
    path = folder / f"{FOLDER}-experiment.toml"
    path.write_text(f'policies = ["limit"]\nstores = {{ "{harmless(ONE_LINE)}" = "nowhere" }}\n')
    return path


def hostile_gpu_files(folder: Path) -> Path:
    """Write a list of pods of a hostile name, and a list of nodes with such names and a model of one."""
    files = write_gpu_files(folder / f"{FOLDER}-gpus")
    nodes = files / "openb_node_list_gpu_node.csv"
    text = nodes.read_text().replace("T4", ONE_LINE.replace(",", ""))
    # Packed: of CSV in this folder all is looked at that commands write.
    nodes.with_name(f"{nodes.name}.gz").write_bytes(gzip.compress(text.encode()))
    nodes.unlink()
    pods = files / "openb_pod_list_default.csv"
    pods.rename(files / f"openb_pod_list_{FOLDER}.csv")
    return files


def own_schedules(folder: Path) -> Path:
    """Write an experiment with a scheduler of a hostile name."""
    path = folder / f"{FOLDER}-schedules.toml"
    path.write_text(f'stores = ["nowhere"]\nschedulers.x = ["{harmless(ONE_LINE)}"]\n')
    return path


def command_lines(store: Path, raw: Path, work: Path) -> dict[str, list[CommandLine]]:
    """Return the command lines of each command that meets foreign text, by its name.

    Parameters
    ----------
    store, raw
        A store, and the files that it was made of.
    work
        An empty folder for what they read and write.
    """
    nowhere = work / FOLDER / "nowhere"
    twin = work / "twin" / FOLDER
    shutil.copytree(store, twin)
    return {
        **_commands_of_files(raw, work),
        "sql": _queries(store, nowhere),
        "info": [["info", store], ["info", store, "--json"], ["info", nowhere]],
        "trace": [
            ["trace", store, 1, 0],
            ["trace", store, TEXT, 0],
            ["trace", store, 1, 0, "--plot", work / f"{FOLDER}.html"],
        ],
        "machine": [["machine", store, 1], ["machine", store, 1, "--at=20m"]],
        "analyze": [["analyze", store, name] for name in QUESTIONS],
        "compare": [["compare", store, twin]],
        "dataset": [["dataset", store, work / FOLDER, "--min-length=1", "--format=npz"]],
        "export": [["export", store, work / FOLDER]],
        "forecast": [
            ["forecast", store, "--forecaster=persistence", "--folds=1"],
            ["forecast", nowhere, "--board=bitbrains_rnd/5T/short"],
        ],
        "simulate": [["simulate", store, "--policy=recorded"]],
        "simulate gpus": [
            ["simulate", "gpus", store],
            ["simulate", "gpus", nowhere],
            ["simulate", "gpus", hostile_gpu_files(work), "--runs=1"],
        ],
        "subset": [["subset", store, work / FOLDER, "--jobs=1"]],
        "merge": [["merge", store, twin, work / FOLDER]],
        "verify": [["verify", store]],
        # Of these, only messages hold foreign text.
        "compact": [["compact", nowhere]],
        "overcommit": [["overcommit", nowhere]],
        "overcommit target": [["overcommit", "target", nowhere]],
        "overcommit reclaim": [["overcommit", "reclaim", nowhere]],
        "overcommit recommend": [
            ["overcommit", "recommend", nowhere, "--cores-per-unit=64", "--gib-per-unit=256"]
        ],
        "overcommit explain": [["overcommit", "explain", nowhere, TEXT, "--at=20m"]],
        "experiment": [
            ["experiment", own_experiment(work), "--out", work / "lab"],
            ["experiment", own_schedules(work), "--out", work / "waits"],
        ],
        "reproduce": [
            ["reproduce", "reiss2012", store, "--only=table-1", "--out", work / "paper"],
            ["reproduce", TEXT, store],
            ["reproduce", "reiss2012", nowhere],
        ],
        "report": [["report", nowhere, work / "report.html"]],
    }


def _commands_of_files(raw: Path, work: Path) -> dict[str, list[CommandLine]]:
    own = own_csv(work)
    no_table = work / f"{FOLDER}.json"
    no_table.write_text(TEXT)
    moments = work / "moments.csv"
    moments.write_text(f"task,mean,std\n{ONE_LINE},0.1,0.1\n=1+1,0.1,0.1\n")
    return {
        "ingest": [
            ["ingest", raw, "--store", work / "again"],
            ["ingest", raw, "--store", work / "dry", "--dry-run"],
            ["ingest", own, CAPACITY, "--store", work / "own"],
            ["ingest", own, CAPACITY, "--store", work / "own", "--dialect", own_toml(work)],
            ["ingest", no_table, "--store", work / "none"],
        ],
        "advise": [
            [
                "advise",
                own,
                CAPACITY,
                "--yes",
                "--store",
                work / "advised",
                "--out",
                work / "advice.html",
            ]
        ],
        "dialect": [["dialect", "sniff", own], ["dialect", "sniff", no_table]],
        "colocate": [
            ["colocate", "--usage", own, CAPACITY, "--experiment=packing_base", "--instances=1"]
        ],
        "colocate place": [
            ["colocate", "place", "--usage", own, CAPACITY, "--placement", work / "of-usage.csv"],
            ["colocate", "place", "--moments", moments, "--placement", work / "of-moments.csv"],
        ],
        "colocate pool": [
            ["colocate", "pool", "--usage", own, CAPACITY, "--out", work / "own.pool"]
        ],
    }


def _queries(store: Path, nowhere: Path) -> list[CommandLine]:
    name = TEXT.replace('"', "")
    return [
        *(["sql", store, f"select * from {table}", "--rows=3"] for table in TABLES),
        ["sql", store, "select * from collection_events", CSV],
        ["sql", store, "select * from collection_events", "--format=json"],
        ["sql", store, f'select 1 as "{name}"'],
        # Messages of DuckDB quote what is wrong.
        ["sql", store, f'select "{name}" from tasks'],
        ["sql", store, f'select 1 from "{name}"'],
        ["sql", store, 'select "user"::int from collection_events'],
        ["sql", store, 'select error("user") from collection_events'],
        ["sql", nowhere, "select 1"],
    ]
