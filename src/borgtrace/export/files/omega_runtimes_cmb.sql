-- Seconds from the first start of a task of a job that arrives to the last end; their reader draws again where it is 0.
WITH {lives}
SELECT concat_ws(' ', {cell}, 'cmb-new', is_service, printf('%.6f', seconds)) || chr(10) AS line
FROM jobs WHERE submitted >= {zero} AND has_ended AND seconds > 0 ORDER BY submitted, collection_id
