steps AS (
    -- What changes the state of a task, each with the life that it is of.  A life goes to the end that has no way back:
    -- what was evicted is paused there, and goes on with the next SCHEDULE.
    SELECT *, count(*) FILTER (type IN ('FAIL', 'FINISH', 'KILL', 'LOST')) OVER (
                  PARTITION BY collection_id, instance_index ORDER BY step
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS life
    FROM (
        SELECT *, row_number() OVER (PARTITION BY collection_id, instance_index
                                     ORDER BY time, {tie}, source_part, source_row) AS step
        FROM (
            SELECT collection_id, instance_index, time, type, machine_id, cpu_request, memory_request, source_part,
                   source_row
            FROM instance_events
            WHERE collection_type = 'JOB' AND time < 9223372036854775807
                  AND type IN ('SUBMIT', 'SCHEDULE', 'EVICT', 'FAIL', 'FINISH', 'KILL', 'LOST')
            UNION ALL
            -- Where nothing tells a SCHEDULE, the first window is the start.
            SELECT collection_id, instance_index, first_time, 'SCHEDULE', NULL, NULL, NULL, 2147483647, 0
            FROM tasks WHERE collection_type = 'JOB' AND n_schedule = 0 AND n_windows > 0
        )
    )
), spans AS (
    SELECT collection_id, instance_index, life, min(time) AS begun, min(time) FILTER (type = 'SCHEDULE') AS started,
           coalesce(max(time) FILTER (type IN ('FAIL', 'FINISH', 'KILL', 'LOST')), 9223372036854775807) AS ended,
           arg_min(cpu_request, step) AS cpu_request, arg_min(memory_request, step) AS memory_request
    FROM steps GROUP BY ALL
), ran AS (
    -- What never ran has no length.  Each life is a task of its own, with an index that no other one has.
    SELECT *, instance_index + life * (1 + max(instance_index) OVER (PARTITION BY collection_id)) AS task,
           -- A window is of the life that it begins in; those that begin before all lives are of the first.
           CASE WHEN lag(life) OVER each IS NULL THEN 0 ELSE begun END AS since,
           coalesce(lead(begun) OVER each, 9223372036854775807) AS until
    FROM spans WHERE started < ended
    WINDOW each AS (PARTITION BY collection_id, instance_index ORDER BY life)
), lives AS (
    -- Their id of a task is the digits of its job and of its index, as a number: jobs are numbered where those of two
    -- tasks are the same, or too long.
    SELECT *, CASE WHEN (SELECT max(length(concat(collection_id, task))) < 19
                                AND count(*) = count(DISTINCT concat(collection_id, task)) FROM ran)
              THEN collection_id ELSE 1000000000 + dense_rank() OVER (ORDER BY collection_id) END AS job
    FROM ran
)
