LEFT JOIN (SELECT task, coalesce(instance, 0) AS instance, arg_max(cpu_request, source_row) AS cpu_request,
                  arg_max(cpu_clock, source_row) AS cpu_clock, arg_max(memory_request, source_row) AS memory_request
           FROM task_rows GROUP BY ALL) r
ON r.task = u.task AND r.instance = coalesce(u.instance, 0)
