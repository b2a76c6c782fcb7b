-- After attempts.sql: a line for each attempt of a task, −1 where nothing is known.
named AS (
    SELECT *, CASE WHEN max(instance_index) OVER () = 0 THEN collection_id
                   ELSE dense_rank() OVER (ORDER BY collection_id, instance_index) END AS job,
           attempt = max(attempt) OVER (PARTITION BY collection_id, instance_index) AS is_last,
           -- Numbers where all are numbers, else places among all of them.
           bool_and(user IS NULL OR TRY_CAST(user AS BIGINT) IS NOT NULL) OVER () AS are_users,
           bool_and(app IS NULL OR TRY_CAST(app AS BIGINT) IS NOT NULL) OVER () AS are_apps
    FROM attempts LEFT JOIN (SELECT collection_id, any_value(collection_logical_name) AS app FROM collection_events
                             GROUP BY collection_id) USING (collection_id)
)
SELECT concat_ws(' ', *COLUMNS(*)) || chr(10) AS line
FROM (
    SELECT job, (submitted - $zero) // 1000000 AS submit, coalesce((started - submitted) // 1000000, -1) AS wait,
           coalesce((ended - started) // 1000000, -1) AS run,
           coalesce(CAST(round(cpu_request * CAST($cores AS FLOAT)) AS BIGINT), -1) AS processors,
           -1 AS cpu_time, -1 AS memory,
           processors AS asked, -1 AS asked_time, -1 AS asked_memory,
           CASE type WHEN 'FINISH' THEN CASE WHEN n > 1 THEN 3 ELSE 1 END
                     WHEN 'FAIL' THEN CASE WHEN n > 1 AND is_last THEN 4 ELSE 0 END
                     WHEN 'KILL' THEN 5 WHEN 'EVICT' THEN 2 ELSE -1 END AS status,
           CASE WHEN user IS NULL THEN -1 WHEN are_users THEN TRY_CAST(user AS BIGINT)
                ELSE dense_rank() OVER (ORDER BY user) END AS user_number, -1 AS "group",
           CASE WHEN app IS NULL THEN -1 WHEN are_apps THEN TRY_CAST(app AS BIGINT)
                ELSE dense_rank() OVER (ORDER BY app) END AS program,
           -1 AS queue, -1 AS partition, -1 AS preceding, -1 AS think
    FROM named ORDER BY submit, job, attempt
)
