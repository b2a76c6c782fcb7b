-- After machines.sql: what becomes a label.  Keys and values of labels have at most 63 characters of few kinds.
attributes AS (
    -- The first value of each attribute of a machine.
    SELECT machine_id, name, arg_min(coalesce(value, ''), (time, source_part, source_row)) AS value
    FROM machine_attributes
    WHERE NOT coalesce(is_deleted, false)
    GROUP BY machine_id, name
), last_constrained AS (
    SELECT collection_id, instance_index, max(time) AS time FROM instance_constraints GROUP BY ALL
), constraints AS (
    SELECT DISTINCT collection_id, instance_index, name, relation, coalesce(value, '') AS value
    FROM instance_constraints JOIN last_constrained USING (collection_id, instance_index, time)
), texts AS (
    SELECT name AS text FROM attributes
    UNION SELECT value FROM attributes
    UNION SELECT name FROM constraints
    UNION SELECT value FROM constraints
    UNION SELECT platform_id FROM machines WHERE platform_id IS NOT NULL
), labels AS (
    -- What is a label by itself stays; the rest, and what looks like the rest, gets a digest: no two texts meet.
    SELECT text,
           CASE WHEN text = '' THEN ''
                WHEN regexp_full_match(text, '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?')
                     AND NOT regexp_matches(text, '-[0-9a-f]{16}$') THEN text
                ELSE concat('x', regexp_replace(left(text, 16), '[^A-Za-z0-9]+', '-', 'g'), '-', left(md5(text), 16))
           END AS label
    FROM texts
), conditions AS (
    -- Kubernetes takes a missing label for no number, and none for an empty one: such constraints have a label of
    -- their own on the nodes that meet them.
    SELECT *, row_number() OVER (ORDER BY name, relation, value) AS number
    FROM (SELECT DISTINCT name, relation, value FROM constraints)
    WHERE relation NOT IN ('EQUAL', 'NOT_EQUAL', 'PRESENT', 'NOT_PRESENT') OR (relation = 'EQUAL' AND value = '')
), compared AS (
    SELECT machine_id, number, relation, c.value AS wanted, coalesce(a.value, '') AS had,
           CASE WHEN had = '' THEN 0 WHEN regexp_full_match(had, '[+-]?[0-9]+') THEN TRY_CAST(had AS HUGEINT) END
               AS amount,
           CASE WHEN wanted = '' THEN 0 WHEN regexp_full_match(wanted, '[+-]?[0-9]+') THEN TRY_CAST(wanted AS HUGEINT)
           END AS bound
    FROM conditions c
    CROSS JOIN (SELECT machine_id FROM machines)
    LEFT JOIN attributes a USING (machine_id, name)
), met AS (
    SELECT machine_id, number
    FROM compared
    WHERE CASE relation WHEN 'EQUAL' THEN had = ''
                        WHEN 'LESS_THAN' THEN amount < bound
                        WHEN 'GREATER_THAN' THEN amount > bound
                        WHEN 'LESS_THAN_EQUAL' THEN amount <= bound
                        WHEN 'GREATER_THAN_EQUAL' THEN amount >= bound END
)
