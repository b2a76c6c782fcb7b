-- After runs.sql: jobs, and a profile for each length of time, as the members of one JSON object.
jobs AS (
    SELECT number, submitted, processors, memory_request,
           concat_ws('-', collection_id, instance_index, attempt) AS id,
           rtrim(rtrim(CAST(CAST((ended - started) / 1e6 AS DECIMAL(18, 6)) AS VARCHAR), '0'), '.') AS seconds
    FROM runs
), extras AS (
    -- What Batsim does not use goes to the scheduler as text.
    SELECT *, CASE WHEN memory_request * $bytes >= 0
                   THEN to_json(printf('{"memory_bytes": %.0f}', memory_request * $bytes)) END AS extra
    FROM jobs
), profiles AS (
    SELECT seconds, row_number() OVER (ORDER BY CAST(seconds AS DOUBLE)) AS number FROM jobs GROUP BY seconds
), lines AS (
    SELECT 0 AS place, number,
           concat(CASE WHEN number > 1 THEN ',' END, '{"id": "', id, '", "subtime": ', (submitted - $zero) / 1e6,
                  ', "res": ', processors, ', "profile": "delay-', seconds, '"', ', "extra_data": ' || extra, '}') AS line
    FROM extras
    UNION ALL
    SELECT 1, 0, '], "profiles": {'
    UNION ALL
    SELECT 2, number, concat(CASE WHEN number > 1 THEN ',' END, '"delay-', seconds, '": {"type": "delay", "delay": ',
                             seconds, '}')
    FROM profiles
)
SELECT line || chr(10) AS line FROM lines ORDER BY place, number
