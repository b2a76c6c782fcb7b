-- One for each row of the table of machines: later ones of a machine change it.
SELECT coalesce({time}, 0) AS time, {machine} AS machine_id, platform AS platform_id, {cpu} AS cpu_capacity,
       {memory} AS memory_capacity, gpus AS gpu_capacity, source_part, source_row,
       CASE WHEN row_number() OVER (PARTITION BY machine ORDER BY time NULLS FIRST, source_part, source_row) = 1
            THEN 'ADD' ELSE 'UPDATE' END AS type
FROM machine_rows
