-- A value for each five minutes of each day on which a task has use: the mean over all of them, none where nothing ran.
WITH sized AS (
    -- Of a task without a request it is not known how large its VM is: that of the largest machine, as when it is read.
    SELECT
        collection_id,
        instance_index,
        CASE WHEN cpu_request > 0 THEN cpu_request ELSE 1 END AS cpu
    FROM tasks
    WHERE collection_type = 'JOB'
), windows AS (
    SELECT
        collection_id,
        instance_index,
        start_time + $shift AS start,
        end_time + $shift AS stop,
        average_cpu / cpu AS used
    FROM instance_usage
    JOIN sized USING (collection_id, instance_index)
    WHERE average_cpu IS NOT NULL AND start_time >= $zero AND end_time < 9223372036854775807
), pieces AS (
    SELECT *, unnest(range(start // $slot, (stop - 1) // $slot + 1)) AS slot FROM windows
), means AS (
    SELECT
        collection_id,
        instance_index,
        slot // $slots_of_day AS day,
        slot % $slots_of_day AS slot,
        sum(used * (least(stop, (slot + 1) * $slot) - greatest(start, slot * $slot))) / $slot AS used
    FROM pieces
    GROUP BY ALL
), days AS (
    SELECT
        day,
        collection_id,
        instance_index,
        row_number() OVER (ORDER BY day, collection_id, instance_index) - 1 AS part
    FROM (SELECT DISTINCT day, collection_id, instance_index FROM means)
)
