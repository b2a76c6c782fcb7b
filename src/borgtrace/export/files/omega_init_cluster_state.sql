-- Jobs that ran when the trace began (11), and those of them whose tasks had all ended before its end (12).
WITH {lives}, rows AS (
    SELECT 11 AS kind, collection_id, concat_ws(' ', '11 0.000000', collection_id, is_production, class, there,
                                                printf('%.6f', cores), printf('%.0f', bytes)) AS line
    FROM jobs WHERE is_there
    UNION ALL
    SELECT 12, collection_id, concat_ws(' ', 12, printf('%.6f', ("left" - {zero}) / 1e6), collection_id, is_production, class, 0)
    FROM jobs WHERE is_there AND has_left AND "left" > {zero}
)
SELECT line || chr(10) AS line FROM rows ORDER BY kind, collection_id
