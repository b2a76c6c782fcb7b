WITH named AS (
  SELECT wait // 10000 AS wait, scheduling_class,
         CASE WHEN priority <= 1 THEN 'free' WHEN priority <= 8 THEN 'other' ELSE 'production' END AS tier
  FROM instance_attempts WHERE collection_type = 'JOB' AND wait IS NOT NULL
)
SELECT tier, scheduling_class, count(*), avg(wait),
       quantile_cont(wait, [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999, 1])
FROM named GROUP BY GROUPING SETS ((), (tier), (scheduling_class))
