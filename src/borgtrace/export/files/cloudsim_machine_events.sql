-- A REMOVE needs its capacities too, and a second ADD would make a second host of the same id.
SELECT {machine_events} FROM (
    SELECT * FROM (SELECT *, lag(type) OVER each AS before FROM (
        SELECT * REPLACE (
            last_value(platform_id IGNORE NULLS) OVER each AS platform_id,
            last_value(cpu_capacity IGNORE NULLS) OVER each AS cpu_capacity,
            last_value(memory_capacity IGNORE NULLS) OVER each AS memory_capacity)
        FROM machine_events WINDOW each AS (PARTITION BY machine_id ORDER BY time, {tie}, source_part, source_row)
    ) WHERE time < 9223372036854775807 AND type IN ('ADD', 'REMOVE') AND cpu_capacity >= 0 AND memory_capacity >= 0
    WINDOW each AS (PARTITION BY machine_id ORDER BY time, {tie}, source_part, source_row))
    WHERE type != coalesce(before, 'REMOVE')
) ORDER BY time, machine_id, source_part, source_row
