SELECT e.* REPLACE (t."user" AS "user", t.scheduling_class AS scheduling_class, t.gpu_request AS gpu_request)
FROM simulated AS e LEFT JOIN tasks AS t USING (collection_id, instance_index)
