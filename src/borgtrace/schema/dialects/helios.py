"""SenseTime's Helios traces of 2020: jobs that train networks on four GPU clusters, as Slurm saw them.

A log is of one cluster, whose ids are its own; which machines a job was on is not published.

Source: the README of S-Lab-System-Group/HeliosData.
"""

from borgtrace.schema.dialects.raw import RawField, RawTable
from borgtrace.schema.dialects.sacct import ENDS
from borgtrace.schema.dialects.trace_format import Citation, Conversion, Dialect
from borgtrace.schema.dialects.units import SECOND

LOG = RawTable(
    name="cluster_log",
    table="task_rows",
    fields=(
        RawField("job_id", "task", is_mandatory=True),
        RawField("user", "user"),
        RawField("vc", "app", is_mandatory=True),
        RawField("gpu_num", "gpus", is_mandatory=True),
        RawField("cpu_num", "cpu_request", is_mandatory=True),
        RawField("node_num"),
        RawField("state", "status", is_mandatory=True),
        RawField("submit_time", "submit", is_mandatory=True, zone="UTC"),
        RawField("start_time", "start", zone="UTC"),
        RawField("end_time", "end", zone="UTC"),
        RawField("duration", "run", scale=SECOND),
        RawField("queue"),
    ),
)

DIALECT = Dialect(
    name="helios",
    title="SenseTime Helios trace 2020",
    tables={LOG.name: LOG},
    codes={"event_type": ENDS},
    absent={"machine_id": "a job names no machine"},
    conversion=Conversion(clock="epoch", is_local=True, has_sizes=False),
    licence="The traces are published under CC-BY 4.0.",
    citations=(
        Citation(
            "Q. Hu, P. Sun, S. Yan, Y. Wen, T. Zhang: Characterization and Prediction of Deep Learning Workloads "
            "in Large-Scale GPU Datacenters. SC 2021.",
            "https://doi.org/10.1145/3458817.3476223",
        ),
    ),
)
