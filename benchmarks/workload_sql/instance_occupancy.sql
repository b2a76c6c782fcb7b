-- Pending, queued and running as exact step functions, as lifecycle/occupancy.py defines them.
WITH placed AS (
  SELECT collection_type, queue_time, schedule_time, left_time,
         coalesce(submit_time, queue_time, enable_time) AS waiting_from,
         coalesce(enable_time, schedule_time, left_time) AS held_until
  FROM instance_attempts
), changes AS (
  SELECT collection_type, waiting_from AS time, 1 AS pending, 0 AS queued, 0 AS running FROM placed
  UNION ALL SELECT collection_type, schedule_time, -(waiting_from IS NOT NULL)::INT, 0, 1 FROM placed
  UNION ALL SELECT collection_type, left_time, -(waiting_from IS NOT NULL AND schedule_time IS NULL)::INT, 0,
                   -(schedule_time IS NOT NULL)::INT FROM placed
  UNION ALL SELECT collection_type, queue_time, 0, 1, 0 FROM placed
  UNION ALL SELECT collection_type, held_until, 0, -1, 0 FROM placed WHERE queue_time IS NOT NULL
), summed AS (
  SELECT collection_type, time, sum(pending) AS pending, sum(queued) AS queued, sum(running) AS running
  FROM changes WHERE time IS NOT NULL GROUP BY collection_type, time
)
SELECT collection_type, time, sum(pending) OVER so_far::BIGINT AS pending, sum(queued) OVER so_far::BIGINT AS queued,
       sum(running) OVER so_far::BIGINT AS running
FROM summed WINDOW so_far AS (PARTITION BY collection_type ORDER BY time ROWS UNBOUNDED PRECEDING)
