-- Machines that ever have a capacity, each with the first one that it had.
sized AS (
    SELECT machine_id, platform_id, cpu_capacity, memory_capacity, gpu_capacity,
           row_number() OVER (PARTITION BY machine_id ORDER BY time, source_part, source_row) AS place
    FROM machine_events
    WHERE time < 9223372036854775807 AND cpu_capacity > 0 AND memory_capacity > 0
), machines AS (
    SELECT * FROM sized WHERE place = 1
)
