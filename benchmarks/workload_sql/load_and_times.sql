WITH levels AS (
  SELECT (greatest(time, 600000000) - 600000000) // 86400000000 AS day, greatest(time, 600000000) AS time, pending, running,
         lead(time) OVER (PARTITION BY (greatest(time, 600000000) - 600000000) // 86400000000 ORDER BY time) AS until
  FROM instance_occupancy WHERE collection_type = 'JOB' AND time < 9223372036854775807
), loads AS (
  SELECT day, sum(pending * ((coalesce(until, (day + 1) * 86400000000 + 600000000) - time) // 1000)) AS pending,
         sum(running * ((coalesce(until, (day + 1) * 86400000000 + 600000000) - time) // 1000)) AS running
  FROM levels GROUP BY 1
), waits AS (
  SELECT (schedule_time - 600000000) // 86400000000 AS day, avg(wait) AS wait FROM instance_attempts
  WHERE collection_type = 'JOB' AND wait IS NOT NULL AND schedule_time >= 600000000 GROUP BY 1
), runs AS (
  SELECT (end_time - 600000000) // 86400000000 AS day, avg(run) AS run FROM instance_attempts
  WHERE collection_type = 'JOB' AND run IS NOT NULL AND end_time >= 600000000 GROUP BY 1
)
SELECT * FROM loads FULL JOIN waits USING (day) FULL JOIN runs USING (day) ORDER BY day
