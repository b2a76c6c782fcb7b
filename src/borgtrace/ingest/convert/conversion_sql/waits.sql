-- The collections that each waits for, as names of tasks say; those that no row is about are left out.
WITH numbered AS (
    SELECT DISTINCT job, task, regexp_extract(own_name, '^{pattern}$', ['number', 'others']) AS found FROM whole_tasks
), wanted AS (SELECT job, task, unnest(string_split(found.others, '_')) AS number FROM numbered)
SELECT {collection} AS collection_id, list_sort(list(DISTINCT {other})) AS start_after_collection_ids
FROM wanted w JOIN numbered n ON n.job = w.job AND n.found.number = w.number
WHERE w.number != '' GROUP BY w.task
