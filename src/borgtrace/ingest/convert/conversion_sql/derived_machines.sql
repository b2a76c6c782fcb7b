-- One event for each machine that rows name, as no table tells of them: all are as large as the largest one.
SELECT 0 AS time, {machine} AS machine_id, 'ADD' AS type, 1 AS cpu_capacity, {memory} AS memory_capacity,
       'SNAPSHOT_BUT_NO_TRANSITION' AS missing_data_reason, {first}
FROM ({names}) WHERE machine IS NOT NULL GROUP BY machine
