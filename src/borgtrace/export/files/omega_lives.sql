lives AS (
    -- What was asked for and what became of each task; it has ended if nothing came after its last end.
    SELECT collection_id, instance_index, min(time) FILTER (type = 'SUBMIT') AS submitted,
           min(time) FILTER (type = 'SCHEDULE') AS started,
           CASE WHEN arg_max(type, step) IN ({terminal}) THEN arg_max(time, step) END AS ended
    FROM (SELECT *, row_number() OVER (ORDER BY time, {tie}, source_part, source_row) AS step FROM instance_events
          WHERE collection_type = 'JOB' AND time < 9223372036854775807
                AND type IN ('SUBMIT', 'SCHEDULE', {terminal}))
    GROUP BY collection_id, instance_index
), jobs AS (
    -- Their split of jobs: production of scheduling class 2 or 3 is service, all else is batch.
    SELECT collection_id, min(submitted) AS submitted, count(*) AS tasks,
           CAST(max(coalesce(priority, 0)) >= {production} AS INTEGER) AS is_production,
           coalesce(max(scheduling_class), 0) AS class, CAST(is_production AND class >= 2 AS INTEGER) AS is_service,
           (max(ended) - min(started)) / 1e6 AS seconds, bool_and(ended IS NOT NULL) AS has_ended,
           count(*) FILTER (started < {zero}) AS there, max(ended) FILTER (started < {zero}) AS left,
           bool_and(ended IS NOT NULL) FILTER (started < {zero}) AS has_left,
           coalesce(sum(cpu_request) FILTER (started < {zero}), 0) * {cores} AS cores,
           coalesce(sum(memory_request) FILTER (started < {zero}), 0) * {bytes} AS bytes,
           -- What asks for nothing would have no end in theirs: it divides by requests.
           there > 0 AND cores > 0 AND bytes > 0 AS is_there
    FROM lives JOIN tasks USING (collection_id, instance_index) GROUP BY collection_id
)
