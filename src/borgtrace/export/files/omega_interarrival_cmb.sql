-- Seconds from each job that arrives to the next one of the same scheduler.
WITH {lives}
SELECT concat_ws(' ', {cell}, 'cmb-new', is_service, printf('%.6f', waited)) || chr(10) AS line
FROM (SELECT *, (submitted - lag(submitted) OVER (PARTITION BY is_service ORDER BY submitted, collection_id)) / 1e6 AS waited
      FROM jobs WHERE submitted >= {zero})
WHERE waited IS NOT NULL ORDER BY submitted, collection_id
