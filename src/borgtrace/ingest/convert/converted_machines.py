"""SQL for the machines of converted files."""

from borgtrace.ingest.convert.conversion_terms import (
    FIRST_ROW_SQL,
    MACHINE_NAMES_SQL,
    Terms,
    id_sql,
)


def machine_events_sql(terms: Terms) -> str:
    """Write the events of machines: one for each row of their table, else one for each machine that is named."""
    if terms.has("machine_rows"):
        return _listed_machines_sql(terms)
    return _derived_machines_sql(terms)


def _listed_machines_sql(terms: Terms) -> str:
    """Write one event for each row of the table of machines: later ones of a machine change it."""
    time_sql = terms.begun_sql("time")
    cpu_sql = terms.fraction_sql("cpu", "cpu")
    memory_sql = terms.fraction_sql("memory", "memory")
    return f"""
        SELECT
            coalesce({time_sql}, 0) AS time,
            {id_sql("machine")} AS machine_id,
            platform AS platform_id,
            {cpu_sql} AS cpu_capacity,
            {memory_sql} AS memory_capacity,
            gpus AS gpu_capacity,
            source_part,
            source_row,
            CASE WHEN row_number() OVER (
                PARTITION BY machine ORDER BY time NULLS FIRST, source_part, source_row
            ) = 1 THEN 'ADD' ELSE 'UPDATE' END AS type
        FROM machine_rows
    """


def _derived_machines_sql(terms: Terms) -> str:
    """Write one event for each machine that rows name, as no table lists them: all are as large as the largest one."""
    cpu_sql = "NULL" if "cpu" in terms.unknown_sizes else "1"
    is_memory_known = terms.basis.bytes and "memory" not in terms.unknown_sizes
    memory_sql = "1" if is_memory_known else "NULL"
    return f"""
        SELECT
            0 AS time,
            {id_sql("machine")} AS machine_id,
            'ADD' AS type,
            {cpu_sql} AS cpu_capacity,
            {memory_sql} AS memory_capacity,
            'SNAPSHOT_BUT_NO_TRANSITION' AS missing_data_reason,
            {FIRST_ROW_SQL}
        FROM ({MACHINE_NAMES_SQL})
        WHERE machine IS NOT NULL
        GROUP BY machine
    """


def machine_attributes_sql(_: Terms) -> str:
    """Write attributes: the name of a machine, and the model of its GPUs."""
    return f"""
        SELECT
            0 AS time,
            {id_sql("machine")} AS machine_id,
            name,
            value,
            false AS is_deleted,
            source_part,
            source_row
        FROM (
            SELECT machine, 'name' AS name, machine AS value, {FIRST_ROW_SQL}
            FROM ({MACHINE_NAMES_SQL})
            WHERE machine IS NOT NULL
            GROUP BY machine
            UNION ALL
            SELECT machine, 'gpu_model', gpu_model, source_part, source_row
            FROM machine_rows
            WHERE gpu_model IS NOT NULL
        )
    """
