WITH {lives}, changes AS (
    SELECT *, lag(type) OVER (PARTITION BY collection_id, instance_index, life, type IN ('SCHEDULE', 'EVICT')
                              ORDER BY step) AS before
    FROM steps WHERE type != 'SUBMIT'
), events AS (
    SELECT collection_id, instance_index, life, step, time, machine_id, cpu_request, memory_request,
           -- Their reader passes over LOST, so that the task would never end.
           CASE type WHEN 'LOST' THEN 'KILL' ELSE type END AS type
    -- A SCHEDULE of what runs and an EVICT of what does not say nothing.
    FROM changes WHERE type NOT IN ('SCHEDULE', 'EVICT') OR type != coalesce(before, 'EVICT')
    UNION ALL
    -- One SUBMIT a life, its first instant: a second one would make a second task of the same id.
    SELECT collection_id, instance_index, life, 0, begun, NULL, cpu_request, memory_request, 'SUBMIT' FROM lives
)
SELECT {task_events} FROM (
    SELECT events.time, NULL AS missing_type, job AS collection_id, task AS instance_index, machine_id, events.type, t.user,
           coalesce(t.scheduling_class, 0) AS scheduling_class, coalesce(t.priority, 0) AS priority,
           coalesce(events.cpu_request, t.cpu_request) AS cpu_request,
           coalesce(events.memory_request, t.memory_request) AS memory_request, t.disk_request,
           NULL::BOOLEAN AS needs_different_machine
    FROM events JOIN lives USING (collection_id, instance_index, life) JOIN tasks t USING (collection_id, instance_index)
    ORDER BY events.time, job, task, step
)
