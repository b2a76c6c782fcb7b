-- Rows of tasks without those that are about all instances of a task: these give each instance its request.
SELECT n.* REPLACE (
    CASE WHEN instance_name IS NULL THEN instance
         ELSE dense_rank() OVER (PARTITION BY n.task ORDER BY instance_name) - 1 END AS instance,
    coalesce(n.cpu_request, w.cpu_request) AS cpu_request,
    coalesce(n.memory_request, w.memory_request) AS memory_request)
FROM named_tasks n LEFT JOIN (
    SELECT task, any_value(cpu_request) AS cpu_request, any_value(memory_request) AS memory_request
    FROM whole_tasks GROUP BY task) w ON w.task = n.task
WHERE n.job IS NULL OR instance_name IS NOT NULL
