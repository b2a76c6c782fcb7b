-- A job is scheduled with its first task, and ends with its last one, as it ended in the trace.
SELECT * FROM (
    SELECT c.* REPLACE (
        CASE WHEN s.collection_id IS NULL THEN c.time
             WHEN c.type = 'SCHEDULE' THEN s.began
             WHEN c.type IN ('EVICT', 'FAIL', 'FINISH', 'KILL', 'LOST') THEN s.ended
             ELSE c.time END AS time
    )
    FROM collection_events AS c LEFT JOIN (
        SELECT collection_id, min(time) FILTER (type = 'SCHEDULE') AS began,
            CASE WHEN count(*) FILTER (type = 'SUBMIT') = count(*) FILTER (type IN ('EVICT', 'FAIL', 'FINISH', 'KILL', 'LOST'))
                 THEN max(time) END AS ended
        FROM simulated GROUP BY collection_id
    ) AS s USING (collection_id)
) WHERE time IS NOT NULL
