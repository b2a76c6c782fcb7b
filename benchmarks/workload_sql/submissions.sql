-- Before the trace (step -1), then per step of 300 s.
SELECT if(time = 0, -1, time // 300000000) AS step, sum(new) AS new, sum(submitted) AS submitted,
       sum(scheduled) AS scheduled, sum(completed) AS completed, sum(pending) AS pending
FROM (
  SELECT submit_time AS time, (attempt = 1)::INT AS new, 1 AS submitted, 0 AS scheduled, 0 AS completed, 1 AS pending
  FROM instance_attempts WHERE collection_type = 'JOB'
  UNION ALL SELECT schedule_time, 0, 0, 1, 0, 0 FROM instance_attempts WHERE collection_type = 'JOB'
  UNION ALL SELECT end_time, 0, 0, 0, 1, 0 FROM instance_attempts WHERE collection_type = 'JOB' AND end_type = 'FINISH'
  UNION ALL SELECT coalesce(schedule_time, left_time), 0, 0, 0, 0, -1 FROM instance_attempts
  WHERE collection_type = 'JOB' AND submit_time < 9223372036854775807
) WHERE time < 9223372036854775807
GROUP BY 1 ORDER BY 1
