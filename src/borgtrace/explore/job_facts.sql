-- What the index of tasks says of a job.
SELECT max(user) AS user, max(priority) AS priority, max(scheduling_class) AS scheduling_class,
       max(collection_logical_name) AS collection_logical_name, count(*) AS n_instances,
       sum(n_windows)::BIGINT AS n_windows, sum(cpu_request) AS cpu_request, sum(memory_request) AS memory_request,
       sum(n_submit)::BIGINT AS n_submit, sum(n_evict)::BIGINT AS n_evict, sum(n_fail)::BIGINT AS n_fail
FROM tasks WHERE collection_id = {job}
