-- What follows each other without a gap or an overlap: gaps are fragments without use, and a later window is cut.
WITH lives AS (
{lives}
), windows AS (
    SELECT id, begun, stopped, start_time // 1000 AS start, end_time // 1000 AS stop, coalesce(average_cpu, 0) AS used,
           source_part, source_row
    FROM instance_usage JOIN lives USING (collection_id, instance_index) WHERE end_time < 9223372036854775807
    UNION ALL
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
SELECT CAST(id AS INTEGER) AS id, duration, CAST(used AS DOUBLE) * {cores} * {clock} AS cpu_usage
FROM pieces WHERE duration > 0 ORDER BY id, start, stop, source_part, source_row, step
