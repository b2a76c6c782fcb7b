SELECT e.* REPLACE (
    t."user" AS "user",
    t.scheduling_class AS scheduling_class,
    t.gpu_request AS gpu_request,
    t.cpu_limit AS cpu_limit,
    t.memory_limit AS memory_limit
)
FROM simulated AS e LEFT JOIN tasks AS t USING (collection_id, instance_index)
