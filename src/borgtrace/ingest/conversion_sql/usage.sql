-- Windows with usage as fractions of the largest machine.
SELECT {collection} AS collection_id, coalesce(u.instance, 0) AS instance_index, {start} AS start_time, {stop} AS end_time,
       {machine} AS machine_id, 'JOB' AS collection_type, {average_cpu} AS average_cpu, {instant_cpu} AS sampled_cpu,
       {maximum_cpu} AS maximum_cpu, {average_memory} AS average_memory, {maximum_memory} AS maximum_memory,
       cycles_per_instruction, u.source_part, u.source_row
FROM ({windows}) u {joins}
