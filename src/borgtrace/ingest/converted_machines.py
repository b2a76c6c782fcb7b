"""SQL of the machines of converted files."""

from borgtrace.ingest.conversion_terms import FIRST_ROW, MACHINE_NAMES, Terms, id_sql, query_of


def machine_events(terms: Terms) -> str:
    """SQL of the events of machines: one for each row of their table, else one for each machine that is named."""
    if terms.has("machine_rows"):
        sizes = {name: terms.amount(name, name) for name in ("cpu", "memory")}
        return query_of("machine_events", time=terms.begun("time"), machine=id_sql("machine"), **sizes)
    return f"""
        SELECT 0 AS time, {id_sql("machine")} AS machine_id, 'ADD' AS type, 1 AS cpu_capacity,
               {"1" if terms.basis.bytes else "NULL"} AS memory_capacity,
               'SNAPSHOT_BUT_NO_TRANSITION' AS missing_data_reason, {FIRST_ROW}
        FROM ({MACHINE_NAMES}) WHERE machine IS NOT NULL GROUP BY machine
    """


def machine_attributes(_: Terms) -> str:
    """SQL of attributes: the name of a machine, and the model of its GPUs."""
    return f"""
        SELECT 0 AS time, {id_sql("machine")} AS machine_id, name, value, false AS is_deleted, source_part, source_row
        FROM (SELECT machine, 'name' AS name, machine AS value, {FIRST_ROW}
              FROM ({MACHINE_NAMES}) WHERE machine IS NOT NULL GROUP BY machine
              UNION ALL
              SELECT machine, 'gpu_model', gpu_model, source_part, source_row FROM machine_rows
              WHERE gpu_model IS NOT NULL)
    """
