-- Pairs of neighbouring events per 300 s window, as lifecycle/transitions.py defines them.
SELECT collection_type, step_time, from_type, to_type, count(*) AS n
FROM (
  SELECT collection_type, time // 300000000 * 300000000 AS step_time, type AS to_type,
         lag(type) OVER (PARTITION BY collection_id, instance_index ORDER BY time, source_part, source_row) AS from_type
  FROM instance_events
)
GROUP BY ALL
