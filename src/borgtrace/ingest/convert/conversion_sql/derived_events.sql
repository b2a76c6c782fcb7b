-- Without rows about lives: submitted and scheduled when usage begins, with what is told of requests and owners.
WITH firsts AS (
    SELECT task, coalesce(instance, 0) AS instance_index,
           arg_min(machine, (start, source_part, source_row)) AS machine,
           arg_min(source_part, (start, source_part, source_row)) AS source_part,
           arg_min(source_row, (start, source_part, source_row)) AS source_row, min(start) AS begun
    FROM ({windows}) GROUP BY ALL
), about AS (
    SELECT task, coalesce(instance, 0) AS instance_index, arg_max(user, source_row) AS user,
           arg_max(priority, source_row) AS priority, arg_max(app, source_row) AS app,
           arg_max(cpu_request, source_row) AS cpu_request, arg_max(memory_request, source_row) AS memory_request
    FROM task_rows GROUP BY ALL
)
SELECT {collection} AS collection_id, e.instance_index, type, {begun} AS time,
       CASE WHEN step > 0 THEN {machine} END AS machine_id, user, priority, app, e.task AS name,
       {cpu} AS cpu_request, {memory} AS memory_request, 'JOB' AS collection_type,
       'EXISTS_BUT_NO_CREATION' AS missing_type, source_part, 4 * source_row + step AS source_row
FROM (SELECT *, unnest(['SUBMIT', 'SCHEDULE']) AS type, unnest([0, 1]) AS step FROM firsts) e
LEFT JOIN about a ON a.task = e.task AND a.instance_index = e.instance_index
