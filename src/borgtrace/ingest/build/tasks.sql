-- What usage says of each instance (usage_index), joined with what its events say. The place of a row in its file orders
-- the events of an instance: they lie in one file, sorted by time and source.
WITH last_times AS (
    SELECT collection_id, instance_index, max(time) AS last_time FROM instance_events GROUP BY ALL
), told AS (
    SELECT collection_id, instance_index, arg_max(collection_type, file_row_number) AS collection_type,
           min(time) AS first_event, max(time) AS last_event, {known}, {counts},
           arg_max(user, file_row_number) AS user, {ended} AS end_type
    FROM instance_events {latest}
    GROUP BY collection_id, instance_index
), names AS (
    SELECT collection_id, arg_max(user, file_row_number) AS user,
           arg_max(collection_logical_name, file_row_number) AS collection_logical_name
    FROM collection_events GROUP BY collection_id
), joined AS (
    SELECT coalesce(u.collection_id, e.collection_id) AS collection_id,
           coalesce(u.instance_index, e.instance_index) AS instance_index,
           coalesce(u.collection_type, e.collection_type) AS collection_type,
           u.* EXCLUDE (collection_id, instance_index, collection_type, first_row,
                        n_windows, n_gaps, n_machines, seconds, first_time, last_time),
           u.first_row, coalesce(u.n_windows, 0) AS n_windows, coalesce(u.n_gaps, 0) AS n_gaps,
           coalesce(u.n_machines, 0) AS n_machines, coalesce(u.seconds, 0) AS seconds,
           coalesce(u.first_time, e.first_event) AS first_time,
           coalesce(u.last_time, e.last_event) AS last_time,
           e.* EXCLUDE (collection_id, instance_index, collection_type, first_event, last_event, user)
               REPLACE ({not_null}),
           coalesce(e.user, n.user) AS user, n.collection_logical_name
    FROM usage_index u FULL JOIN told e
         ON u.collection_id = e.collection_id AND u.instance_index = e.instance_index
    LEFT JOIN names n ON n.collection_id = coalesce(u.collection_id, e.collection_id)
), ordered AS (
    SELECT * FROM joined ORDER BY collection_id, instance_index
), placed AS (
    -- Without an order of its own, the window runs over the rows as they come.
    SELECT * REPLACE (CAST({first_row} + sum(n_windows) OVER (
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - n_windows AS BIGINT) AS first_row) FROM ordered
)
SELECT {columns} FROM placed
