-- The cell at the start (part 0), and of jobs that arrive the times between them (1), their tasks (2) and lives (3).
WITH tasks_lives AS (
    -- What each task asked for and what became of it; it has ended if nothing came after its last end.
    SELECT collection_id, instance_index, min(time) FILTER (type = 'SUBMIT') AS submitted,
           min(time) FILTER (type = 'SCHEDULE') AS started,
           CASE WHEN list_contains($terminal, arg_max(type, step)) THEN arg_max(time, step) END AS ended
    FROM (SELECT *, row_number() OVER (ORDER BY time, list_position($tie_order, type), source_part, source_row) AS step
          FROM instance_events
          WHERE collection_type = 'JOB' AND time < 9223372036854775807
                AND (type IN ('SUBMIT', 'SCHEDULE') OR list_contains($terminal, type)))
    GROUP BY collection_id, instance_index
), jobs AS (
    -- Their split of jobs: production of scheduling class 2 or 3 is service, all else is batch.
    SELECT collection_id, min(submitted) AS submitted, count(*) AS n_tasks,
           CAST(max(coalesce(priority, 0)) >= $production AS INTEGER) AS is_production,
           coalesce(max(scheduling_class), 0) AS class, CAST(is_production AND class >= 2 AS INTEGER) AS is_service,
           (max(ended) - min(started)) / 1e6 AS seconds, bool_and(ended IS NOT NULL) AS has_ended,
           count(*) FILTER (started < $zero) AS there, max(ended) FILTER (started < $zero) AS "left",
           bool_and(ended IS NOT NULL) FILTER (started < $zero) AS has_left,
           coalesce(sum(cpu_request) FILTER (started < $zero), 0) * $cores AS cores,
           coalesce(sum(memory_request) FILTER (started < $zero), 0) * $bytes AS bytes,
           -- A job that requests nothing would never end in their simulation: it divides by requests.
           there > 0 AND cores > 0 AND bytes > 0 AS is_there
    FROM tasks_lives JOIN tasks USING (collection_id, instance_index) GROUP BY collection_id
), arriving AS (
    SELECT *, (submitted - lag(submitted) OVER by_scheduler) / 1e6 AS waited
    FROM jobs WHERE submitted >= $zero
    WINDOW by_scheduler AS (PARTITION BY is_service ORDER BY submitted, collection_id)
), lines AS (
    -- Jobs that ran when the trace began (11), and those of them whose tasks had all ended before its end (12).
    SELECT 0 AS part, 11 AS place, collection_id,
           concat_ws(' ', '11 0.000000', collection_id, is_production, class, there, printf('%.6f', cores),
                     printf('%.0f', bytes)) AS line
    FROM jobs WHERE is_there
    UNION ALL
    SELECT 0, 12, collection_id,
           concat_ws(' ', 12, printf('%.6f', ("left" - $zero) / 1e6), collection_id, is_production, class, 0)
    FROM jobs WHERE is_there AND has_left AND "left" > $zero
    UNION ALL
    -- Seconds from each job to the next one of the same scheduler.
    SELECT 1, submitted, collection_id, concat_ws(' ', $cell, 'cmb-new', is_service, printf('%.6f', waited))
    FROM arriving WHERE waited IS NOT NULL
    UNION ALL
    SELECT 2, submitted, collection_id, concat_ws(' ', $cell, 'cmb-new', is_service, n_tasks)
    FROM arriving
    UNION ALL
    -- Seconds from the first start of a task to the last end; their reader draws again where it is 0.
    SELECT 3, submitted, collection_id, concat_ws(' ', $cell, 'cmb-new', is_service, printf('%.6f', seconds))
    FROM arriving WHERE has_ended AND seconds > 0
)
SELECT part, line || chr(10) AS line FROM lines ORDER BY part, place, collection_id
