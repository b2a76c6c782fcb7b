-- After runs.sql and alea_shapes.sql: from when and how long machines are away, in seconds after the first job.
span AS (
    -- Alea's time begins with the first job.
    SELECT $zero + (min(submitted) - $zero) // 1000000 * 1000000 AS origin, max(ended) AS until FROM runs
), states AS (
    SELECT machine_id, time, type = 'REMOVE' AS is_away, source_part, source_row
    FROM machine_events
    WHERE time < 9223372036854775807 AND type IN ('ADD', 'REMOVE')
    UNION ALL
    -- Before its first event a machine is not there.
    SELECT machine_id, -1, true, -1, -1 FROM machines
), spells AS (
    SELECT machine_id, is_away, greatest(time, origin) AS since,
           coalesce(lead(time) OVER (
               PARTITION BY machine_id
               ORDER BY time, list_position($tie_order, CASE WHEN is_away THEN 'REMOVE' ELSE 'ADD' END),
                        source_part, source_row), until) AS back
    FROM states CROSS JOIN span
), failures AS (
    SELECT (since - origin) // 1000000 AS time, (back - since) // 1000000 AS duration, cluster, place
    FROM spells JOIN placed USING (machine_id) CROSS JOIN span
    WHERE is_away AND back - since >= 1000000
)
SELECT concat_ws(chr(9), time, 'shape' || cluster, duration, string_agg(place, ' ' ORDER BY place)) || chr(10) AS line
FROM failures
GROUP BY time, duration, cluster
ORDER BY time, cluster, duration
