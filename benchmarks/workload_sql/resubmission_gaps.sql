SELECT end_type, CASE WHEN priority <= 1 THEN 'free' WHEN priority <= 8 THEN 'other' ELSE 'production' END AS tier,
       count(*), count(next_time), quantile_cont(next_time - end_time, [0.5, 0.9, 0.99])
FROM instance_attempts
WHERE collection_type = 'JOB' AND end_time > 0 AND end_time < 9223372036854775807
GROUP BY ALL ORDER BY ALL
