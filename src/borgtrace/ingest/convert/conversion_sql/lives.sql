-- Attempts with the times at which they were submitted, started and ended; NULL where that is not told.  And whether a row
-- says again that a task runs, of which no earlier row said an end.
SELECT *, CASE WHEN stopped < {last} THEN stopped END AS ended,
       coalesce(lag(started IS NOT NULL AND stopped IS NULL) OVER (
           PARTITION BY task, coalesce(instance, 0) ORDER BY submitted, source_part, source_row), false) AS is_update
FROM (
    SELECT *, coalesce("end", started + run) AS stopped
    FROM (SELECT *, coalesce(submit, start) AS submitted,
                 CASE WHEN status IS DISTINCT FROM 'SUBMIT' THEN coalesce(start, submit + wait) END AS started
          FROM {rows})
)
