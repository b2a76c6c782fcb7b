-- What a task asks of GPUs, as constraints on its machine: all of its devices together, whole ones where no share is told; a
-- task of none asks for nothing.
WITH lives AS ({lives}), asked AS (
    SELECT *, 'gpu_thousandths' AS name, 'GREATER_THAN_EQUAL' AS relation, 0 AS position,
           CAST(CAST(nullif(coalesce(gpus, 1) * coalesce(gpu_share, 1000 * least(gpus, 1)), 0) AS BIGINT) AS VARCHAR)
           AS value
    FROM lives
    UNION ALL
    SELECT *, 'gpu_model', 'EQUAL', 1, gpu_model FROM lives
)
SELECT {collection} AS collection_id, coalesce(instance, 0) AS instance_index, {submitted} AS time,
       name, relation, value, position, source_part, source_row
FROM asked WHERE value IS NOT NULL AND submitted IS NOT NULL
