SELECT CASE WHEN priority <= 1 THEN 'free' WHEN priority <= 8 THEN 'other' ELSE 'production' END AS tier, scheduling_class,
       sum(greatest(least(coalesce(left_time, last), last) - greatest(schedule_time, 600000000), 0) // 1000) AS milliseconds,
       count(*) FILTER (inside AND end_type = 'EVICT'), count(*) FILTER (inside AND end_type = 'FAIL'),
       count(*) FILTER (inside AND end_type = 'FINISH'), count(*) FILTER (inside AND end_type = 'KILL'),
       count(*) FILTER (inside AND end_type = 'LOST')
FROM (SELECT *, end_time >= 600000000 AND end_time < 9223372036854775807 AS inside FROM instance_attempts),
     (SELECT max(time) AS last FROM instance_events WHERE time < 9223372036854775807)
WHERE collection_type = 'JOB' AND schedule_time < 9223372036854775807
GROUP BY ALL ORDER BY ALL
