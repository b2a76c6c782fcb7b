"""Logs of jobs, invented in their documented formats."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

_GIB = 2**30

SWF = {
    "log.swf": "; Version: 2.2\n; MaxProcs: 128\n"
    " 1    10   5  100  32 -1 -1  32 -1 -1  1   7 -1  3 -1 -1 -1 -1\n"
    " 2    20  -1   -1  -1 -1 -1  -1 -1 -1 -1  -1 -1 -1 -1 -1 -1 -1\n"
    " 3    30   0   60  64 -1 -1  64 -1 -1  2   8 -1  4 -1 -1 -1 -1\n"
    " 3   100  20   40  64 -1 -1  64 -1 -1  3   8 -1  4 -1 -1 -1 -1\n"
}


SWF_HEADER = """\
; Version: 2.2
; Computer: a cluster, of 3 nodes
; UnixStartTime: 1027839845
; TimeZoneString: Europe/Stockholm
; MaxNodes: 3
; MaxProcs: 8 (3, 3 and 2)
;
"""
SWF_JOBS = """\
1  10  5 100 4 25.5 1024 4 200 2048 1 7 -1 3 1 1 -1 -1
2  20 -1  -1 2   -1   -1 2  -1   -1 5 8 -1 -1 1 1 -1 -1
"""

ALEA_NODES = (
    "0 1356996147 60 100 4 1 1024 4 300 4096 1 62 1 1 -1 1 1 1 {12,12,12,9} q_1d 2:ppn=2\n"
    "1 1356996150 0 -1356996150 1 1 1024 1 300 2048 1 62 1 1 -1 1 1 1 {9} q_1d\n"
    "2 1356996160 0 10 1 1 1024 1 300 2048 5 62 1 1 -1 1 1 1 {9} q_1d 1:ppn=1 more\n"
)

ALEA_GENERATED = """\
; Version: 1.0
; UnixStartTime: 1735689600
; number of jobs: 2
1 60 5 600 336 600 33554432 336 7200 33554432 1 0 0 -1 0 -1 -1 -1 6 600 all:excl:3x112
2 90 0 300 48 300 1048576 48 900 1048576 1 4 1 -1 1 -1 -1 -1 0 300 normal:excl:3x16
"""

PHILLY_JOBS = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "app_1",
        "user": "ann",
        "submitted_time": "2017-10-09 07:00:00",
        "attempts": [
            {
                "start_time": "2017-10-09 07:01:00",
                "end_time": "2017-10-09 07:02:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
            },
            {
                "start_time": "2017-10-09 07:05:00",
                "end_time": "2017-10-09 07:15:00",
                "detail": [
                    {"ip": "m1", "gpus": ["gpu0"]},
                    {"ip": "m2", "gpus": ["gpu4", "gpu5", "gpu6"]},
                ],
            },
        ],
    },
    {
        "status": "Killed",
        "vc": "ee9e8c",
        "jobid": "app_2",
        "user": "bob",
        "submitted_time": "2017-10-09 07:00:10",
        "attempts": [],
    },
    {
        "status": "Running",
        "vc": "b436b2",
        "jobid": "app_3",
        "user": "bob",
        "submitted_time": "2017-10-09 07:00:20",
        "attempts": [
            {
                "start_time": "2017-10-09 07:01:20",
                "end_time": "None",
                "detail": [{"ip": "m2", "gpus": ["gpu0"]}],
            }
        ],
    },
]
PHILLY_MACHINES = "machineId,number of GPUs, single GPU mem\nm1,2, 12GB\nm2,8, 24GB\n"

SACCT = """\
JobID|JobName|User|State|Submit|Start|End|Elapsed|AllocTRES|ReqMem|TotalCPU|MaxRSS|NodeList
123|train|ann|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T00:11:00|00:10:00|billing=4,cpu=4,gres/gpu=2,gres/gpu:a100=2,mem=4G,node=2|4G|00:20:00||gpu[01-02]
123.batch|batch||COMPLETED|2026-11-01T00:01:00|2026-11-01T00:01:00|2026-11-01T00:11:00|00:10:00|cpu=2,mem=2G,node=1||10:00.000|1G|gpu01
123.0|python||COMPLETED|2026-11-01T00:01:10|2026-11-01T00:01:10|2026-11-01T00:11:00|00:09:50|cpu=4,mem=4G,node=2||10:00.000|2097152K|gpu[01-02]
124_[3-9%2]|sweep|bob|PENDING|2026-11-01T00:02:00|Unknown|Unknown|00:00:00|||||None assigned
124_1|sweep|bob|RUNNING|2026-11-01T00:02:00|2026-11-01T00:03:00|Unknown|1-00:00:00|cpu=1,mem=1G,node=1|1G|00:00:00||gpu03
125+0|het|ann|CANCELLED by 1000|2026-11-01T00:03:00|2026-11-01T00:04:00|2026-11-01T00:04:00|00:00:00||||||None assigned
"""
SACCT = SACCT.replace("||||||None", "|||||None")

# The three rows of the publisher's README.
HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
    "1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n"
    "1425513,uzqls,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0\n"
)

PM100_START = datetime(2020, 5, 1, 10, tzinfo=UTC)
PM100 = {
    "job_id": [1, 2],
    "user_id": [7, 8],
    "job_state": ["COMPLETED", "OUT_OF_MEMORY"],
    "submit_time": [PM100_START, PM100_START],
    "start_time": [PM100_START.replace(minute=1), None],
    "end_time": [PM100_START.replace(minute=21), None],
    "run_time": [1200, 0],
    "num_cores_alloc": [128, 4],
    "num_gpus_alloc": [4, 0],
    "node_power_consumption": [[500, 700], [300]],
}

F_DATA = {
    "jid": ["job_1", "job_2"],
    "usr": ["usr_1", "usr_1"],
    "jnam": ["a", "b"],
    "cnumat": [48, 96],
    "adt": ["2021-03-01 00:00:00", "2021-03-01 00:00:10"],
    "sdt": ["2021-03-01 00:01:00", "2021-03-01 00:01:10"],
    "edt": ["2021-03-01 00:02:00", "2021-03-01 00:03:10"],
    "exit state": ["completed", "failed"],
    "duration": [60.0, 120.0],
    "embedding": [[0.5], [0.25]],
}

_NAMES = "id\tsubmit\twait\truntime\tcpus\tcputimeused\tusedmem\tcpusreq\twalltime\tmemreq\tstatus\tuser\tgroup"
_NAMES += "\tapplication\tqueue\tpartition\tprecjob\tthinktime\tDAG_name\tTask_ID\n"
_WORKFLOW_TASK = "1 20 0 1200 1 -1 3145728 1 1200 3145728 1 1 1 1 1 1 -1 0 DAG-1 1\n"
ALEA_WORKFLOWS = _NAMES + _WORKFLOW_TASK.replace(" ", "\t")


def sacct_json(release: str) -> str:
    """Return the first job of `SACCT` as JSON, as releases before and since 23.02 write numbers and states."""

    def number(value: float) -> Any:
        return {"set": True, "infinite": False, "number": value} if release == "new" else value

    unset = {"set": False, "infinite": False, "number": 0} if release == "new" else 0
    start = 1_793_491_260
    mem, cpu, node = (
        {"type": kind, "name": "", "id": place, "count": count}
        for place, (kind, count) in enumerate((("mem", 4096), ("cpu", 4), ("node", 2)))
    )
    gpus = [
        {"type": "gres", "name": "gpu", "id": 1001, "count": 2},
        {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 2},
    ]
    state = ["COMPLETED"] if release == "new" else "COMPLETED"
    steps = [
        {
            "step": {"id": {"job_id": 123, "step_id": step}, "name": step},
            "time": {
                "start": number(start) if release == "new" else start,
                "end": number(start + 600) if release == "new" else start + 600,
                "total": {"seconds": 600, "microseconds": 0},
            },
            "tres": {"requested": {"max": [{"type": "mem", "name": "", "id": 2, "count": used}]}},
        }
        for step, used in (("batch", _GIB), ("0", 2 * _GIB))
    ]
    job = {
        "job_id": 123,
        "array": {"job_id": 0, "task_id": unset},
        "het": {"job_id": 0, "job_offset": unset},
        "name": "train",
        "user": "ann",
        "nodes": "gpu[01-02]",
        "state": {"current": state, "reason": "None"},
        "time": {
            "submission": start - 60,
            "start": start,
            "end": start + 600,
            "elapsed": 600,
            "total": {"seconds": 1200, "microseconds": 0},
        },
        "tres": {"allocated": [mem, cpu, node, *gpus], "requested": [mem, cpu]},
        "steps": steps,
    }
    waiting = {
        "job_id": 130,
        "array": {"job_id": 124, "task_id": unset, "task": "3-9"},
        "name": "sweep",
        "state": {"current": ["PENDING"] if release == "new" else "PENDING"},
        "nodes": "None assigned",
        "time": {"submission": start, "start": 0, "end": 0, "elapsed": 0},
        "tres": {"allocated": [], "requested": [mem, cpu]},
    }
    return json.dumps(
        {"meta": {"Slurm": {"version": {"major": "23"}}}, "jobs": [job, waiting], "errors": []},
        indent=1,
    )
