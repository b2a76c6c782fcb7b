"""An advice in sentences: what a planner reads first, in the store's own names and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from borgtrace.advice.nodes import MIX
from borgtrace.advice.parts import AdviceParts
from borgtrace.notation import Notation, integer, number, percent
from borgtrace.notation.amounts import RESOURCES, ResourceAmounts
from borgtrace.notation.names import line_of_name
from borgtrace.question import Result
from borgtrace.question.shares import with_interval
from borgtrace.question.study_times import in_words
from borgtrace.schema.time import DAY, HOUR, MINUTE, Microseconds

Row = Mapping[str, Any]
LEAST_SAVINGS = 0.005
"""What saves less is no overcommitment worth the name."""
SHOWN_INCIDENTS = 10
NOTHING_BROKE = "No promise was broken on the judged machines."
NOTHING_PROMISED = "Nothing less than the requests was promised, so that nothing would have broken."


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
        machines=machine_sentences(advice.machines, saves(advice.value), notation),
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


def judged_sentence(value: Result, notation: Notation) -> str:
    """Say on what policies were judged, and how."""
    if value.not_applicable:
        return f"No policy could be judged: {value.not_applicable}."
    row = value.table.to_pylist()[0]
    begin, end = (
        notation.clock.wall(row[name]) or notation.clock.text(row[name])
        for name in ("judged_from", "judged_to")
    )
    period = in_words(hours(row["period"]))
    horizon = in_words(hours(row["horizon"]))
    return (
        f"Judged from {begin} to {end} on {integer(row['machines'])} machines: each period of {period} by a policy "
        f"chosen on the periods before; a promise holds for {horizon}."
    )


def hours(amount: float) -> Microseconds:
    """Return an amount of hours in µs."""
    return round(amount * HOUR)


def saves(value: Result) -> bool:
    """Whether less than the requests was promised of any resource."""
    return any(row["savings"] >= LEAST_SAVINGS for row in value.table.to_pylist())


def value_sentences(value: Result, amounts: ResourceAmounts) -> list[str]:
    """Return how far each resource may be overcommitted."""
    return [value_sentence(row, amounts) for row in value.table.to_pylist()]


def value_sentence(row: Row, amounts: ResourceAmounts) -> str:
    """Return how far a resource may be overcommitted, at what risk."""
    title = RESOURCES[row["resource"]]
    title = title[0].upper() + title[1:]
    if row["savings"] < LEAST_SAVINGS:
        return f"{title}: {nothing_keeps(row)}"
    requested = amounts.number(row["requested"], row["resource"])
    promised = amounts.text(row["promised"], row["resource"])
    risk = with_interval(row["rate"], row["rate_low"], row["rate_high"])
    kept = periods_kept(row)
    return (
        f"{title} requests may be cut from {requested} to {promised} ({percent(row['savings'], 2)}) at a risk of "
        f"{risk} of 5-minute windows per machine; aimed at {percent(row['target'])}, {kept}."
    )


def periods_kept(row: Row) -> str:
    """Say in how many periods the target was kept."""
    period = hours(row["period"])
    noun = "days" if period == DAY else f"periods of {in_words(period)}"
    return f"kept on {row['periods_kept']} of {row['periods']} {noun}"


def nothing_keeps(row: Row) -> str:
    """Say that nothing but the requests was known to keep the target in time, and what may be tried."""
    target = percent(row["target"])
    if row["policy"] is not None and row["policy_savings"] >= LEAST_SAVINGS:
        return (
            f"nothing was known to keep {target} early enough to be judged on later periods; by all periods together, "
            f"{policy_name(row['policy'])} keeps it and cuts requests by {percent(row['policy_savings'], 2)}: "
            "wait for more days before you rely on it."
        )
    sentence = f"nothing tested is known to keep {target}"
    if row["safest"] is None:
        return f"{sentence}, and nothing promises less than is requested."
    risk = with_interval(row["safest_rate"], row["safest_low"], row["safest_high"])
    return (
        f"{sentence}; the safest tested, {policy_name(row['safest'])}, would cut requests by "
        f"{percent(row['safest_savings'], 2)} at a risk of {risk} of 5-minute windows per machine "
        "(over all periods, not held out)."
    )


def policy_name(label: str) -> str:
    """Return a policy without how long it waits, which nobody reads in a sentence."""
    parts = [part for part in label.split(",") if not part.startswith("warmup=")]
    return ",".join(parts)


def machine_sentences(machines: Result, is_promised: bool, notation: Notation) -> list[str]:
    """Return how many nodes hold the workload; as promised only where less than the requests was."""
    if machines.not_applicable:
        return [f"Machines: not applicable: {machines.not_applicable}."]
    rows = {row["fleet"]: row for row in machines.table.to_pylist()}
    today = rows["today"]
    when = notation.clock.wall(today["at"]) or notation.clock.text(today["at"])
    counts = []
    for fleet, how in (("policy", "as promised"), ("requests", "as requested")):
        nodes = rows[fleet]["nodes"]
        if nodes is not None and (is_promised or fleet == "requests"):
            counts.append(f"{integer(nodes)} {how}")
    sentences = []
    if counts:
        sentences.append(
            f"Machines of today's shapes for what runs at the busiest moment ({when}): {', '.join(counts)}; "
            f"{integer(today['nodes'])} {'is' if today['nodes'] == 1 else 'are'} there."
        )
    else:
        sentences.append(f"Machines: {rows['policy']['note']}.")
    mix = rows.get(MIX)
    if mix is not None and mix["nodes"] is not None:
        sentences.append(mix_sentence(mix, today))
    return sentences


def mix_sentence(mix: Row, today: Row) -> str:
    """Return the cheapest mix of nodes, beside what nodes as large as today's would cost."""
    price = number(mix["price_per_hour"])
    beside = ""
    if today["price_per_hour"] is not None:
        beside = f" (nodes as large as today's: {number(today['price_per_hour'])})"
    return f"Cheapest mix found: {mix['mix']} at {price} an hour{beside}; {mix['note']}."


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
        subject = title[0].upper() + title[1:]
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
