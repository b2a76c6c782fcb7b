-- After kwok_labels.sql: a document for each node.
node_labels AS (
    SELECT machine_id, 'kubernetes.io/hostname' AS key, concat('machine-', machine_id) AS value FROM machines
    UNION ALL SELECT machine_id, 'type', 'kwok' FROM machines
    UNION ALL
    SELECT machine_id, 'borgtrace/platform', label FROM machines JOIN labels ON text = platform_id
    UNION ALL
    SELECT machine_id, 'attribute.borgtrace/' || names.label, contents.label
    FROM attributes
    JOIN labels AS names ON names.text = name
    JOIN labels AS contents ON contents.text = value
    UNION ALL
    SELECT machine_id, 'condition.borgtrace/' || number, 'met' FROM met
), label_lines AS (
    SELECT machine_id, string_agg(concat('    ', key, ': ', to_json(value)), chr(10) ORDER BY key) AS lines
    FROM node_labels
    GROUP BY machine_id
), amounts AS (
    SELECT machine_id, concat_ws(
               chr(10),
               concat('    cpu: ', CAST(round(cpu_capacity * $cores * 1000) AS BIGINT), 'm'),
               concat('    memory: "', CAST(floor(memory_capacity * $bytes) AS BIGINT), '"'),
               CASE WHEN gpu_capacity > 0
                    THEN concat('    borgtrace/gpu-milli: "', CAST(gpu_capacity * 1000 AS BIGINT), '"') END,
               -- Without a number no pod would fit; a machine of Borg has no limit.
               '    pods: "100000"') AS lines
    FROM machines
)
SELECT concat_ws(
           chr(10),
           '---', 'apiVersion: v1', 'kind: Node', 'metadata:', '  name: machine-' || machine_id,
           '  annotations:', '    kwok.x-k8s.io/node: fake', '  labels:', label_lines.lines,
           'status:', '  capacity:', amounts.lines, '  allocatable:', amounts.lines, '') AS line
FROM label_lines JOIN amounts USING (machine_id)
ORDER BY machine_id
