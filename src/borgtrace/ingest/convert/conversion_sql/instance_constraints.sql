-- The GPU models that a task accepts.  A constraint cannot name one of several: it must be none of all other models there are.
WITH lives AS ({lives}), models AS (SELECT DISTINCT gpu_model AS other FROM machine_rows WHERE gpu_model IS NOT NULL),
asked AS (
    SELECT *, 'EQUAL' AS relation, gpu_model AS value FROM lives WHERE gpu_model NOT LIKE '%|%'
    UNION ALL
    SELECT lives.*, 'NOT_EQUAL', other FROM lives JOIN models
    ON gpu_model LIKE '%|%' AND NOT list_contains(string_split(gpu_model, '|'), other)
)
SELECT {collection} AS collection_id, coalesce(instance, 0) AS instance_index, {submitted} AS time,
       'gpu_model' AS name, relation, value, source_part, source_row,
       row_number() OVER (PARTITION BY source_part, source_row ORDER BY value) - 1 AS position
FROM asked WHERE submitted IS NOT NULL
