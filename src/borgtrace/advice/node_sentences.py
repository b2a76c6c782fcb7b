"""How many nodes hold the workload, in sentences; and why that may be more than there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from borgtrace.advice.bought_fleets import MIX
from borgtrace.advice.verdict import Verdict
from borgtrace.notation import Notation, integer, number, percent
from borgtrace.notation.amounts import RESOURCES
from borgtrace.question import Result

Row = Mapping[str, Any]


def machine_sentences(machines: Result, value: Result, notation: Notation) -> list[str]:
    """Return how many nodes hold the workload; as promised only where less than the requests may be."""
    if machines.not_applicable:
        return [f"Machines: not applicable: {machines.not_applicable}."]
    rows = {row["fleet"]: row for row in machines.table.to_pylist()}
    sentences = [sentence_of_shapes(rows, how_promised(value), notation)]
    mix = rows.get(MIX)
    if mix is not None and mix["nodes"] is not None:
        sentences.append(mix_sentence(mix, rows["today"]))
    return sentences


def sentence_of_shapes(rows: Mapping[str, Row], promised: str, notation: Notation) -> str:
    """Return how many machines of today's shapes hold the busiest moment, and how many there are."""
    today = rows["today"]
    when = notation.clock.wall(today["at"]) or notation.clock.text(today["at"])
    counts = []
    for fleet, how in (("policy", promised), ("requests", "as requested")):
        nodes = rows[fleet]["nodes"]
        if nodes is not None and how:
            counts.append(f"{integer(nodes)} {how}")
    if not counts:
        return f"Machines: {rows['policy']['note']}."
    n_tasks = integer(today["tasks"])
    tasks = "the task that runs" if today["tasks"] == 1 else f"the {n_tasks} tasks that run"
    n_machines = integer(today["nodes"])
    verb = "is" if today["nodes"] == 1 else "are"
    sentence = f"Machines of today's shapes for {tasks} at the busiest moment ({when}): {', '.join(counts)}"
    requested = rows["requests"]["nodes"]
    if requested is not None and requested > today["nodes"]:
        why = why_more_than_today(today)
        return f"{sentence}, more than the {n_machines} that {verb} there, since {why}."
    return f"{sentence}; {n_machines} {verb} there."


def how_promised(value: Result) -> str:
    """Say which resources are packed as promised; empty where none may be."""
    rows = [row for row in value.table.to_pylist() if row["verdict"] != Verdict.NOTHING]
    advised = [RESOURCES[row["resource"]] for row in rows if Verdict(row["verdict"]).is_advised]
    if not advised:
        return ""
    return "as promised" if len(advised) == len(rows) else f"with {advised[0]} as promised"


def why_more_than_today(today: Row) -> str:
    """Say why what is requested takes more machines than there are."""
    loads = []
    for resource, title in RESOURCES.items():
        loads.append((today[f"{resource}_requested"], title))
    above = [f"{percent(load, 3)} of their {title}" for load, title in loads if load > 1]
    if above:
        return f"what runs requests {' and '.join(above)}"
    if today["overfull"]:
        noun = (
            "one of them holds"
            if today["overfull"] == 1
            else f"{integer(today['overfull'])} of them hold"
        )
        return f"{noun} tasks that request more than the machine has"
    texts = [f"{percent(load, 3)} of their {title}" for load, title in loads]
    return f"what runs requests {' and '.join(texts)}, and packed anew, in random orders, leaves rests that fit no task"


def mix_sentence(mix: Row, today: Row) -> str:
    """Return the cheapest mix of nodes, beside what nodes as large as today's would cost."""
    price = number(mix["price_per_hour"])
    beside = ""
    if today["price_per_hour"] is not None:
        beside = f" (nodes as large as today's: {number(today['price_per_hour'])})"
    return f"Cheapest mix found: {mix['mix']} at {price} an hour{beside}; {mix['note']}."
