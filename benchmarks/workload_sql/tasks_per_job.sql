SELECT n_tasks, count(*) AS n_jobs
FROM (SELECT collection_id, count(*) AS n_tasks FROM instance_attempts
      WHERE collection_type = 'JOB' AND attempt = 1 GROUP BY 1)
GROUP BY 1 ORDER BY 1
