-- Windows that follow each other from the start of their task: rows say only how long they are.
SELECT *, stop - length AS start FROM (
    SELECT u.*, begun + sum(length) OVER (PARTITION BY u.task ORDER BY u.source_part, u.source_row) AS stop
    FROM usage_rows u JOIN (SELECT task, min(start) AS begun FROM task_rows GROUP BY task) t ON t.task = u.task)
