WITH waits AS (
  SELECT schedule_time // 300000000 AS step, sum(wait) AS total, count(*) AS n
  FROM instance_attempts WHERE collection_type = 'JOB' AND wait IS NOT NULL GROUP BY 1
), runs AS (
  SELECT end_time // 300000000 AS step, sum(run) AS total, count(*) AS n
  FROM instance_attempts WHERE collection_type = 'JOB' AND run IS NOT NULL GROUP BY 1
)
SELECT step, sum(waits.total) OVER w / sum(waits.n) OVER w, sum(runs.total) OVER w / sum(runs.n) OVER w
FROM waits FULL JOIN runs USING (step) WINDOW w AS (ORDER BY step RANGE BETWEEN 11 PRECEDING AND CURRENT ROW) ORDER BY step
