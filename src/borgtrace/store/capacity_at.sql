SELECT type, cpu_capacity, memory_capacity, platform_id
FROM machine_events
WHERE machine_id = $machine AND time <= coalesce($time, time)
-- Two events of one machine may share a microsecond: the later row of the file is the later event.
ORDER BY time DESC, source_part DESC, source_row DESC
LIMIT 1
