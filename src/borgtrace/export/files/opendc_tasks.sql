-- Tasks with use: from the first SCHEDULE inside the trace, or the first window, to the last end of either.
WITH lives AS (
    SELECT t.collection_id, t.instance_index, t.cpu_request, t.memory_request, t.max_average_cpu,
           -- An id of 32 bits names a task where it can, else its place does.
           CASE WHEN max(t.collection_id) OVER () < 2147483648 AND max(t.instance_index) OVER () = 0
                THEN t.collection_id ELSE row_number() OVER (ORDER BY t.collection_id, t.instance_index) END AS id,
           least(u.first, coalesce(e.started, u.first)) // 1000 AS begun,
           greatest(u.last, coalesce(e.ended, u.last)) // 1000 AS stopped
    FROM tasks t
    JOIN (SELECT collection_id, instance_index, min(start_time) AS first, max(end_time) AS last FROM instance_usage
          WHERE end_time < 9223372036854775807 GROUP BY ALL) u USING (collection_id, instance_index)
    LEFT JOIN (SELECT collection_id, instance_index, min(time) FILTER (type = 'SCHEDULE') AS started,
                      max(time) FILTER (list_contains($terminal, type)) AS ended
               FROM instance_events WHERE time >= $zero AND time < 9223372036854775807 GROUP BY ALL) e
    USING (collection_id, instance_index)
    WHERE t.collection_type = 'JOB'
)
SELECT CAST(id AS INTEGER) AS id, concat(collection_id, '-', instance_index) AS name,
       $origin + begun - $zero // 1000 AS submission_time, stopped - begun AS duration,
       CAST(cores AS INTEGER) AS cpu_count, cores * $clock AS cpu_capacity,
       -- In KB of 1,000 bytes: OpenDC's loaders divide by 1,000 for MB (EfficientWorkloadLoader.kt), as TaskColumns.kt
       -- says; its page Workload.md says MB, which no loader does.
       CAST(round(coalesce(memory_request, 0) * CAST($bytes AS FLOAT) / 1000) AS BIGINT) AS mem_capacity
FROM (
    SELECT *, greatest(1, ceil(coalesce(cpu_request, max_average_cpu, 0) * CAST($cores AS FLOAT) - 1e-4)) AS cores
    FROM lives
)
ORDER BY id
