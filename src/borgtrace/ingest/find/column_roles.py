"""Guess the role of each column of own data from its name: one list of words for each role, the best fit first."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from borgtrace.errors import SourceError
from borgtrace.ingest.find.sniffed_table import SniffedColumn, SniffedTable


class Level(NamedTuple):
    """A level of what identifies a task, and the names of columns on it, as patterns: the first that fits is taken."""

    name: str
    patterns: tuple[str, ...]


_POD = r"(exported_)?(kubernetes_?|kube_?|k8s_?)?pod(_?(name|id|uid))?"
IDENTITY = (
    Level("cluster", (r"(kube_?)?cluster(_?(name|id))?",)),
    Level("namespace", (r"(exported_)?(kubernetes_?|kube_?|k8s_?)?(namespace|ns)(_?name)?",)),
    Level("job", (r"job_?(id|name)", r"collection_?id", r"job")),
    Level(
        "task",
        (
            _POD,
            r"(task|vm|virtual_machine|function|process|allocation)(_?(name|id))?",
            r"instance_?(name|id)",
            # All levels in one column: namespace/pod/container.
            r"(cluster_)?(namespace|ns)_pod(_container)?(_?name)?|pod_container(_?name)?",
        ),
    ),
    Level("container", (r"(exported_)?(kubernetes_?|kube_?|k8s_?)?container(_?(name|id))?",)),
    Level("replica", (r"replica(_?(name|id|index|number))?",)),
)
"""What identifies a task is all of these together."""
_OWN_LEVELS = ("job", "task", "container")
"""Levels of which one is there in any table of tasks; the others only tell tasks apart."""
_GENERIC_TASKS = (
    r"name|id|uid|uuid|key",
    r"resource(_?(name|id))?|entity|series|item|label",
    r"(workload|app|application|service|deployment|stateful_?set|owner)(_?(name|id))?",
    r"instance|unit",
)
"""Names of the column of tasks where no other is there."""
_MACHINES = (
    r"(machine|node|host|server|hypervisor)(_?(name|id|ip))?",
    r"hostname|nodename|kubernetes_node",
    r"instance",
)
_INSTANCES = (r"(task|instance|replica)_?index",)
_TIMES = (
    r"time_?stamp(_?utc)?|ts",
    r"date_?time",
    r"(start|begin|from|window_start|interval_start|start_?time|begin_?time)",
    r"time",
    r"(sample|collection|measure(ment|d)?|event|metric|log|record(ed)?|created?|collected)_?(time|at|ts|date)?",
    r"(epoch|unix)(_?(time|ts|seconds|s|ms))?|utc(_?time)?|date_utc",
    r"time_?(utc|s|ms|us|ns|sec|seconds|millis)|t|when|at|clock",
    r"time_?generated(_?utc)?",
    r"zeitstempel|zeit|zeitpunkt|datum(_?uhrzeit)?|horodatage|fecha(_?hora)?",
    r"date|day|period|interval",
)
_VALUES = (r"((metric|counter)_?)?values?(_[a-z])?|val", r"measurement|reading")
_ENDS = (r"end(_?(time|ts|at))?|window_end|interval_end|until|to",)

_UNNAMED = r"column\d+|unnamed_\d+"
"""What columns are called whose header is empty."""
_NAME_OF_RESOURCE = {
    # Memory first: memory_per_cpu is memory.
    "memory": r"memory|^mem|(^|_)(mem|ram|rss|wss|working_set|speicher|arbeitsspeicher)(_|%|$)",
    "cpu": r"cpu|(^|_)(processor|(milli|nano|m|n)?cores?|[mg]hz)(_|%|$)",
}
_OF_DEVICES = r"(^|_)(gpu|vram|fb|framebuffer|nvidia|dcgm|tpu)|gpu(_|$)"
"""Words for the memory and cores of devices, which are not those of machines."""
_REQUEST = r"requests?|requested|req|reserved|reservation"
_LIMIT = r"limits?|quota|ceiling"
_CAPACITY = (
    r"capacity|allocatable|max_?(cpus?|mem|memory)|counts?|num|number|n|provisioned|allocated|size|total_cores|"
    r"available|max_available"
)
_OTHER = (
    r"throttl\w*|idle|wait|iowait|steal|freq\w*|clock|temp\w*|power|load_?(avg|average|1|5|15)m?|pressure|psi|shares?|"
    r"model|type|platform|cpu_?id|cpu_?set|free|cache\w*|swap|buffers?|fail\w*|faults?|bandwidth|cost|price|(mem|memory|mb|gb|ram)_?(byte_?)?(seconds?|hours?)"
)
_WAYS_TO_NAME_A_LENGTH = (
    r"(window_?)?(duration|length)(_?(s|sec|seconds|ms|us|min|minutes|h|hours))?",
)
_RATIO = r"usage|used|util|utili[sz]ation|ratio|vs|per|over|slack|commitment"
_AGGREGATES = r"max|maximum|peak|min|minimum|std|stddev|p\d+|percentile|median|variance|q\d+"
_PERCENTAGES = r"%|(^|_)(percent\w*|pct|perc)(_|$)"
_MARKS_OF_USAGE = (
    r"usage|used|utili[sz]ation|util|consumption|consumed|rate|avg|average|mean|working_set|rss"
)
# How many there are, as nobody writes how many are used.
_COUNT_NAMES = r"cpus|vcpus?|num_cpus|n_?cpus?|cpu_count|cpu_cores|cores|vcores|n_?cores"

RESOURCES = ("cpu", "memory")


@dataclass(frozen=True)
class Roles:
    """Which column is what.

    Parameters
    ----------
    identity
        Columns that identify a task together, from the widest to the narrowest.
    time, end, length, machine, instance
        The column of each; empty where there is none.
    usage
        The column of usage of each resource.
    value
        The column of amounts that says not of what, where no other has usage; empty for most.
    rivals
        Other columns that might be its usage just as well.
    asides
        What columns seem to be that are not read: requests, limits, capacities.
    """

    identity: tuple[str, ...]
    time: str
    end: str = ""
    length: str = ""
    machine: str = ""
    instance: str = ""
    usage: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    rivals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    asides: Mapping[str, str] = field(default_factory=dict)

    @property
    def taken(self) -> set[str]:
        """Columns that have a role."""
        singles = (self.time, self.end, self.length, self.machine, self.instance)
        return {*self.identity, *singles, *self.usage.values()} - {""}


def find_roles(table: SniffedTable) -> Roles:
    """Return which column of a table is what.

    Parameters
    ----------
    table
        Its first rows.

    Raises
    ------
    SourceError
        No column is called like a task, a time, or CPU or memory.
    """
    identity = tuple(find_identity(table.columns).values())
    instance = _first(table.columns, _INSTANCES)
    if not identity:
        raise _without_tasks(table)
    free = [column for column in table.columns if column.name not in identity]
    time = find_time(free)
    if not time:
        raise _no_column_for("a time", "time", table)
    free = [column for column in free if column.name not in (time, instance)]
    usage, rivals, asides = _amounts(free)
    if not usage and _is_long(free):
        raise SourceError(
            str(table.path),
            "a row for each metric",
            expected="a column for each, such as cpu and memory",
            got=", ".join(table.names),
            way_out="pivot it: a row for each task and time",
        )
    value = "" if usage else _first(free, _VALUES)
    if not usage and not value:
        raise _without_usage(table, asides)
    return Roles(
        identity=identity,
        time=time,
        end=_first(free, _ENDS),
        length=_first(free, _WAYS_TO_NAME_A_LENGTH),
        machine=find_machine(free),
        instance=instance,
        usage=usage,
        value=value,
        rivals=rivals,
        asides=asides,
    )


def _is_long(columns: Sequence[SniffedColumn]) -> bool:
    """Return whether a column names the metric of each row, and another holds its value."""
    metric = _first(
        columns, (r"metric(_?(name|id))?|measure(ment)?|counter(_?name)?|field|variable|kpi",)
    )
    return bool(metric and _first(columns, (*_VALUES, "average")))


def _first(columns: Iterable[SniffedColumn], patterns: Sequence[str]) -> str:
    """Return the name of the first column that fits the first pattern which any fits."""
    listed = list(columns)
    for pattern in patterns:
        for column in listed:
            if re.fullmatch(pattern, column.words):
                return column.name
    return ""


def find_identity(columns: Sequence[SniffedColumn]) -> dict[str, str]:
    """Return the columns that identify a task together, by their level from the widest; none where there are none."""
    of_level = {level.name: _first(columns, level.patterns) for level in IDENTITY}
    if not any(of_level[name] for name in _OWN_LEVELS):
        of_level["task"] = _first(columns, _GENERIC_TASKS)
        if not of_level["task"]:
            return {}
    return {level.name: of_level[level.name] for level in IDENTITY if of_level[level.name]}


def find_workload(columns: Sequence[SniffedColumn]) -> dict[str, str]:
    """Return the columns that say where in a cluster of Kubernetes a task belongs; none where they name a pod alone."""
    identity = find_identity(columns)
    pod = _first(columns, (_POD,))
    if not pod or identity.get("task") != pod or len(identity) == 1:
        return {}
    levels = {
        "cluster": "cluster",
        "namespace": "namespace",
        "task": "pod",
        "container": "container",
    }
    return {role: identity[level] for level, role in levels.items() if level in identity}


def find_machine(columns: Sequence[SniffedColumn]) -> str:
    """Return the column of machines; empty where there is none."""
    return _first(columns, _MACHINES)


def find_time(columns: Sequence[SniffedColumn]) -> str:
    """Return the column of times; empty where there is none."""
    return _first(columns, _TIMES)


def resource_amounts(columns: Sequence[SniffedColumn]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the column of usage of each resource, and what the other columns of amounts seem to be."""
    usage, _, asides = _amounts(columns)
    return usage, asides


def _amounts(
    columns: Sequence[SniffedColumn],
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the column of usage of each resource, its rivals, and what the other columns of amounts seem to be."""
    usage: dict[str, str] = {}
    rivals: dict[str, tuple[str, ...]] = {}
    asides: dict[str, str] = {}
    for resource in RESOURCES:
        scores: dict[str, int] = {}
        for column in columns:
            if _resource_of(column.words) != resource:
                continue
            aside = _aside(column.words)
            if aside:
                asides[column.name] = f"{aside} of {resource}"
            else:
                scores[column.name] = _usage_score(resource, column.words)
        if scores:
            best = max(scores.values())
            equal = [name for name, score in scores.items() if score == best]
            usage[resource] = equal[0]
            rivals[resource] = tuple(equal[1:])
    return usage, rivals, asides


def _resource_of(words: str) -> str:
    """Return the resource that a column is called after; empty where none."""
    if re.search(_OF_DEVICES, words):
        return ""
    for resource, pattern in _NAME_OF_RESOURCE.items():
        if re.search(pattern, words):
            return resource
    return ""


def _aside(words: str) -> str:
    """Return what an amount is that is no usage; empty for usage."""

    def has(names: str) -> bool:
        return bool(re.search(rf"(^|_)({names})(_|%|$)", words))

    is_bound = has(_REQUEST) or has(_LIMIT)
    meanings = {
        "another measure": has(_OTHER) or (has(_REQUEST) and has(_LIMIT)),
        "ratio": is_bound and has(_RATIO),
        "request": has(_REQUEST),
        "limit": has(_LIMIT),
        "": has(_MARKS_OF_USAGE),
        "capacity": has(_CAPACITY),
    }
    return next((meaning for meaning, fits in meanings.items() if fits), "")


def _usage_score(resource: str, words: str) -> int:
    score = 0
    if re.search(rf"(^|_)({_MARKS_OF_USAGE})(_|%|$)", words):
        score += 4
    if words == resource:
        score += 3
    if re.search(rf"(^|_)({_AGGREGATES})(_|%|$)", words):
        score -= 4
    if is_count_name(words):
        score -= 6
    # Percentages say not of what: amounts beside them do.
    if re.search(_PERCENTAGES, words):
        score -= 2
    return score


def is_called_usage(words: str) -> bool:
    """Return whether a column is called like what is used, rather than like what there is.

    Examples
    --------
    >>> is_called_usage("cpu_usage"), is_called_usage("cpu_cores")
    (True, False)
    """
    return bool(re.search(rf"(^|_)({_MARKS_OF_USAGE})(_|%|$)", words))


def is_count_name(words: str) -> bool:
    """Return whether a column is called like the number of cores that there are.

    Examples
    --------
    >>> is_count_name("cpu_cores"), is_count_name("cpu_usage")
    (True, False)
    """
    return bool(re.fullmatch(_COUNT_NAMES, words))


def is_aggregate_name(words: str) -> bool:
    """Return whether a column is called like the maximum, or another single value, of each step.

    Examples
    --------
    >>> is_aggregate_name("cpu_max"), is_aggregate_name("cpu_usage")
    (True, False)
    """
    return bool(re.search(rf"(^|_)({_AGGREGATES})(_|%|$)", words))


def _without_tasks(table: SniffedTable) -> SourceError:
    """Return the error for a table no column of which identifies tasks, with what it seems to be."""
    where = str(table.path)
    names = ", ".join(table.names)
    if len(table.columns) == 1:
        return SourceError(
            where,
            "a single column",
            expected="columns separated by a comma, a semicolon, a tab or |, with their names in the first line",
            got=repr(names),
            way_out="write it with one of these, such as task,time,cpu",
        )
    n_unnamed = sum(bool(re.fullmatch(_UNNAMED, column.words)) for column in table.columns)
    if 2 * n_unnamed > len(table.columns):
        return SourceError(
            where,
            f"the first line names {len(table.columns) - n_unnamed} of {len(table.columns)} columns",
            expected="the names of all columns, such as task,time,cpu",
            got=repr(table.columns[0].name),
            way_out="remove the lines above the names of columns",
        )
    machine = _first(table.columns, _MACHINES)
    if machine and _first(table.columns, _TIMES):
        return SourceError(
            where,
            "usage of whole machines",
            expected="a column that names a task, such as pod, vm or job_id",
            got=names,
            way_out=f"where each counts as one task, rename {machine} to task",
        )
    return _no_column_for("a task", "task", table)


def _without_usage(table: SniffedTable, asides: Mapping[str, str]) -> SourceError:
    """Return the error for a table no column of which is usage, with what its columns seem to be."""
    described = [f"{name} ({asides[name]})" if name in asides else name for name in table.names]
    return SourceError(
        str(table.path),
        "no column is called like usage of CPU or memory",
        got=", ".join(described),
        way_out="write a file with [usage] and cpu = its column, and add --dialect FILE.toml",
    )


def _no_column_for(called: str, role: str, table: SniffedTable) -> SourceError:
    return SourceError(
        str(table.path),
        f"no column is called like {called}",
        got=", ".join(table.names),
        way_out=f"write a file with [usage] and {role} = its column, and add --dialect FILE.toml",
    )
