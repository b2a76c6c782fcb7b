SELECT collection_id, count(*) AS n_fail, count(DISTINCT instance_index) AS n_tasks, max(priority) AS priority,
       (SELECT count(*) FROM instance_attempts WHERE collection_type = 'JOB' AND end_type = 'FAIL') AS total
FROM instance_attempts WHERE collection_type = 'JOB' AND end_type = 'FAIL'
GROUP BY 1 ORDER BY n_fail DESC, collection_id LIMIT 20
