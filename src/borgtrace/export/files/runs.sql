-- After attempts.sql: attempts with a length, numbered as they arrive, and why the others have none.
measured AS (
    -- What does not end in the trace runs to its end.
    SELECT * REPLACE (CASE WHEN ended >= started THEN ended ELSE last END AS ended),
           started IS NOT NULL AND NOT coalesce(ended >= started, false) AS is_cut
    FROM attempts
    CROSS JOIN (SELECT max(time) AS last FROM instance_events WHERE time < 9223372036854775807)
), judged AS (
    SELECT *, CASE WHEN started IS NULL THEN 'that never started'
                   WHEN ended <= started THEN 'without a length' END AS reason
    FROM measured
), runs AS (
    SELECT *, row_number() OVER (ORDER BY submitted, collection_id, instance_index, attempt) AS number,
           -- A share of a processor takes a whole one.
           CAST(greatest(1, ceil(coalesce(cpu_request, 0) * CAST($cores AS FLOAT) - 1e-4)) AS BIGINT) AS processors
    FROM judged WHERE reason IS NULL
)
