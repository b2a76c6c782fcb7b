SELECT time // 300000000 AS step, sum(new) AS new, sum(submitted) AS submitted, sum(scheduled) AS scheduled,
       sum(completed) AS completed
FROM (
  SELECT submit_time AS time, (attempt = 1)::INT AS new, 1 AS submitted, 0 AS scheduled, 0 AS completed
  FROM instance_attempts WHERE collection_type = 'JOB'
  UNION ALL SELECT schedule_time, 0, 0, 1, 0 FROM instance_attempts WHERE collection_type = 'JOB'
  UNION ALL SELECT end_time, 0, 0, 0, 1 FROM instance_attempts WHERE collection_type = 'JOB' AND end_type = 'FINISH'
) WHERE time > 0 AND time < 9223372036854775807
GROUP BY 1 ORDER BY 1
