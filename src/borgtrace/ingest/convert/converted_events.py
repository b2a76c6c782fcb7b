"""SQL of the events of converted files: what rows say of the lives of tasks, else what their usage lets conclude."""

from borgtrace.ingest.convert.conversion_terms import TERMINAL, Terms, id_sql, query_of
from borgtrace.ingest.convert.converted_jobs import waits
from borgtrace.ingest.convert.converted_usage import windows


def instance_events(terms: Terms) -> str:
    """SQL of the events of instances, with the names of their collections."""
    if terms.has_lives:
        return _told(terms)
    begun, collection = terms.time("begun"), id_sql("e.task")
    return query_of(
        "derived_events",
        windows=windows(terms),
        begun=begun,
        collection=collection,
        **_amounts(terms),
    )


def _told(terms: Terms, rows: str = "task_rows") -> str:
    times = {
        "submitted": terms.begun("submitted"),
        "started": terms.begun("started"),
        "ended": terms.time("ended"),
    }
    collection, known = id_sql("task"), {**times, **_amounts(terms)}
    return query_of(
        "instance_events",
        lives=_lives(terms, rows),
        collection=collection,
        terminal=TERMINAL,
        **known,
    )


def _amounts(terms: Terms) -> dict[str, str]:
    requests = {name: terms.amount(f"{name}_request", name) for name in ("cpu", "memory")}
    return {"machine": id_sql("machine"), **requests}


def _lives(terms: Terms, rows: str = "task_rows") -> str:
    known = terms.conversion.last
    last = (
        '(SELECT max("end") FROM task_rows)' if terms.conversion.is_cut else "CAST('inf' AS DOUBLE)"
    )
    return query_of("lives", rows=rows, last=last if known is None else str(known))


def collection_events(terms: Terms) -> str:
    """SQL of the events of collections."""
    events = instance_events(terms)
    if terms.has("task_rows", "job"):
        others = f"SELECT * FROM ({events}) WHERE name NOT IN (SELECT task FROM whole_tasks)"
        events = f"({_told(terms, 'whole_tasks')}) UNION ALL BY NAME ({others})"
    return query_of("collection_events", events=events, terminal=TERMINAL, waits=waits(terms))


def instance_constraints(terms: Terms) -> str:
    """SQL of the GPU models that tasks accept, as constraints on their machines."""
    submitted, collection = terms.begun("submitted"), id_sql("task")
    return query_of(
        "instance_constraints", lives=_lives(terms), submitted=submitted, collection=collection
    )
