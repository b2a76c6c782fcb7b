"""Published formats, job logs and traces of VMs: a few rows of each, and what a store of them holds."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.ingest import cluster_samples as clusters
from tests.ingest import job_samples as jobs
from tests.ingest.cluster_samples import parquet_of
from tests.ingest.kinds.kind import InputKind
from tests.ingest.raw import TABLES as ROWS_OF_2011
from tests.ingest.raw import event_record, usage_record
from tests.ingest.sample_files import sample_tables

GOOGLE = "Google's traces, and rows of them in other forms"
CLUSTERS = "Traces of clusters and VMs"
LOGS = "Job logs"
_NO_ROW = "no row can be stored without another table"
Files = Mapping[str, str | bytes]


def _tables_of_2011() -> Files:
    return {
        f"{table}/part-00000-of-00500.csv": "".join(f"{line}\n" for line in lines)
        for table, lines in ROWS_OF_2011.items()
    }


def _typed(format_name: str, file_format: str, n_rows: int = 1) -> Files:
    """Return rows of each table of a format as its declaration types them."""
    samples = [each for each in sample_tables(format_name) if each.format == file_format]
    return {
        sample.file_name: sample.content([sample.row(number + 1) for number in range(n_rows)])
        for sample in samples
    }


def _read(
    group: str,
    title: str,
    format_name: str,
    files: Files,
    capacity: str = "",
    **stored: int,
) -> InputKind:
    return InputKind(group, title, files, format=format_name, stored=stored, capacity=capacity)


def _refused(group: str, title: str, format_name: str, files: Files, refusal: str) -> InputKind:
    return InputKind(
        group, title, files, format=format_name, refusal=refusal, capacity="64cores,256GiB"
    )


VM = clusters.V1
ONE_VM_OF_2017 = f"{VM},s1,d1,300,900,99,20,80,Interactive,2,3.5\n"
READINGS = f"300,{VM},1,50,25\n600,{VM},1,100,50\n"
JOBS_OF_PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:00,60,2,120,a\n"

KINDS = (
    _read(
        GOOGLE,
        "2011: its six tables",
        "2011",
        _tables_of_2011(),
        machine_events=1,
        collection_events=1,
        tasks=1,
        instance_usage=1,
    ),
    _read(
        GOOGLE,
        "2019: JSON lines as BigQuery exports them (Parquet too)",
        "2019",
        {
            "instance_events-000000000000.json": json.dumps(event_record()) + "\n",
            "instance_usage-000000000000.json": json.dumps(usage_record()) + "\n",
        },
        tasks=1,
        instance_usage=1,
    ),
    _read(
        GOOGLE,
        "2019 with flat columns (CSV, JSON lines, Parquet)",
        "flat-2019",
        _typed("flat-2019", "csv"),
        machine_events=1,
        tasks=1,
        instance_usage=1,
    ),
    _read(
        GOOGLE,
        "2019: one table of all, as on Kaggle",
        "kaggle-2019",
        {"borg_traces_data.csv": list(_typed("kaggle-2019", "kaggle").values())[-1]},
        collection_events=1,
        tasks=1,
        instance_usage=1,
    ),
    _read(
        GOOGLE,
        "rows of the Cluster Resource Forecast project",
        "crf-2019",
        {"crf.csv": clusters.crf_text()},
        tasks=1,
        instance_usage=3,
    ),
    _read(
        GOOGLE,
        "power of 2019, and the machines behind each unit of it",
        "powerdata-2019",
        _typed("powerdata-2019", "csv"),
        power_measurements=1,
        machine_power_domains=1,
    ),
    _read(
        CLUSTERS,
        "Alibaba GPU 2023 (openb): nodes and a list of pods",
        "openb",
        clusters.OPENB,
        machine_events=3,
        tasks=6,
    ),
    _read(
        CLUSTERS,
        "Alibaba GPU 2020 (PAI): seven tables, of which two are named as not read",
        "alibaba-pai-2020",
        clusters.PAI,
        machine_events=1,
        tasks=2,
        instance_usage=7,
    ),
    _refused(
        CLUSTERS,
        "Alibaba GPU 2020 (PAI): sensors alone",
        "alibaba-pai-2020",
        {"pai_sensor_table.csv": clusters.PAI["pai_sensor_table.csv"]},
        _NO_ROW,
    ),
    _read(
        CLUSTERS,
        "Alibaba 2018: machines, containers, tasks and instances",
        "alibaba-2018",
        clusters.ALIBABA,
        machine_events=3,
        tasks=5,
        instance_usage=3,
    ),
    _read(
        CLUSTERS,
        "Alibaba 2017: tasks of batch jobs",
        "alibaba-2017",
        {"batch_task.csv": clusters.ALIBABA_2017},
        "64cores",
        collection_events=5,
    ),
    _read(
        CLUSTERS,
        "Azure VMs 2017 (V1): VMs and readings",
        "azure-2017",
        {"vmtable.csv": ONE_VM_OF_2017, "vm_cpu_readings-file-1-of-125.csv": READINGS},
        "16cores,56GiB",
        tasks=1,
        instance_usage=2,
    ),
    _read(
        CLUSTERS,
        "Azure VMs 2019 (V2): VMs and readings",
        "azure-2019",
        clusters.AZURE,
        "64cores,256GiB",
        tasks=2,
        instance_usage=3,
    ),
    _refused(
        CLUSTERS,
        "Azure VMs: readings alone",
        "azure-2019",
        {"vm_cpu_readings-file-1-of-195.csv": READINGS},
        _NO_ROW,
    ),
    InputKind(
        CLUSTERS,
        "Azure VMs: readings in a file whose name does not tell the year",
        READINGS,
        refusal="--dialect azure-2017 or --dialect azure-2019",
        name="readings.csv",
    ),
    _read(
        CLUSTERS,
        "Azure for packing 2020: the database, or CSV of its two tables",
        "azure-packing-2020",
        {"packing_trace_zone_a_v1.sqlite": clusters.packing_database()},
        tasks=3,
    ),
    _refused(
        CLUSTERS,
        "Azure for packing 2020: types of VMs alone",
        "azure-packing-2020",
        {"types.sqlite": clusters.packing_database(["vmType"])},
        _NO_ROW,
    ),
    _read(
        CLUSTERS,
        "Bitbrains (GWA-T-12): a file for each VM",
        "bitbrains",
        {"7.csv": clusters.bitbrains(*clusters.VM_7)},
        "16cores,16GiB",
        tasks=1,
        instance_usage=4,
    ),
    _read(
        CLUSTERS,
        "Bitbrains: CPU of all VMs in one table",
        "bitbrains-cpu",
        {"vms.parquet": parquet_of(clusters.CPU_OF_VMS)},
        "10400MHz",
        tasks=2,
        instance_usage=3,
    ),
    _read(
        CLUSTERS,
        "PlanetLab: a file for each VM in a folder for each day",
        "planetlab",
        {"20110303/host_a_org": clusters.PLANETLAB},
        tasks=1,
        instance_usage=288,
    ),
    _read(
        CLUSTERS,
        "OpenDC: tasks and fragments",
        "opendc",
        {
            "tasks.parquet": parquet_of(clusters.OPENDC_TASKS),
            "fragments.parquet": parquet_of(clusters.OPENDC_FRAGMENTS),
        },
        "16cores,16GB",
        tasks=2,
        instance_usage=4,
    ),
    _refused(
        CLUSTERS,
        "OpenDC: fragments alone",
        "opendc",
        {"fragments.parquet": parquet_of(clusters.OPENDC_FRAGMENTS)},
        _NO_ROW,
    ),
    _read(
        CLUSTERS,
        "OpenDC 2.1: `meta` and `trace`",
        "opendc",
        {
            "meta.parquet": parquet_of(clusters.OPENDC_21_META),
            "trace.parquet": parquet_of(clusters.OPENDC_21_TRACE),
        },
        "16cores,16GB",
        tasks=1,
        instance_usage=2,
    ),
    _read(
        CLUSTERS,
        "OpenDC before 2.1: `meta` and `trace`",
        "opendc-2020",
        {
            "meta.parquet": parquet_of(clusters.OPENDC_2020_META),
            "trace.parquet": parquet_of(clusters.OPENDC_2020_TRACE),
        },
        "16cores,41600MHz,16GB",
        tasks=1,
        instance_usage=2,
    ),
    _read(
        LOGS,
        "Standard Workload Format, with its header",
        "swf",
        {"log.swf": jobs.SWF_HEADER + jobs.SWF_JOBS},
        machine_events=3,
        tasks=2,
        instance_usage=2,
    ),
    _read(
        LOGS,
        "Alea: nodes of each core, in 20 to 22 fields",
        "alea",
        {"wagap.swf": jobs.ALEA_NODES},
        "8cores,8KiB",
        machine_events=2,
        tasks=4,
    ),
    _read(
        LOGS,
        "Alea: workflows",
        "alea",
        {"jaros.swf": jobs.ALEA_WORKFLOWS},
        tasks=1,
    ),
    _read(
        LOGS,
        "Alea: logs of its generator",
        "alea",
        {"example.swf": jobs.ALEA_GENERATED},
        "336cores",
        tasks=2,
    ),
    _read(
        LOGS,
        "Slurm: `sacct --parsable2` (other delimiters and fixed width too)",
        "sacct",
        {"jobs.txt": jobs.SACCT},
        "8cores,8GiB",
        machine_events=3,
        tasks=5,
        instance_usage=6,
    ),
    _read(
        LOGS,
        "Slurm: `sacct --json`",
        "sacct",
        {"jobs.json": jobs.sacct_json("new")},
        "8cores,8GiB",
        machine_events=2,
        tasks=3,
        instance_usage=6,
    ),
    _refused(
        LOGS,
        "Slurm: `sacct --noheader`",
        "sacct",
        {"jobs.txt": "1|COMPLETED|2026-11-01T00:00:00|x\n"},
        "a log of sacct without a header",
    ),
    _read(
        LOGS,
        "Microsoft Philly: jobs with their attempts, and machines",
        "philly",
        {
            "cluster_job_log": json.dumps(jobs.PHILLY_JOBS),
            "cluster_machine_list": jobs.PHILLY_MACHINES,
        },
        machine_events=2,
        tasks=4,
    ),
    _read(
        LOGS,
        "Microsoft Philly: a table of jobs",
        "philly",
        {"philly.csv": JOBS_OF_PHILLY},
        tasks=1,
    ),
    _read(
        LOGS,
        "SenseTime Helios",
        "helios",
        {"cluster_log.csv": jobs.HELIOS},
        "16cores",
        tasks=3,
    ),
    _read(
        LOGS,
        "PM100 (Marconi100)",
        "pm100",
        {"job_table.parquet": parquet_of(jobs.PM100)},
        "128cores",
        tasks=2,
    ),
    _read(
        LOGS,
        "F-DATA (Fugaku)",
        "f-data",
        {"21_03.parquet": parquet_of(jobs.F_DATA)},
        "48cores",
        tasks=2,
    ),
)
