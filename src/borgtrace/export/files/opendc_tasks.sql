WITH lives AS (
{lives}
)
SELECT CAST(id AS INTEGER) AS id, concat(collection_id, '-', instance_index) AS name,
       {origin} + begun - {zero} // 1000 AS submission_time, stopped - begun AS duration,
       CAST(cores AS INTEGER) AS cpu_count, cores * {clock} AS cpu_capacity,
       CAST(round(coalesce(memory_request, 0) * {bytes} / 1000) AS BIGINT) AS mem_capacity
FROM (SELECT *, greatest(1, ceil(coalesce(cpu_request, max_average_cpu, 0) * {cores} - 1e-4)) AS cores FROM lives)
ORDER BY id
