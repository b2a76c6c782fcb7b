-- Attempts of tasks, each from its SUBMIT to its end.
events AS (
    SELECT collection_id, instance_index, time, type, user, cpu_request, memory_request,
           count(*) FILTER (type = 'SUBMIT') OVER (
               PARTITION BY collection_id, instance_index ORDER BY time, source_part, source_row
               ROWS UNBOUNDED PRECEDING) AS attempt
    FROM instance_events WHERE collection_type = 'JOB' AND time < 9223372036854775807
), attempts AS (
    -- What began before the trace begins with it.
    SELECT collection_id, instance_index, attempt, any_value(user) AS user, min(greatest(time, $zero)) AS submitted,
           min(greatest(time, $zero)) FILTER (type = 'SCHEDULE') AS started,
           max(time) FILTER (list_contains($terminal, type)) AS ended,
           arg_max(type, time) FILTER (list_contains($terminal, type)) AS type,
           -- SUBMIT rows at time 0 of 2011 are stale: the request of the SCHEDULE is in force.
           coalesce(max(cpu_request) FILTER (type = 'SCHEDULE'),
                    max(cpu_request) FILTER (list_contains($terminal, type)), max(cpu_request)) AS cpu_request,
           coalesce(max(memory_request) FILTER (type = 'SCHEDULE'),
                    max(memory_request) FILTER (list_contains($terminal, type)), max(memory_request))
               AS memory_request,
           count(*) OVER (PARTITION BY collection_id, instance_index) AS n
    FROM events GROUP BY collection_id, instance_index, attempt
)
