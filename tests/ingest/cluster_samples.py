"""Rows of published traces of clusters and VMs, invented in their documented formats."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema.time import SECOND

OPENB = {
    "openb_node_list_all_node.csv": "sn,cpu_milli,memory_mib,gpu,model\n"
    "n1,32000,262144,0,\nn2,128000,524288,8,G9\nn3,128000,524288,4,G7\n",
    "openb_pod_list_default.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "p1,64000,131072,8,1000,,LS,Succeeded,100,700,110\n"
    "p2,16000,262144,1,220,G8|G9,BE,Running,200,800,200\n"
    "p3,4000,4096,0,0,,Burstable,Pending,300,900,\n"
    "p4,4000,4096,1,1000,G9,LS,Failed,400,500,410\n"
    "p5,4000,4096,0,0,,LS,Running,450,,460\n"
    "p6,4000,4096,0,0,,LS,Running,470,1000,480\n",
}

V1, V2 = "a" * 40 + "+/==", "b" * 40 + "+/=="
AZURE = {
    "vmtable.csv": f"{V1},s1,d1,0,600,99,20,80,Interactive,4,32\n{V2},s1,d2,300,2591700,99,20,80,Unknown,>24,>64\n",
    "vm_cpu_readings-file-1-of-195.csv": f"0,{V1},1,50,25\n300,{V1},1,100,50\n300,{V2},0,90,10\n",
}

ALIBABA = {
    "machine_meta.csv": "m_1,0,1,7,96,100,USING\nm_2,3600,2,8,48,50,USING\nm_1,7200,1,7,96,-1,USING\n",
    "container_meta.csv": "c_1,m_1,0,app_7,started,400,800,1.5\nc_1,m_1,500,app_7,started,800,800,3\n"
    "c_2,m_2,100,app_8,started,1200,1200,101\n",
    "container_usage.csv": "c_1,m_1,10,25,50,1.5,,,,,3\nc_1,m_1,20,-1,101,-1,,,,,\nc_2,m_2,600,50,50,,0.2,1,0,0,101\n",
    "batch_task.csv": "M1,2,j_1,1,Terminated,100,400,100,0.5\nR2_1,1,j_1,1,Failed,400,500,50,0.25\n"
    "M5_1_2_9,1,j_1,1,Waiting,0,0,100,0.5\ntask_Nzg==,,j_1,2,Running,450,0,,\nM2,1,j_2,1,Terminated,0,50,200,1\n",
    "batch_instance.csv": "ins_9,M1,j_1,1,Failed,100,150,m_1,1,2,90,95,0.1,0.2\n"
    "ins_9,M1,j_1,1,Terminated,160,400,m_2,2,2,90,95,0.1,0.2\n"
    "ins_7,M1,j_1,1,Terminated,100,390,m_1,1,1,,,,\nins_3,M2,j_2,1,Terminated,0,50,m_1,1,1,,,,\n",
}

BITBRAINS_START = 1_376_314_800
"""Seconds since 1970: a multiple of 300."""
BITBRAINS_HEADER = (
    "Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%];\t"
    "Memory capacity provisioned [KB];\tMemory usage [KB];\tDisk read throughput [KB/s];\t"
    "Disk write throughput [KB/s];\tNetwork received throughput [KB/s];\tNetwork transmitted throughput [KB/s]"
)


def bitbrains(*lines: tuple[float, ...]) -> str:
    """Return a file of rows of (time, cores, MHz, MHz in use, KB, KB in use)."""
    text = BITBRAINS_HEADER + "\n"
    for time, cores, capacity, used, memory, used_memory in lines:
        share = 100 * used / capacity if capacity else 0.0
        values = (time, cores, capacity, used, share, memory, used_memory, 0.1, 2.0, 0.0, 1.5)
        text += ";\t".join(str(value) for value in values) + "\n"
    return text


VM_7 = [
    (BITBRAINS_START, 4, 10_000.0, 2_500.0, 4_194_304.0, 1_048_576.0),
    (BITBRAINS_START + 300, 4, 10_000.0, 12_000.0, 4_194_304.0, 0.0),
    # Switched off, then larger.
    (BITBRAINS_START + 600, 0, 0.0, 0.0, 0.0, 0.0),
    (BITBRAINS_START + 899, 8, 20_000.0, 5_000.0, 8_388_608.0, 2_097_152.0),
]

CPU_OF_VMS = {
    "vm": pa.array([1, 1, 2], pa.int16()),
    "time": pa.array([BITBRAINS_START, BITBRAINS_START + 300, BITBRAINS_START], pa.int32()),
    "cpu_mhz": [2_600.0, 0.0, 650.0],
    "cpu_pct": [50.0, 0.0, 25.0],
}

TAIL = range(91, 100)
PERCENTILES = [*range(0, 91, 10), *TAIL]
CRF_ROWS = [
    # time, collection, instance, machine, CPU, memory, largest CPU, p0, further ones, memory limit, CPU limit
    (600, 5, 0, 9, 0.25, 0.125, 0.5, 0.0, 0.25, 0.5, 0.5),
    (900, 5, 0, 9, 0.5, 0.125, 0.75, 0.0, 0.25, 0.5, 0.5),
    (1150, 5, 0, 0, 0.5, 0.125, 0.75, -1.0, -1.0, 0.5, 0.75),
]


def crf_text() -> str:
    """Return rows of the Cluster Resource Forecast project."""
    names = [f"p{percentile}_cpu_usage" for percentile in PERCENTILES]
    lines = [
        "time,unique_id,collection_id,instance_index,priority,machine_id,avg_cpu_usage,avg_memory_usage,"
        f"max_cpu_usage,{','.join(names)},memory_limit,cpu_limit"
    ]
    for seconds, job, instance, machine, cpu, memory, largest, p0, others, *limits in CRF_ROWS:
        percentiles = [p0, *[others] * (len(PERCENTILES) - 1)]
        task = [f"{job}-{instance}", job, instance, 200, machine]
        values = [seconds * SECOND, *task, cpu, memory, largest, *percentiles, *limits]
        lines.append(",".join(map(str, values)))
    return "\n".join(lines) + "\n"


def packing_database(tables: Sequence[str] = ("vm", "vmType")) -> bytes:
    """Return the database of Azure's packing trace with some of its tables."""
    with closing(sqlite3.connect(":memory:")) as database:
        if "vm" in tables:
            database.execute(
                "CREATE TABLE vm (vmId INT, tenantId INT, vmTypeId INT, priority INT, starttime REAL, endtime REAL)"
            )
            database.executemany(
                "INSERT INTO vm VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (1, 50, 7, 0, -12.5, 0.5),
                    (2, 50, 7, 1, 0.25, None),
                    (3, 51, 8, 0, 1.0, 1.5),
                ],
            )
        if "vmType" in tables:
            database.execute(
                "CREATE TABLE vmType (id INT, vmTypeId INT, machineId INT, core REAL, memory REAL, hdd REAL, ssd REAL, "
                "nic REAL)"
            )
            database.executemany(
                "INSERT INTO vmType VALUES (?, ?, ?, ?, ?, NULL, 0.1, NULL)",
                [(1, 7, 0, 0.5, 0.25), (2, 7, 1, 0.25, 0.125), (3, 8, 0, 1.0, None)],
            )
        database.execute("CREATE TABLE notes (text TEXT)")
        database.commit()
        return database.serialize()


JOB, USER, MACHINE = "4b3f04b66a525d2df903eb16", "58540f191766", "82e5af3cd5c4af3f56c62c54"
WORKERS = ["a" * 60, "b" * 60]
ALIBABA_2017 = (
    "10718,12897,15,64,2003,Terminated,50,0.016\n"
    "-10,0,4,7,393,Waiting,,\n"
    "300,900,4,8,1,Failed,100,0.5\n"
)

PAI = {
    "pai_machine_spec.csv": f"{MACHINE},T4,96,512,2\n",
    "pai_job_table.csv": f"{JOB},{'c' * 60},{USER},Terminated,900.0,2000.0\n",
    "pai_task_table.csv": f"{JOB},worker,2.0,Terminated,1000.0,2000.0,4800.0,256.0,50.0,T4\n",
    "pai_instance_table.csv": f"{JOB},worker,{'d' * 60},{WORKERS[0]},{'c' * 60},Terminated,1000.0,1900.0,{MACHINE}\n"
    f"{JOB},worker,{'e' * 60},{WORKERS[1]},{'c' * 60},Failed,1200.0,2000.0,{MACHINE}\n",
    "pai_sensor_table.csv": f"{JOB},worker,{WORKERS[0]},{'c' * 60},{MACHINE},/dev/nvidia0,2400.0,16.0,64.0,128.0,"
    "1,2,3,4,5,6\n"
    # One row for each GPU of a worker, and one of a worker that no row is about.
    f"{JOB},worker,{WORKERS[1]},{'c' * 60},{MACHINE},/dev/nvidia0,1200.0,16.0,32.0,64.0,1,2,3,4,5,6\n"
    f"{JOB},worker,{WORKERS[1]},{'c' * 60},{MACHINE},/dev/nvidia1,1200.0,20.0,32.0,64.0,1,2,3,4,5,6\n"
    f"{JOB},worker,{'f' * 60},{'c' * 60},{MACHINE},/dev/nvidia1,100.0,20.0,1.0,1.0,1,2,3,4,5,6\n",
    "pai_group_tag_table.csv": f"{'c' * 60},{USER},V100M32,{'e' * 32},nmt\n",
    "pai_machine_metric.csv": f"{WORKERS[0]},{MACHINE},1000,1900,0.1,3.5,14.9,87.8,18.2,1.0,5.0,18.5\n",
}

_DAY_OF_A_VM = [25] + [0] * 286 + [100]
PLANETLAB = "".join(f"{percentage}\n" for percentage in _DAY_OF_A_VM)

OPENDC_START = 1_793_491_200
"""Seconds since 1970: a multiple of 300."""
_MOMENT = pa.timestamp("ms", "UTC")
OPENDC_TASKS = {
    "id": pa.array([7, 9], pa.int32()),
    "name": ["web", None],
    "submission_time": pa.array([OPENDC_START * 1000, (OPENDC_START + 90) * 1000], _MOMENT),
    "duration": [90_000, 60_000],
    "cpu_count": pa.array([4, 2], pa.int32()),
    "cpu_capacity": [10_000.0, 6_000.0],
    "mem_capacity": [8_000_000, 4_000_000],
}
OPENDC_FRAGMENTS = {
    "id": pa.array([7, 7, 9, 7], pa.int32()),
    "duration": [30_000, 30_000, 60_000, 30_000],
    "cpu_usage": [2_500.0, 0.0, 6_000.0, 12_000.0],
}
OPENDC_21_META = {
    "id": ["a"],
    "start_time": [OPENDC_START * 1000],
    "stop_time": [(OPENDC_START + 600) * 1000],
    "cpu_count": [4],
    "cpu_capacity": [10_000.0],
    "mem_capacity": [8_000_000],
}
# In no order, and with a gap.
OPENDC_21_TRACE = {
    "id": ["a", "a"],
    "timestamp": [(OPENDC_START + 600) * 1000, (OPENDC_START + 200) * 1000],
    "duration": [300_000, 200_000],
    "cpu_count": [4, 4],
    "cpu_usage": [2_500.0, 5_000.0],
}
OPENDC_2020_META = {
    "id": ["a"],
    "submissionTime": pa.array([OPENDC_START * 1000], _MOMENT),
    "endTime": pa.array([(OPENDC_START + 600) * 1000], _MOMENT),
    "maxCores": [4],
    "requiredMemory": [8_000_000],
}
OPENDC_2020_TRACE = {
    "id": ["a", "a"],
    "time": pa.array([(OPENDC_START + 300) * 1000, (OPENDC_START + 600) * 1000], _MOMENT),
    "duration": [300_000, 300_000],
    "cores": [4, 4],
    "cpuUsage": [2_600.0, 0.0],
    "flops": [1, 1],
}


def parquet_of(columns: Mapping[str, Any]) -> bytes:
    """Return a Parquet file of some columns."""
    buffer = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), buffer)
    return buffer.getvalue()
