-- Each container that was measured, with what is known of it or of its pod.
SELECT t.* REPLACE (coalesce(t.app, p.app) AS app) FROM (
    SELECT * FROM whole_task_rows UNION ALL BY NAME
    SELECT task, {first} FROM whole_usage_rows WHERE task NOT IN (SELECT task FROM whole_task_rows) GROUP BY task
) t LEFT JOIN whole_task_rows p ON p.task = regexp_replace(t.task, '/[^/]*$', '')
