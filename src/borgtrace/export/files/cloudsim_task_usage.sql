WITH {lives}
SELECT {task_usage} FROM (
    SELECT instance_usage.* REPLACE (job AS collection_id, task AS instance_index, greatest(start_time, begun) AS start_time)
    FROM instance_usage JOIN lives USING (collection_id, instance_index)
    WHERE start_time >= since AND start_time < until AND end_time > begun AND start_time < ended
          AND end_time < 9223372036854775807
    ORDER BY start_time, job, task, source_part, source_row
)
