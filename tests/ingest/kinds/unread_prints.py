"""What other programs print, much of which is no usage of tasks over time."""

from __future__ import annotations

from tests.ingest.kinds.kind import InputKind

PRINTED = "What other programs print"

KINDS = (
    InputKind(
        PRINTED,
        "usage metering of GKE",
        "namespace,resource_name,sku_id,start_time,end_time,usage.amount\n"
        "shop,cpu,x,2026-11-01 00:00:00 UTC,2026-11-01 00:05:00 UTC,150\n",
        refusal="a bill of usage (GKE usage metering)",
    ),
    InputKind(PRINTED, "XML", '<?xml version="1.0"?>\n<rows/>\n', refusal="XML: not read"),
    InputKind(
        PRINTED,
        "a dump of SQL",
        "CREATE TABLE usage (pod text);\n",
        refusal="a dump of SQL: not read",
    ),
    InputKind(
        PRINTED,
        "TOML",
        '# of our cluster\nname = "own"\n\n[usage]\ntask = "pod"\ntime = "time"\n',
        refusal="TOML, which describes columns, and no data: not read; name the data, and say what describes them: "
        "--dialect FILE.toml",
        name="own.toml",
    ),
    InputKind(
        PRINTED,
        "TOML with lists of tables",
        '[[usage]]\ntask = "pod"\n',
        refusal="TOML, which describes columns, and no data: not read",
        name="own.toml",
    ),
    InputKind(
        PRINTED,
        "JSON with comments",
        '// of our cluster\n[{"pod": "web-0", "time": 1793491200, "cpu": 0.5}]\n',
        refusal="JSON with comments: not read; remove the comments, which JSON does not have",
        name="own.json",
    ),
    InputKind(
        PRINTED,
        "JSON with comments of several lines",
        '/* of our cluster,\n   by hand */\n{"pod": "web-0", "time": 1793491200, "cpu": 0.5}\n',
        refusal="JSON with comments: not read",
        name="own.json",
    ),
    InputKind(
        PRINTED,
        "JSON with comments as in Python",
        '# of our cluster\n[\n {"pod": "web-0"}\n]\n',
        refusal="JSON with comments: not read",
        name="own.json",
    ),
    InputKind(PRINTED, "YAML", "- pod: web-0\n  cpu: 0.5\n", refusal="YAML: not read"),
    InputKind(
        PRINTED,
        "tables of MySQL",
        "+-----+-----+\n| pod | cpu |\n+-----+-----+\n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        PRINTED,
        "tables of psql",
        " pod | cpu \n-----+-----\n web | 0.5 \n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        PRINTED,
        "tables of Markdown",
        "| pod | cpu |\n|---|---|\n| web | 0.5 |\n",
        refusal="a table drawn with lines: not read",
    ),
    InputKind(
        PRINTED,
        "Export-Csv of PowerShell",
        '#TYPE Selected\n"pod","cpu"\n',
        refusal="a line of PowerShell, not the names of columns",
    ),
    InputKind(
        PRINTED,
        "annotated CSV of InfluxDB",
        "#group,false,true\n#datatype,string,long\n",
        refusal="annotated CSV of InfluxDB: not read",
    ),
    InputKind(PRINTED, "dstat", '"Dstat 0.7.4 CSV output"\n', refusal="CSV of dstat: not read"),
    InputKind(
        PRINTED,
        "sar, mpstat, iostat, pidstat",
        "Linux 5.10.0 (h1) \t11/01/26 \t_x86_64_\t(4 CPU)\n",
        refusal="numbers of a whole machine (sar, mpstat, iostat, pidstat): not read",
    ),
    InputKind(
        PRINTED,
        "sadf -d",
        "# hostname;interval;timestamp;CPU;%user\n",
        refusal="numbers of a whole machine (sar, mpstat, iostat, pidstat): not read",
    ),
    InputKind(
        PRINTED,
        "vmstat",
        "procs -----------memory---------- ---swap--\n",
        refusal="vmstat, which is about a whole machine: not read",
    ),
    InputKind(
        PRINTED,
        "top",
        "top - 00:00:01 up 1 day,  1 user\n",
        refusal="a list of processes at one moment (top): not read",
    ),
    InputKind(
        PRINTED,
        "ps",
        "USER         PID %CPU %MEM\n",
        refusal="a list of processes at one moment (ps): not read",
    ),
    InputKind(
        PRINTED,
        "docker stats",
        "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT\n",
        refusal="docker stats at one moment: not read",
    ),
    InputKind(
        PRINTED,
        "sreport",
        "----\nCluster/Account/User Utilization 2026-11-01\n",
        refusal="a report of sreport, without jobs: not read",
    ),
    InputKind(
        PRINTED,
        "sreport --parsable2",
        "Cluster|Account|Login|Used\n",
        refusal="a report of sreport, without jobs: not read",
    ),
    InputKind(
        PRINTED,
        "squeue",
        "   JOBID PARTITION     NAME     USER ST\n",
        refusal="the queue at one moment (squeue): not read",
    ),
    InputKind(
        PRINTED,
        "sinfo",
        "PARTITION AVAIL  TIMELIMIT  NODES\n",
        refusal="the nodes at one moment (sinfo): not read",
    ),
    InputKind(
        PRINTED,
        "bhist of LSF",
        "Summary of time in seconds spent in various states:\n",
        refusal="bhist of LSF, which says no times of day: not read",
    ),
    InputKind(
        PRINTED,
        "lsb.acct of LSF",
        '"JOB_FINISH" "10.1" 1793491200 101\n',
        refusal="the accounting log of LSF: not read",
    ),
    InputKind(
        PRINTED,
        "accounting of PBS",
        "11/01/2026 00:00:00;E;101.server;user=alice\n",
        refusal="the accounting log of PBS: not read",
    ),
    InputKind(
        PRINTED,
        "accounting of Grid Engine",
        "all.q:node1:g:alice:train:101:sge:0:1793491100:1793491110:1793491200\n",
        refusal="the accounting log of Grid Engine: not read",
    ),
    InputKind(
        PRINTED,
        "event logs of Spark",
        '{"Event":"SparkListenerLogStart"}\n',
        refusal="an event log of Spark: not read",
    ),
)
