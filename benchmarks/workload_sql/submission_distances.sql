WITH instants AS (
  SELECT time, sum(new) AS d_new, sum(submitted) AS d_sub, sum(scheduled) AS d_sch, sum(completed) AS d_fin
  FROM (
    SELECT submit_time AS time, (attempt = 1)::INT AS new, 1 AS submitted, 0 AS scheduled, 0 AS completed
    FROM instance_attempts WHERE collection_type = 'JOB'
    UNION ALL SELECT schedule_time, 0, 0, 1, 0 FROM instance_attempts WHERE collection_type = 'JOB'
    UNION ALL SELECT end_time, 0, 0, 0, 1 FROM instance_attempts WHERE collection_type = 'JOB' AND end_type = 'FINISH'
  ) WHERE time > 0 AND time < 9223372036854775807
  GROUP BY 1
), totals AS (
  SELECT min(time) AS b, max(time) AS e, sum(d_new) AS n_new, sum(d_sub) AS n_sub, sum(d_sch) AS n_sch, sum(d_fin) AS n_fin
  FROM instants
), curves AS (
  SELECT (time - b) / (e - b) AS line,
         sum(d_new) OVER w / n_new AS new, d_new / n_new AS s_new, sum(d_sub) OVER w / n_sub AS sub, d_sub / n_sub AS s_sub,
         sum(d_sch) OVER w / n_sch AS sch, d_sch / n_sch AS s_sch, sum(d_fin) OVER w / n_fin AS fin, d_fin / n_fin AS s_fin
  FROM instants, totals WINDOW w AS (ORDER BY time ROWS UNBOUNDED PRECEDING)
)
SELECT max(greatest(abs(new - line), abs(new - s_new - line))), max(greatest(abs(sub - line), abs(sub - s_sub - line))),
       max(greatest(abs(sch - line), abs(sch - s_sch - line))), max(greatest(abs(fin - line), abs(fin - s_fin - line))),
       max(abs(new - sub)), max(abs(new - sch)), max(abs(new - fin)), max(abs(sub - sch)), max(abs(sub - fin)),
       max(abs(sch - fin))
FROM curves
