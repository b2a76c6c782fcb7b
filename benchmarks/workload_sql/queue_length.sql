WITH flows AS (
  SELECT step_time // 300000000 AS step,
         sum(CASE WHEN to_type = 'SUBMIT' THEN n WHEN to_type = 'SCHEDULE' THEN -n
                  WHEN to_type IN ('FAIL', 'KILL', 'LOST') AND from_type IN ('SUBMIT', 'UPDATE_PENDING', 'QUEUE', 'ENABLE')
                  THEN -n ELSE 0 END) AS queue,
         sum(CASE WHEN to_type = 'SCHEDULE' THEN n WHEN to_type IN ('FINISH', 'EVICT') THEN -n
                  WHEN to_type IN ('FAIL', 'KILL', 'LOST') AND from_type NOT IN ('SUBMIT', 'UPDATE_PENDING', 'QUEUE', 'ENABLE')
                  THEN -n ELSE 0 END) AS running,
         sum(CASE WHEN to_type = 'SUBMIT' AND from_type IS NULL THEN n WHEN to_type = 'FINISH' THEN -n ELSE 0 END) AS unfinished
  FROM instance_transitions WHERE collection_type = 'JOB' GROUP BY 1
), stocks AS (
  SELECT time // 300000000 AS step, arg_max(pending, time) AS pending, arg_max(running, time) AS running,
         min(pending) AS pending_min, max(pending) AS pending_max, min(running) AS running_min, max(running) AS running_max
  FROM instance_occupancy WHERE collection_type = 'JOB' AND time < 9223372036854775807 GROUP BY 1
)
SELECT step, sum(queue) OVER w, sum(flows.running) OVER w, sum(unfinished) OVER w, stocks.*
FROM flows FULL JOIN stocks USING (step) WINDOW w AS (ORDER BY step ROWS UNBOUNDED PRECEDING) ORDER BY step
