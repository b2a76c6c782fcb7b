-- Submitted and started with the first task, ended with the last.
WITH events AS (SELECT * FROM ({events}) WHERE type != 'UPDATE_RUNNING'), told AS (
    SELECT collection_id, count(DISTINCT instance_index) AS n, any_value(name) AS collection_name,
           any_value(app) AS collection_logical_name, any_value(user) AS user, any_value(priority) AS priority,
           count(DISTINCT instance_index) FILTER (type IN ({terminal})) AS n_ended
    FROM events GROUP BY collection_id
), steps AS (
    SELECT collection_id, type IN ({terminal}) AS is_end, type, time, missing_type, source_part, source_row,
           row_number() OVER (
               PARTITION BY collection_id, is_end, CASE WHEN NOT is_end THEN type END
               ORDER BY CASE WHEN is_end THEN -time ELSE time END, source_part, source_row) AS place
    FROM events
)
SELECT steps.*, told.* EXCLUDE (collection_id), start_after_collection_ids, 'JOB' AS collection_type
FROM steps JOIN told USING (collection_id) LEFT JOIN ({waits}) USING (collection_id)
WHERE place = 1 AND (NOT is_end OR n_ended = n)
