"""SQL of the machines of converted files."""

from borgtrace.ingest.conversion_terms import FIRST_ROW, MACHINE_NAMES, Terms, id_sql

_ORDER = "PARTITION BY machine ORDER BY time NULLS FIRST, source_part, source_row"


def machine_events(terms: Terms) -> str:
    """SQL of the events of machines: one for each that a table lists, else for each that is named."""
    if terms.has("machine_rows"):
        return f"""
            SELECT coalesce({terms.begun("time")}, 0) AS time, {id_sql("machine")} AS machine_id,
                   CASE WHEN row_number() OVER ({_ORDER}) = 1 THEN 'ADD' ELSE 'UPDATE' END AS type,
                   platform AS platform_id, {terms.amount("cpu", "cpu")} AS cpu_capacity,
                   {terms.amount("memory", "memory")} AS memory_capacity, source_part, source_row FROM machine_rows
        """
    return f"""
        SELECT 0 AS time, {id_sql("machine")} AS machine_id, 'ADD' AS type, 1 AS cpu_capacity,
               {"1" if terms.basis.bytes else "NULL"} AS memory_capacity,
               'SNAPSHOT_BUT_NO_TRANSITION' AS missing_data_reason, {FIRST_ROW}
        FROM ({MACHINE_NAMES}) WHERE machine IS NOT NULL GROUP BY machine
    """


def machine_attributes(_: Terms) -> str:
    """SQL of attributes: the name of a machine, and what GPUs it has."""
    named = f"""
        SELECT machine, 'name' AS name, machine AS value, {FIRST_ROW}
        FROM ({MACHINE_NAMES}) WHERE machine IS NOT NULL GROUP BY machine
    """
    gpus = " UNION ALL ".join(
        f"SELECT machine, '{name}', {value}, source_part, source_row FROM machine_rows WHERE {name} IS NOT NULL"
        for name, value in (("gpu_model", "gpu_model"), ("gpus", "CAST(CAST(gpus AS BIGINT) AS VARCHAR)"))
    )
    return f"""
        SELECT 0 AS time, {id_sql("machine")} AS machine_id, name, value, false AS is_deleted, source_part, source_row
        FROM ({named} UNION ALL {gpus})
    """
