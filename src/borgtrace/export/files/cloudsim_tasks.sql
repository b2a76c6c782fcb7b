-- Events (part 0) and usage (part 1) of tasks.
WITH steps AS (
    -- What changes the state of a task, and which of its lives it belongs to.  A life goes to the end that has no way
    -- back: what was evicted is paused there, and goes on with the next SCHEDULE.
    SELECT *, count(*) FILTER (type IN ('FAIL', 'FINISH', 'KILL', 'LOST')) OVER (
                  PARTITION BY collection_id, instance_index ORDER BY step
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS life
    FROM (
        SELECT *, row_number() OVER (PARTITION BY collection_id, instance_index
                                     ORDER BY time, list_position($tie_order, type), source_part, source_row) AS step
        FROM (
            SELECT collection_id, instance_index, time, type, machine_id, cpu_request, memory_request, source_part,
                   source_row
            FROM instance_events
            WHERE collection_type = 'JOB' AND time < 9223372036854775807
                  AND type IN ('SUBMIT', 'SCHEDULE', 'EVICT', 'FAIL', 'FINISH', 'KILL', 'LOST')
            UNION ALL
            -- Without any SCHEDULE, the first window is the start.
            SELECT collection_id, instance_index, first_time, 'SCHEDULE', NULL, NULL, NULL, 2147483647, 0
            FROM tasks WHERE collection_type = 'JOB' AND n_schedule = 0 AND n_windows > 0
        )
    )
), spans AS (
    SELECT collection_id, instance_index, life, min(time) AS begun, min(time) FILTER (type = 'SCHEDULE') AS started,
           coalesce(max(time) FILTER (type IN ('FAIL', 'FINISH', 'KILL', 'LOST')), 9223372036854775807) AS ended,
           -- SUBMIT rows at time 0 of 2011 are stale: the request of the first SCHEDULE is in force.
           coalesce(arg_min(cpu_request, step) FILTER (type = 'SCHEDULE'), arg_min(cpu_request, step)) AS cpu_request,
           coalesce(arg_min(memory_request, step) FILTER (type = 'SCHEDULE'), arg_min(memory_request, step))
               AS memory_request
    FROM steps GROUP BY ALL
), ran AS (
    -- A life that never ran has no length.  Each of the others is a task of its own, with an index that no other has.
    SELECT *, instance_index + life * (1 + max(instance_index) OVER (PARTITION BY collection_id)) AS task,
           -- A window belongs to the life that it begins in; those that begin before all lives to the first.
           CASE WHEN lag(life) OVER by_task IS NULL THEN 0 ELSE begun END AS since,
           coalesce(lead(begun) OVER by_task, 9223372036854775807) AS until
    FROM spans WHERE started < ended
    WINDOW by_task AS (PARTITION BY collection_id, instance_index ORDER BY life)
), lives AS (
    -- Their id of a task is the digits of its job and of its index, as a number.  Jobs are numbered where two tasks
    -- would have the same digits, or too many.
    SELECT *, CASE WHEN (SELECT max(length(concat(collection_id, task))) < 19
                                AND count(*) = count(DISTINCT concat(collection_id, task)) FROM ran)
              THEN collection_id ELSE 1000000000 + dense_rank() OVER (ORDER BY collection_id) END AS job
    FROM ran
), changes AS (
    SELECT *, lag(type) OVER (PARTITION BY collection_id, instance_index, life, type IN ('SCHEDULE', 'EVICT')
                              ORDER BY step) AS before
    FROM steps WHERE type != 'SUBMIT'
), events AS (
    SELECT collection_id, instance_index, life, step, time, machine_id, cpu_request, memory_request,
           -- Their reader skips LOST, so that the task would never end.
           CASE type WHEN 'SCHEDULE' THEN 1 WHEN 'EVICT' THEN 2 WHEN 'FAIL' THEN 3 WHEN 'FINISH' THEN 4 ELSE 5
           END AS code
    -- A SCHEDULE of a running task and an EVICT of one that does not run say nothing.
    FROM changes WHERE type NOT IN ('SCHEDULE', 'EVICT') OR type != coalesce(before, 'EVICT')
    UNION ALL
    -- One SUBMIT per life, its first instant: a second one would make a second task of the same id.
    SELECT collection_id, instance_index, life, 0, begun, NULL, cpu_request, memory_request, 0 FROM lives
), event_rows AS (
    SELECT events.time, job, task, step, machine_id, code, t."user",
           coalesce(t.scheduling_class, 0) AS scheduling_class,
           coalesce(t.priority, 0) AS priority, coalesce(events.cpu_request, t.cpu_request) AS cpu_request,
           coalesce(events.memory_request, t.memory_request) AS memory_request, t.disk_request
    FROM events
    JOIN lives USING (collection_id, instance_index, life)
    JOIN tasks t USING (collection_id, instance_index)
), plain_events AS (
    -- They take numbers with an exponent for missing ones.
    SELECT * EXCLUDE (cpu_request, memory_request, disk_request),
           rtrim(rtrim(CAST(CAST(CAST(COLUMNS(['cpu_request', 'memory_request', 'disk_request']) AS VARCHAR)
                                 AS DECIMAL(38, 12)) AS VARCHAR), '0'), '.')
    FROM event_rows
), usage AS (
    SELECT instance_usage.* REPLACE (greatest(start_time, begun) AS start_time), job, task
    FROM instance_usage JOIN lives USING (collection_id, instance_index)
    WHERE start_time >= since AND start_time < until AND end_time > begun AND start_time < ended
          AND end_time < 9223372036854775807
), plain_usage AS (
    SELECT start_time, end_time, job, task, machine_id, aggregation_type, source_part, source_row,
           rtrim(rtrim(CAST(CAST(CAST(COLUMNS([
               'average_cpu', 'average_memory', 'assigned_memory', 'unmapped_page_cache_memory', 'page_cache_memory',
               'maximum_memory', 'mean_disk_io_time', 'mean_disk_space', 'maximum_cpu', 'maximum_disk_io_time',
               'cycles_per_instruction', 'memory_accesses_per_instruction', 'sample_portion', 'sampled_cpu'
           ]) AS VARCHAR) AS DECIMAL(38, 12)) AS VARCHAR), '0'), '.')
    FROM usage
), lines AS (
    SELECT 0 AS part, time, job, task, step AS first, 0 AS second,
           concat_ws(',', time, '', job, task, coalesce(CAST(machine_id AS VARCHAR), ''), code, coalesce("user", ''),
                     scheduling_class, priority, coalesce(cpu_request, ''), coalesce(memory_request, ''),
                     coalesce(disk_request, ''), '') AS line
    FROM plain_events
    UNION ALL
    SELECT 1, start_time, job, task, source_part, source_row,
           concat_ws(',', start_time, end_time, job, task, coalesce(CAST(machine_id AS VARCHAR), ''),
                     coalesce(average_cpu, ''), coalesce(average_memory, ''), coalesce(assigned_memory, ''),
                     coalesce(unmapped_page_cache_memory, ''), coalesce(page_cache_memory, ''),
                     coalesce(maximum_memory, ''), coalesce(mean_disk_io_time, ''), coalesce(mean_disk_space, ''),
                     coalesce(maximum_cpu, ''), coalesce(maximum_disk_io_time, ''),
                     coalesce(cycles_per_instruction, ''),
                     coalesce(memory_accesses_per_instruction, ''), coalesce(sample_portion, ''),
                     coalesce(CAST(CAST(aggregation_type AS INTEGER) AS VARCHAR), ''), coalesce(sampled_cpu, ''))
    FROM plain_usage
)
SELECT part, line || chr(10) AS line FROM lines ORDER BY part, time, job, task, first, second
