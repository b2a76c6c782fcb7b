-- Up to three events of each row about a task; each has a place of its own in the order of the file.
WITH lives AS ({lives}), events AS (
    -- What runs already is not submitted again: a row that says so once more is an update.
    SELECT *, CASE WHEN is_update THEN 'UPDATE_RUNNING' ELSE 'SUBMIT' END AS type, {submitted} AS time, 0 AS step
    FROM lives
    UNION ALL
    SELECT *, 'SCHEDULE' AS type, CASE WHEN NOT is_update THEN {started} END AS time, 1 AS step FROM lives
    UNION ALL
    SELECT *, CASE WHEN status IS NULL THEN 'FINISH' WHEN status IN ({terminal}) THEN status END AS type,
           {ended} AS time, 2 AS step
    FROM lives
)
SELECT {collection} AS collection_id, coalesce(instance, 0) AS instance_index, type, time,
       CASE WHEN step > 0 OR is_update THEN {machine} END AS machine_id, user, priority, app, task AS name,
       {cpu} AS cpu_request, {memory} AS memory_request,
       -- All devices together, whole ones where no share of one is told; a share alone is of one device.
       coalesce(gpus * coalesce(gpu_share, 1000), gpu_share) AS gpu_request, 'JOB' AS collection_type, NULL AS missing_type,
       source_part, 4 * source_row + step AS source_row
FROM events WHERE time IS NOT NULL AND type IS NOT NULL
