-- After machines.sql: machines of one shape are a cluster, and know their place in it.
shaped AS (
    SELECT machine_id, CAST(greatest(1, round(cpu_capacity * $cores)) AS BIGINT) AS processors,
           CAST(floor(memory_capacity * $bytes / 1024) AS BIGINT) AS kilobytes
    FROM machines
), placed AS (
    SELECT *, dense_rank() OVER (ORDER BY processors, kilobytes) - 1 AS cluster,
           row_number() OVER (PARTITION BY processors, kilobytes ORDER BY machine_id) - 1 AS place
    FROM shaped
)
