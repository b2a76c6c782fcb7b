-- After runs.sql: the 18 fields of SWF and three of Alea's: places (not known), queue, and nodes with their processors.
tiers AS (
    SELECT unnest($tiers) AS tier, unnest($lowest) AS low, unnest($highest) AS high
), lines AS (
    SELECT number, concat_ws(
               ' ', number, (submitted - $zero) // 1000000, (started - submitted) // 1000000,
               -- Alea has no shorter time.
               greatest(1, CAST(round((ended - started) / 1e6) AS BIGINT)), processors, -1, -1, processors, -1,
               coalesce(CAST(ceil(memory_request * $bytes / 1024) AS BIGINT), -1),
               CASE type WHEN 'FINISH' THEN 1 WHEN 'FAIL' THEN 0 ELSE 5 END,
               CASE WHEN runs.user IS NULL THEN -1 ELSE dense_rank() OVER (ORDER BY runs.user) END,
               -1, -1, -1, -1, -1, -1, -1,
               coalesce(replace(tier, ' ', '-'), 'none'), '1:ppn=' || processors) AS line
    FROM runs
    JOIN (SELECT collection_id, instance_index, priority FROM tasks) USING (collection_id, instance_index)
    LEFT JOIN tiers ON priority BETWEEN low AND high
)
SELECT line || chr(10) AS line FROM lines ORDER BY number
