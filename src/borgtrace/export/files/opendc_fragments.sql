-- Fragments follow each other without a gap or an overlap: gaps are fragments without use, and a later window is cut.
WITH lives AS (
    -- As in opendc_tasks.sql.
    SELECT t.collection_id, t.instance_index,
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
), windows AS (
    SELECT id, begun, stopped, start_time // 1000 AS start, end_time // 1000 AS stop, coalesce(average_cpu, 0) AS used,
           source_part, source_row
    FROM instance_usage JOIN lives USING (collection_id, instance_index) WHERE end_time < 9223372036854775807
    UNION ALL
    -- Fills the gap between the last window and the end.
    SELECT id, begun, stopped, stopped, stopped, 0, 2147483647, 0 FROM lives
), placed AS (
    SELECT *, coalesce(max(stop) OVER (PARTITION BY id ORDER BY start, stop, source_part, source_row
                                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), begun) AS before
    FROM windows
), pieces AS (
    SELECT id, start, stop, source_part, source_row, 0 AS step, start - before AS duration, 0 AS used FROM placed
    UNION ALL
    SELECT id, start, stop, source_part, source_row, 1, stop - greatest(start, before), used FROM placed
)
SELECT CAST(id AS INTEGER) AS id, duration, CAST(used AS DOUBLE) * $cores * $clock AS cpu_usage
FROM pieces WHERE duration > 0 ORDER BY id, start, stop, source_part, source_row, step
