-- After kwok_labels.sql and kwok_tasks.sql: a document for each pod, in order of arrival.
expressions AS (
    SELECT collection_id, instance_index,
           CASE WHEN number IS NOT NULL THEN {key: 'condition.borgtrace/' || number, operator: 'In', values: ['met']}
                WHEN relation = 'EQUAL'
                THEN {key: 'attribute.borgtrace/' || names.label, operator: 'In', values: [contents.label]}
                WHEN relation = 'NOT_EQUAL' AND value != ''
                THEN {key: 'attribute.borgtrace/' || names.label, operator: 'NotIn', values: [contents.label]}
                -- What is not empty is there.
                WHEN relation IN ('PRESENT', 'NOT_EQUAL')
                THEN {key: 'attribute.borgtrace/' || names.label, operator: 'Exists', values: CAST([] AS VARCHAR[])}
                ELSE {key: 'attribute.borgtrace/' || names.label, operator: 'DoesNotExist', values: CAST([] AS VARCHAR[])}
           END AS expression
    FROM constraints
    JOIN labels AS names ON names.text = name
    JOIN labels AS contents ON contents.text = value
    LEFT JOIN conditions USING (name, relation, value)
    UNION ALL
    SELECT collection_id, instance_index,
           {key: 'attribute.borgtrace/' || names.label, operator: 'NotIn', values: ['']}
    FROM constraints JOIN labels AS names ON names.text = name
    WHERE relation = 'NOT_EQUAL' AND value = ''
), selectors AS (
    SELECT collection_id, instance_index, to_json(list(expression ORDER BY expression)) AS terms
    FROM expressions
    GROUP BY ALL
), pods AS (
    SELECT *, CAST(ceil(round(cpu_request * CAST($cores AS FLOAT) * 1000, 2)) AS BIGINT) AS milli,
           CAST(ceil(round(memory_request * $bytes, 2)) AS BIGINT) AS memory,
           CAST(ceil(gpu_request) AS BIGINT) AS gpus,
           concat('job-', collection_id) AS job
    FROM candidates LEFT JOIN selectors USING (collection_id, instance_index)
    WHERE reason IS NULL
), requests AS (
    SELECT *, concat_ws(
               ', ',
               concat('cpu: ', milli, 'm'),
               concat('memory: "', memory, '"'),
               CASE WHEN gpus > 0 THEN concat('borgtrace/gpu-milli: "', gpus, '"') END) AS amounts
    FROM (SELECT * REPLACE (coalesce(milli, 0) AS milli, coalesce(memory, 0) AS memory) FROM pods)
)
SELECT concat_ws(
           chr(10),
           '---', 'apiVersion: v1', 'kind: Pod', 'metadata:', concat('  name: ', job, '-', instance_index),
           '  labels:', '    borgtrace/job: ' || job,
           '  annotations:', concat('    borgtrace/arrival-seconds: "', CAST((arrived - $zero) / 1e6 AS DECIMAL(18, 6)), '"'),
           '    pod-complete.stage.kwok.x-k8s.io/delay: ' || seconds || 's',
           'spec:', '  priorityClassName: priority-' || coalesce(priority, 0),
           '  containers:', '  - name: task', '    image: fake', '    resources:',
           concat('      requests: {', amounts, '}'),
           CASE WHEN gpus > 0 THEN concat('      limits: {borgtrace/gpu-milli: "', gpus, '"}') END,
           CASE WHEN terms IS NOT NULL OR is_apart THEN '  affinity:' END,
           '    nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: '
           || terms || '}]}}',
           CASE WHEN is_apart
                THEN concat('    podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: ',
                            '{matchLabels: {borgtrace/job: ', job, '}}, topologyKey: kubernetes.io/hostname}]}') END,
           '') AS line
FROM requests
ORDER BY arrived, source_part, source_row, collection_id, instance_index
