SELECT (submit_time - 600000000) // 3600000000 AS hour, count(*) FILTER (attempt = 1), count(*) FILTER (attempt > 1)
FROM instance_attempts
WHERE collection_type = 'JOB' AND submit_time >= 600000000 AND submit_time < 9223372036854775807
GROUP BY 1 ORDER BY 1
