-- Pending, queued and running as exact step functions, as lifecycle/occupancy.py defines them.
WITH placed AS (
  SELECT collection_type = 'JOB' AS is_job, queue_time, schedule_time, left_time,
         coalesce(submit_time, queue_time, enable_time) AS waiting_from,
         coalesce(enable_time, schedule_time, left_time) AS held_until
  FROM instance_attempts
), changes AS (
  SELECT is_job, waiting_from AS time, 1::TINYINT AS pending, 0::TINYINT AS queued, 0::TINYINT AS running FROM placed
  UNION ALL SELECT is_job, schedule_time, -(waiting_from IS NOT NULL)::TINYINT, 0::TINYINT, 1::TINYINT FROM placed
  UNION ALL SELECT is_job, left_time, -(waiting_from IS NOT NULL AND schedule_time IS NULL)::TINYINT, 0::TINYINT,
                   -(schedule_time IS NOT NULL)::TINYINT FROM placed
  UNION ALL SELECT is_job, queue_time, 0::TINYINT, 1::TINYINT, 0::TINYINT FROM placed
  UNION ALL SELECT is_job, held_until, 0::TINYINT, -1::TINYINT, 0::TINYINT FROM placed WHERE queue_time IS NOT NULL
), summed AS (
  SELECT is_job, time, sum(pending)::INT AS pending, sum(queued)::INT AS queued, sum(running)::INT AS running
  FROM changes WHERE time IS NOT NULL GROUP BY is_job, time
)
SELECT CASE WHEN is_job THEN 'JOB' ELSE 'ALLOC_SET' END AS collection_type, time,
       sum(pending) OVER so_far::BIGINT AS pending, sum(queued) OVER so_far::BIGINT AS queued,
       sum(running) OVER so_far::BIGINT AS running
FROM summed WINDOW so_far AS (PARTITION BY is_job ORDER BY time ROWS UNBOUNDED PRECEDING)
