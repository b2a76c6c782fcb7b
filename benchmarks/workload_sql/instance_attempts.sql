-- One row per attempt, as lifecycle/attempts.py defines it.
WITH steps AS (
  SELECT collection_id, instance_index, time, source_part, source_row, priority, scheduling_class,
         cpu_request, memory_request, needs_different_machine, alloc_collection_id, machine_id,
         collection_type = 'JOB' AS is_job,
         missing_type IS NULL AS is_seen,
         CASE type WHEN 'SUBMIT' THEN 0 WHEN 'QUEUE' THEN 1 WHEN 'ENABLE' THEN 2 WHEN 'SCHEDULE' THEN 3 WHEN 'EVICT' THEN 4
              WHEN 'FAIL' THEN 5 WHEN 'FINISH' THEN 6 WHEN 'KILL' THEN 7 WHEN 'LOST' THEN 8 END::TINYINT AS step
  FROM instance_events WHERE type NOT IN ('UPDATE_PENDING', 'UPDATE_RUNNING')
), seen AS (
  SELECT *, lag(step) OVER life AS before, lead(step) OVER life AS after, lead(time) OVER life AS next_time
  FROM steps WINDOW life AS (PARTITION BY collection_id, instance_index ORDER BY time, source_part, source_row)
), numbered AS (
  SELECT *, sum((before IS NULL OR before > 3 OR (step <= before AND NOT (step IN (1, 2) AND before IN (1, 2))))::INT)
              OVER (PARTITION BY collection_id, instance_index ORDER BY time, source_part, source_row
                    ROWS UNBOUNDED PRECEDING)::INT AS attempt
  FROM seen
), summed AS (
  SELECT collection_id, instance_index, attempt, max(is_job) AS is_job,
         coalesce(max(priority) FILTER (step = 3), max(priority) FILTER (step > 3), max(priority)) AS priority,
         coalesce(max(scheduling_class) FILTER (step = 3), max(scheduling_class) FILTER (step > 3),
                  max(scheduling_class)) AS scheduling_class,
         coalesce(max(cpu_request) FILTER (step = 3), max(cpu_request) FILTER (step > 3),
                  max(cpu_request)) AS cpu_request,
         coalesce(max(memory_request) FILTER (step = 3), max(memory_request) FILTER (step > 3),
                  max(memory_request)) AS memory_request,
         coalesce(max(needs_different_machine) FILTER (step = 3), max(needs_different_machine) FILTER (step > 3),
                  max(needs_different_machine)) AS needs_different_machine,
         coalesce(max(alloc_collection_id) FILTER (step = 3), max(alloc_collection_id) FILTER (step > 3),
                  max(alloc_collection_id)) AS alloc_collection_id,
         coalesce(max(machine_id) FILTER (step = 3), max(machine_id) FILTER (step > 3), max(machine_id)) AS machine_id,
         max(priority) FILTER (step = 0) AS submit_priority,
         min(time) AS begin_time, min(time) FILTER (step = 0) AS submit_time, min(time) FILTER (step = 1) AS queue_time,
         max(time) FILTER (step = 2) AS enable_time, min(time) FILTER (step = 3) AS schedule_time,
         max(time) FILTER (step > 3) AS end_time, max(step) FILTER (step > 3) AS end_step,
         max(next_time) FILTER (step <= 3 AND after <= step AND NOT (step IN (1, 2) AND after IN (1, 2))) AS cut_time,
         max(next_time) FILTER (step > 3) AS next_time,
         bool_and(is_seen) FILTER (step IN (0, 3)) AS is_wait_seen, bool_and(is_seen) FILTER (step >= 3) AS is_run_seen
  FROM numbered GROUP BY collection_id, instance_index, attempt
)
SELECT collection_id, instance_index, attempt, CASE WHEN is_job THEN 'JOB' ELSE 'ALLOC_SET' END AS collection_type,
       priority, scheduling_class, cpu_request, memory_request, needs_different_machine, alloc_collection_id,
       machine_id, begin_time, submit_time, submit_priority, queue_time, enable_time, schedule_time, end_time,
       CASE end_step WHEN 4 THEN 'EVICT' WHEN 5 THEN 'FAIL' WHEN 6 THEN 'FINISH' WHEN 7 THEN 'KILL' WHEN 8 THEN 'LOST' END
         AS end_type,
       coalesce(end_time, cut_time) AS left_time, next_time,
       CASE WHEN submit_time > 0 AND schedule_time <> 9223372036854775807 AND is_wait_seen THEN schedule_time - submit_time END AS wait,
       CASE WHEN schedule_time > 0 AND end_time <> 9223372036854775807 AND is_run_seen THEN end_time - schedule_time END AS run,
       begin_time = 0 AS is_left_censored,
       coalesce(end_time, cut_time) IS NULL OR coalesce(end_time, cut_time) = 9223372036854775807 AS is_right_censored
FROM summed
