"""An advice in sentences: what a planner reads first, in the store's own names and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from borgtrace.advice.node_sentences import machine_sentences
from borgtrace.advice.parts import AdviceParts
from borgtrace.advice.value_sentences import judged_sentence, saves, value_sentences, with_capital
from borgtrace.notation import Notation, integer, number
from borgtrace.notation.amounts import RESOURCES, ResourceAmounts
from borgtrace.notation.names import line_of_name
from borgtrace.question import Result
from borgtrace.question.study_times import in_words
from borgtrace.schema.time import MINUTE

Row = Mapping[str, Any]
SHOWN_INCIDENTS = 10
NOTHING_BROKE = "No promise was broken on the judged machines."
NOTHING_PROMISED = "Nothing, since no less than the requests was promised."


@dataclass(frozen=True, slots=True)
class Sentences:
    """An advice in sentences.

    Attributes
    ----------
    title
        What it is about.
    judged
        How and on what policies were judged.
    value
        A sentence for each resource.
    machines
        Sentences about nodes.
    incidents
        A line for each of the worst incidents, or why there are none.
    workloads
        Sentences about what to set.
    unknown
        What is not known.
    """

    title: str
    judged: str
    value: Sequence[str]
    machines: Sequence[str]
    incidents: Sequence[str]
    workloads: Sequence[str]
    unknown: Sequence[str]


def sentences_of(advice: AdviceParts) -> Sentences:
    """Return an advice in sentences.

    Parameters
    ----------
    advice
        Of a store.
    """
    notation = Notation.of(advice.store)
    amounts = ResourceAmounts.of(advice.store.manifest, advice.options.cores, advice.options.gib)
    return Sentences(
        title=title_of(advice),
        judged=judged_sentence(advice.value, notation),
        value=value_sentences(advice.value, amounts),
        machines=machine_sentences(advice.machines, advice.value, notation),
        incidents=incident_lines(advice.incidents, saves(advice.value), notation, amounts),
        workloads=workload_sentences(advice.workloads, amounts),
        unknown=[row["sentence"] for row in advice.unknown.table.to_pylist()],
    )


def title_of(advice: AdviceParts) -> str:
    """Return the name of the store, and how large it is."""
    manifest = advice.store.manifest
    n_tasks = manifest.tables.get("tasks", 0)
    name = advice.store.path.name
    synthetic = "synthetic cell " if manifest.is_synthetic else ""
    return f"{synthetic}{name}: {integer(n_tasks)} {'task' if n_tasks == 1 else 'tasks'}"


def incident_lines(
    incidents: Result,
    is_promised: bool,
    notation: Notation,
    amounts: ResourceAmounts,
) -> list[str]:
    """Return the worst incidents, a line each."""
    if incidents.not_applicable:
        return [f"not applicable: {incidents.not_applicable}"]
    rows = incidents.table.to_pylist()
    if not rows:
        return [NOTHING_BROKE if is_promised else NOTHING_PROMISED]
    return [incident_line(row, notation, amounts) for row in worst_first(rows)]


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Return the incidents of all resources, those first that exceed their promise most as a share of it."""

    def severity(row: Row) -> float:
        promised = row["promised"]
        return row["excess"] / promised if promised > 0 else float("inf")

    return sorted(rows, key=lambda row: (-severity(row), row["resource"], row["place"]))[
        :SHOWN_INCIDENTS
    ]


def incident_line(
    row: Row,
    notation: Notation,
    amounts: ResourceAmounts,
) -> str:
    """Return an incident: machine, time, by how much, for how long, and which tasks."""
    resource = row["resource"]
    machine = notation.names.machine(row["machine_id"])
    when = notation.clock.wall(row["begin"]) or notation.clock.text(row["begin"])
    excess = amounts.text(row["excess"], resource)
    promised = amounts.number(row["promised"], resource)
    minutes = in_words(round(row["minutes"] * MINUTE))
    tasks = ", ".join(task_names(row["tasks"], notation))
    return (
        f"{machine} {when}: {RESOURCES[resource]} {excess} above the promised {promised}, "
        f"{minutes}; {tasks}"
    )


def task_names(tasks: str, notation: Notation) -> list[str]:
    """Return what tasks are called, from their ids as a table of incidents has them."""
    names = []
    for task in tasks.split():
        collection, _, instance = task.rpartition("-")
        names.append(notation.names.task(int(collection), int(instance)))
    return names


def workload_sentences(workloads: Result, amounts: ResourceAmounts) -> list[str]:
    """Return what requests of workloads would add up to."""
    if workloads.not_applicable:
        return [f"Workloads: not applicable: {workloads.not_applicable}."]
    rows = workloads.table.to_pylist()
    sentences = []
    for resource, title in RESOURCES.items():
        subject = with_capital(title)
        chosen = [row for row in rows if row[f"{resource}_recommended"] is not None]
        if not chosen:
            reason = rows[0][f"{resource}_skip"]
            sentences.append(f"{subject}: nothing is recommended ({reason}).")
            continue
        unit = "cores" if resource == "cpu" else "GiB"
        if not amounts.is_known(resource):
            unit += "*"
        recommender = chosen[0][f"{resource}_recommender"]
        for has_request in (True, False):
            alike = [row for row in chosen if bool(row[f"{resource}_request"]) == has_request]
            if alike:
                n_workloads = (
                    f"{subject} of {integer(len(alike))} of {integer(len(rows))} workloads"
                )
                amount = change_of_requests(alike, resource, unit)
                sentences.append(f"{n_workloads}: {amount}, by {recommender}.")
    return sentences + oom_sentences(rows)


def change_of_requests(rows: Sequence[Row], resource: str, unit: str) -> str:
    """Return what the requests of all tasks of some workloads become; none of them has one, or all have."""
    requested = sum((row[f"{resource}_request"] or 0.0) * row["tasks"] for row in rows)
    recommended = sum(row[f"{resource}_recommended"] * row["tasks"] for row in rows)
    if not requested:
        return f"requests of {number(recommended)} {unit} where there are none today"
    return f"requests of {number(requested)} become {number(recommended)} {unit}"


def oom_sentences(rows: Sequence[Row]) -> list[str]:
    """Return which workloads were OOM-killed, the most often first; nothing where none was."""
    killed = sorted(
        (row for row in rows if row["oom_kills"]),
        key=lambda row: (-row["oom_kills"], row["workload"]),
    )
    if not killed:
        return []
    total = times(sum(row["oom_kills"] for row in killed))
    names = ", ".join(
        f"{line_of_name(row['workload'])} ({integer(row['oom_kills'])})" for row in killed[:3]
    )
    rest = f" and {integer(len(killed) - 3)} more workloads" if len(killed) > 3 else ""
    sentence = f"OOM-killed {total}: {names}{rest}"
    if any(
        row["oom_limit"] is not None and row["memory_recommended"] is not None for row in killed
    ):
        sentence += "; their memory is at least 15 % above the limit at the time"
    return [f"{sentence}."]


def times(n: int) -> str:
    """Return how often something was.

    Examples
    --------
    >>> times(1), times(1200)
    ('once', '1,200 times')
    """
    return "once" if n == 1 else f"{integer(n)} times"
