-- The median of all rows, and that of what the tasks of a machine use together in a window.
SELECT (SELECT median({column}) FROM {usage}), (SELECT median(total) FROM (
    SELECT sum({column} * least(end_time - start_time, {window})) / {window} AS total
    FROM {usage} WHERE machine_id IS NOT NULL GROUP BY machine_id, start_time // {window}))
