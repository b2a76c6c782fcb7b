-- After kwok_tasks.sql: a document for each priority.
priorities AS (
    SELECT DISTINCT coalesce(priority, 0) AS priority FROM candidates WHERE reason IS NULL
)
SELECT concat_ws(
           chr(10),
           '---', 'apiVersion: scheduling.k8s.io/v1', 'kind: PriorityClass', 'metadata:',
           '  name: priority-' || priority, 'value: ' || priority, '') AS line
FROM priorities
ORDER BY priority
