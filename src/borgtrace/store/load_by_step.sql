WITH windows AS (
    SELECT
        *,
        -- NULL where the end is not known: sums leave it out.
        nullif(end_time, $after) - start_time AS duration
    FROM instance_usage
)
SELECT
    greatest(start_time - $start, 0) // $step AS step,
    count(DISTINCT (collection_id, instance_index)) AS n_tasks,
    sum(average_cpu * duration) / $step AS cpu,
    sum(average_memory * duration) / $step AS memory
FROM windows
WHERE machine_id = $machine
  -- Only jobs: the usage of an alloc instance contains that of the tasks inside it and would count twice.
  AND collection_type = 'JOB'
GROUP BY step
ORDER BY step
