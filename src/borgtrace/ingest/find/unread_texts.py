"""Texts that are no table: the output of known programs, each with a way out."""

import re
from typing import NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.find.begun_file import BegunFile


class UnreadText(NamedTuple):
    """A text that is not read.

    Parameters
    ----------
    what
        What it is.
    pattern
        What it begins with, as a regular expression.
    way_out
        What to do.
    """

    what: str
    pattern: str
    way_out: str


_AS_CSV = "write it as CSV with a header such as task,time,cpu"
_WITHOUT_HEADER_LINES = "remove the lines above the names of columns"
_JOBS = "borgtrace dialect list shows the job logs that are read, such as sacct's and SWF"
_SERIES = "fetch the series from Prometheus: borgtrace fetch prometheus URL DEST"
_OVER_TIME = "write a row for each task and time, as CSV or JSON lines, such as task,time,cpu"

UNREAD_TEXTS = (
    UnreadText("an answer of Datadog", r'(?s)\{.*"pointlist"\s*:', _OVER_TIME),
    UnreadText("an answer of New Relic", r'(?s)\{.*"beginTimeSeconds"\s*:', _OVER_TIME),
    UnreadText(
        "an answer of Google Cloud Monitoring", r'(?s)\{.*"timeSeries"\s*:\s*\[', _OVER_TIME
    ),
    UnreadText(
        "an answer of Azure Monitor",
        r'(?s)\{.*"timespan"\s*:.*"timeseries"\s*:',
        _OVER_TIME,
    ),
    UnreadText(
        "an answer of get-metric-statistics (CloudWatch), which names no task",
        r'(?s)\{.*"Datapoints"\s*:\s*\[',
        "ask for all tasks at once: aws cloudwatch get-metric-data",
    ),
    UnreadText(
        "allocations of Kubecost or OpenCost, which are means over a whole window",
        r'(?s)\{.*"cpuCoreUsageAverage"\s*:',
        _SERIES,
    ),
    UnreadText(
        "recommendations of a VerticalPodAutoscaler, and no usage",
        r'(?s)\{.*"kind"\s*:\s*"VerticalPodAutoscaler',
        _SERIES,
    ),
    UnreadText("a summary of a kubelet (stats/summary)", r'(?s)\{.*"podRef"\s*:\s*\{', _SERIES),
    UnreadText("stats of the API of docker", r'(?s)[\[{].*"cpu_stats"\s*:\s*\{', _OVER_TIME),
    UnreadText(
        "stats of the API of cAdvisor",
        r'(?s)\{.*"stats"\s*:\s*\[.*"cpu"\s*:\s*\{\s*"usage"',
        _SERIES,
    ),
    UnreadText(
        "an answer of InfluxDB",
        r'(?s)\{.*"series"\s*:\s*\[.*"columns"\s*:\s*\[',
        "ask for CSV: curl -H 'Accept: application/csv', with a column for each of cpu and memory",
    ),
    UnreadText("an answer of Graphite", r'(?s)\[.*"datapoints"\s*:\s*\[\s*\[', _OVER_TIME),
    UnreadText("an answer of OpenTSDB", r'(?s)\[.*"dps"\s*:\s*[\[{]', _OVER_TIME),
    UnreadText(
        "a panel of Grafana as JSON",
        r'(?s)[\[{].*"schema"\s*:\s*\{.*"data"\s*:\s*\{\s*"values"\s*:',
        "download it as CSV: Inspect, Data, Download CSV",
    ),
    UnreadText(
        "nodes or pods as kubectl lists them, without usage",
        r'(?s)\{.*"kind"\s*:\s*"(NodeList|PodList)"',
        _SERIES,
    ),
    UnreadText(
        "nodes or pods as kubectl lists them, without usage",
        r"(NAMESPACE +)?NAME +(READY +)?STATUS +(RESTARTS|ROLES) +",
        _SERIES,
    ),
    UnreadText(
        "lines of InfluxDB (line protocol)",
        r"[\w.-]+(,[\w.-]+=[^ ,=]+)+ [\w.-]+=\S+( \d{10,19})?\n",
        _OVER_TIME,
    ),
    UnreadText(
        "lines of names and values (logfmt)",
        r'[\w.-]+=("[^"\n]*"|[^\s",;|]+)( [\w.-]+=("[^"\n]*"|[^\s",;|]+))+\n',
        _OVER_TIME,
    ),
    UnreadText(
        r"rows of MySQL as \G prints them",
        r"\*{10,} 1\. row \*{10,}",
        "print them in columns: mysql --batch",
    ),
    UnreadText("the log of HTCondor", r"\d{3} \(\d+\.\d+\.\d+\) ", _JOBS),
    UnreadText("XML", r"<\?xml", _AS_CSV),
    UnreadText(
        "a dump of SQL", r"(--[^\n]*\n|\s)*(CREATE|INSERT|DROP|BEGIN|PRAGMA|SET)\b[^\n]*;", _AS_CSV
    ),
    UnreadText(
        "TOML, which describes columns, and no data",
        r"(#[^\n]*\n|[\w-]+ *= *[^\n,;|]*\n|\s)*\[\[?[\w.-]+\]\]?\s*\n\s*[\w-]+ *=",
        "name the data, and say what describes them: --dialect FILE.toml",
    ),
    UnreadText(
        "JSON with comments",
        r"((//|#)[^\n]*\n\s*|/\*(?s:.*?)\*/\s*)+[\[{]",
        "remove the comments, which JSON does not have",
    ),
    UnreadText("YAML", r"(---\s*\n)?- \w+:", _AS_CSV),
    UnreadText("a table drawn with lines", r"\+-+(\+-+)*\+?\s*\n\|", _AS_CSV),
    UnreadText("a table drawn with lines", r"\|-+[+|]", _AS_CSV),
    UnreadText("a table drawn with lines", r"[^\n]*\|[^\n]*\n\|?[\s:|+-]*--[\s:|+-]*\n", _AS_CSV),
    UnreadText(
        "a line for spreadsheets, not the names of columns", r"sep=.\s*\n", _WITHOUT_HEADER_LINES
    ),
    UnreadText(
        "a line of PowerShell, not the names of columns",
        r'"?#TYPE ',
        "write it with Export-Csv -NoTypeInformation",
    ),
    UnreadText(
        "annotated CSV of InfluxDB",
        r"#(group|datatype|default),",
        "pivot it by field, and remove the lines that begin with #",
    ),
    UnreadText("CSV of dstat", r'"?(Dstat|pcp-dstat)', _SERIES),
    UnreadText(
        "numbers of a whole machine (sar, mpstat, iostat, pidstat)",
        r"Linux \d[^\n]*\(\d+ CPU\)|# hostname;interval;timestamp",
        _SERIES,
    ),
    UnreadText("vmstat, which is about a whole machine", r"procs -+memory", _SERIES),
    UnreadText("a list of processes at one moment (top)", r"top - \d", _SERIES),
    UnreadText(
        "a list of processes at one moment (ps)",
        r"\s*(USER +PID|PID +TTY|UID +PID|PID +USER)\b",
        _SERIES,
    ),
    UnreadText(
        "docker stats at one moment",
        r"CONTAINER ID +NAME +CPU %",
        "write a line for each container every minute, as CSV with a time",
    ),
    UnreadText(
        "a report of sreport, without jobs",
        r"(-+\n)?(Cluster|Job)[^\n]*(Utilization|Sizes)[^\n]*\n",
        _JOBS,
    ),
    UnreadText("a report of sreport, without jobs", r"Cluster\|(Account|Login|Allocated)", _JOBS),
    UnreadText("the queue at one moment (squeue)", r"\s*JOBID +PARTITION +NAME", _JOBS),
    UnreadText("the nodes at one moment (sinfo)", r"PARTITION +AVAIL +TIMELIMIT", _JOBS),
    UnreadText(
        "bhist of LSF, which says no times of day",
        r"Summary of time in seconds spent in various states",
        _JOBS,
    ),
    UnreadText("the accounting log of LSF", r'"JOB_(FINISH|NEW|START)" "', _JOBS),
    UnreadText("the accounting log of PBS", r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Z];", _JOBS),
    UnreadText(
        "the accounting log of Grid Engine",
        r"[^\s:]+:[^\s:]+:[^\s:]*:[^\s:]+:[^:\n]+:\d+:\w*:\d+:\d{9,}:\d+:",
        _JOBS,
    ),
    UnreadText("an event log of Spark", r'\{"Event":"SparkListener', _JOBS),
)
"""All that are known; the first that fits is said."""


def refuse_unread_text(begun: BegunFile) -> None:
    """Refuse a text that is known to be no table.

    Parameters
    ----------
    begun
        The file, with its first bytes.

    Raises
    ------
    SourceError
        It is one.
    """
    beginning = begun.head[:4096].decode("utf-8", "replace").replace("\r\n", "\n")
    for unread in UNREAD_TEXTS:
        if re.match(unread.pattern, beginning):
            raise SourceError(begun.file.label, f"{unread.what}: not read", way_out=unread.way_out)
