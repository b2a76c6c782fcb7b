-- The windows between values of a counter, with the mean of each.  A counter that falls was reset, and counts from 0: its
-- increase is the new value.  Values that are further apart than some steps are not joined: there is a gap.
SELECT * REPLACE ((CASE WHEN counter_cpu >= before THEN counter_cpu - before ELSE counter_cpu END)
                  / ((time - start) / 1e6) AS average_cpu), time AS stop
FROM (SELECT *, lag(time) OVER ({order}) AS start, lag(counter_cpu) OVER ({order}) AS before
      FROM usage_rows WHERE counter_cpu IS NOT NULL)
WHERE start < time AND time - start <= {longest}
