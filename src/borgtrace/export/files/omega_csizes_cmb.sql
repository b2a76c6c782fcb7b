-- Tasks of each job that arrives.
WITH {lives}
SELECT concat_ws(' ', {cell}, 'cmb-new', is_service, tasks) || chr(10) AS line
FROM jobs WHERE submitted >= {zero} ORDER BY submitted, collection_id
