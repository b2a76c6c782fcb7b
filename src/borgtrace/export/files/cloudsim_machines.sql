-- A REMOVE needs its capacities too, and a second ADD would make a second host of the same id.
WITH known AS (
    -- Platform and capacities as far as any earlier event of the machine tells them.
    SELECT *, row_number() OVER by_machine AS step,
           last_value(platform_id IGNORE NULLS) OVER by_machine AS platform,
           last_value(cpu_capacity IGNORE NULLS) OVER by_machine AS cpu,
           last_value(memory_capacity IGNORE NULLS) OVER by_machine AS memory
    FROM machine_events
    WINDOW by_machine AS (PARTITION BY machine_id
                          ORDER BY time, list_position($tie_order, type), source_part, source_row)
), changes AS (
    SELECT *, lag(type) OVER (PARTITION BY machine_id ORDER BY step) AS before
    FROM known
    WHERE time < 9223372036854775807 AND type IN ('ADD', 'REMOVE') AND cpu >= 0 AND memory >= 0
), plain AS (
    -- They take numbers with an exponent for missing ones.
    SELECT time, machine_id, source_part, source_row, CASE type WHEN 'ADD' THEN 0 WHEN 'REMOVE' THEN 1 END AS code,
           platform,
           rtrim(rtrim(CAST(CAST(CAST(COLUMNS(['cpu', 'memory']) AS VARCHAR) AS DECIMAL(38, 12)) AS VARCHAR), '0'), '.')
    FROM changes
    WHERE type != coalesce(before, 'REMOVE')
)
SELECT concat_ws(',', time, machine_id, code, coalesce(platform, ''), cpu, memory) || chr(10) AS line
FROM plain
ORDER BY time, machine_id, source_part, source_row
