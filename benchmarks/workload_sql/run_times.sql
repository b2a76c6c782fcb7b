WITH ran AS (
  SELECT CASE WHEN priority <= 1 THEN 'free' WHEN priority <= 8 THEN 'other' ELSE 'production' END AS tier, scheduling_class,
         end_type, (least(coalesce(left_time, last), last) - schedule_time) // 1000000 AS seconds
  FROM instance_attempts, (SELECT max(time) AS last FROM instance_events WHERE time < 9223372036854775807)
  WHERE collection_type = 'JOB' AND schedule_time > 0 AND schedule_time < 9223372036854775807
), counted AS (
  SELECT tier, scheduling_class, seconds, count(*) AS n, count(end_type) AS ended, count(*) FILTER (end_type = 'FINISH') AS done
  FROM ran GROUP BY ALL
), cuts AS (
  SELECT 'all' AS cut, seconds, sum(n) AS n, sum(ended) AS ended, sum(done) AS done FROM counted GROUP BY ALL
  UNION ALL SELECT tier, seconds, sum(n), sum(ended), sum(done) FROM counted GROUP BY ALL
  UNION ALL SELECT scheduling_class::VARCHAR, seconds, sum(n), sum(ended), sum(done) FROM counted GROUP BY ALL
)
SELECT cut, seconds, 1 - exp(sum(ln(greatest(1 - ended / at_risk, 1e-300))) OVER (PARTITION BY cut ORDER BY seconds)) AS ended
FROM (SELECT *, sum(n) OVER (PARTITION BY cut ORDER BY seconds DESC) AS at_risk FROM cuts)
QUALIFY seconds IN (1, 60, 300, 1800, 3600) ORDER BY ALL
