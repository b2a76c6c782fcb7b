-- One window of all of a task that start in one slot: means are weighed by length.
SELECT collection_id, instance_index, machine_id, (start_time - {zero}) // {window} AS slot,
       min(start_time) AS start_time, max(end_time) AS end_time, 'JOB' AS collection_type,
       sum(average_cpu * (end_time - start_time))
           / nullif(sum(end_time - start_time) FILTER (average_cpu IS NOT NULL), 0) AS average_cpu,
       sum(average_memory * (end_time - start_time))
           / nullif(sum(end_time - start_time) FILTER (average_memory IS NOT NULL), 0) AS average_memory,
       sum(cycles_per_instruction * (end_time - start_time))
           / nullif(sum(end_time - start_time) FILTER (cycles_per_instruction IS NOT NULL), 0) AS cycles_per_instruction,
       max(coalesce(maximum_cpu, sampled_cpu)) AS maximum_cpu, arg_max(sampled_cpu, start_time) AS sampled_cpu,
       max(maximum_memory) AS maximum_memory, {first}
FROM ({rows}) GROUP BY collection_id, instance_index, machine_id, slot
