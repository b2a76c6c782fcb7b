-- Windows with usage as fractions of the largest machine.
SELECT t.id AS collection_id, coalesce(u.instance, 0) AS instance_index, {start} AS start_time, {stop} AS end_time,
       {machine} AS machine_id, 'JOB' AS collection_type, {average_cpu} AS average_cpu, {instant_cpu} AS sampled_cpu,
       {maximum_cpu} AS maximum_cpu, {average_memory} AS average_memory, {maximum_memory} AS maximum_memory,
       {cycles_per_instruction} AS cycles_per_instruction, u.source_part, u.source_row
-- Joined with the ids of names: to make an id anew for each row took more than all the rest.
FROM ({windows}) u JOIN task_ids t ON t.name = u.task LEFT JOIN machine_ids k ON k.name = u.machine {joins}
