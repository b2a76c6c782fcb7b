-- After alea_shapes.sql: number and name of a cluster, its machines, processors of each, their speed, memory of each.
clusters AS (
    SELECT cluster, count(*) AS n_machines, processors, kilobytes FROM placed GROUP BY cluster, processors, kilobytes
)
SELECT concat_ws(chr(9), cluster, 'shape' || cluster, n_machines, processors, 1, kilobytes) || chr(10) AS line
FROM clusters
ORDER BY cluster
