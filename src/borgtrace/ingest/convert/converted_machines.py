"""SQL of the machines of converted files."""

from borgtrace.ingest.convert.conversion_terms import (
    FIRST_ROW,
    MACHINE_NAMES,
    Terms,
    id_sql,
    query_of,
)

_NAMED = {"machine": id_sql("machine"), "first": FIRST_ROW, "names": MACHINE_NAMES}


def machine_events(terms: Terms) -> str:
    """SQL of the events of machines: one for each row of their table, else one for each machine that is named."""
    if terms.has("machine_rows"):
        sizes = {name: terms.amount(name, name) for name in ("cpu", "memory")}
        return query_of(
            "machine_events", time=terms.begun("time"), machine=id_sql("machine"), **sizes
        )
    return query_of("derived_machines", memory="1" if terms.basis.bytes else "NULL", **_NAMED)


def machine_attributes(_: Terms) -> str:
    """SQL of attributes: the name of a machine, and the model of its GPUs."""
    return query_of("machine_attributes", **_NAMED)
