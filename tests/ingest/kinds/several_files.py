"""Several files that are one table or one cluster, and folders as Spark and Hive write them."""

from __future__ import annotations

from tests.ingest.kinds.kind import MIDNIGHT, InputKind, cpu_entry
from tests.ingest.packed_samples import CONTAINERS
from tests.ingest.shaped_samples import CLUSTER

SEVERAL = "Several files, and folders"
_HALF = "pod,time,cpu_cores\nweb,{first},{cpu}\nweb,{second},1\n"
_PARTS = {
    "0.csv": _HALF.format(first=0, second=300, cpu=2),
    "1.csv": _HALF.format(first=600, second=900, cpu=4),
}
_ROWS = "pod,timestamp,cpu\n" + "".join(
    f"web,{MIDNIGHT + 300 * slot},{cpu}\n" for slot, cpu in enumerate((2, 1, 2))
)
_HOUR = "pod,cpu\nweb,{cpu}\n"

KINDS = (
    InputKind(SEVERAL, "parts of one table", _PARTS, cpu_entry("cpu_cores", "cores")),
    InputKind(
        SEVERAL,
        "usage, and pods and nodes in files of their own",
        CLUSTER,
        {
            "usage.task": ["namespace", "pod", "container"],
            "tasks.task": ["namespace", "pod"],
            "tasks.cpu_request": {"column": "cpu_request", "unit": "quantity"},
            "machines.cpu": {"column": "cpu", "unit": "cores"},
        },
    ),
    InputKind(
        SEVERAL,
        "CPU and memory in two tables of usage",
        {
            "cpu.csv": _PARTS["0.csv"],
            "memory.csv": "pod,time,memory_bytes\nweb,0,1\nweb,300,2\n",
        },
        {"usage.memory": {"column": "memory_bytes", "unit": "bytes", "kind": "average"}},
    ),
    InputKind(
        SEVERAL,
        "CPU and memory at other times",
        {
            "cpu.csv": _PARTS["0.csv"],
            "memory.csv": "pod,time,memory_bytes\nweb,7,1\nweb,307,2\n",
        },
        refusal="no row has the task and the time of a row of cpu.csv",
    ),
    InputKind(
        SEVERAL,
        "pods and nodes without usage",
        {"pods.csv": CLUSTER["pods.csv"], "nodes.csv": CLUSTER["nodes.csv"]},
        refusal="no usage of tasks, and no times of their lives",
    ),
    InputKind(
        SEVERAL,
        "a folder of Spark, with `_SUCCESS`",
        {"usage/part-00000.parquet": CONTAINERS["own.parquet"], "usage/_SUCCESS": ""},
        cpu_entry("cpu", "cores"),
    ),
    InputKind(
        SEVERAL,
        "a folder for each cluster, as Hive has them",
        {f"usage/cluster={name}/part-0.csv": _ROWS for name in "ab"},
        {"usage.task": ["cluster", "pod"]},
    ),
    InputKind(
        SEVERAL,
        "a folder for each hour, and rows without times",
        {
            f"usage/date=2026-11-01/hour={hour:02}/part-0.csv": _HOUR.format(cpu=cpu)
            for hour, cpu in enumerate((2, 4, 1))
        },
        {"usage.task": "pod"},
    ),
)
