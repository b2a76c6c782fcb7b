-- Tasks that ask for room of a machine: what runs inside an alloc set has its room there.
arrivals AS (
    SELECT collection_id, instance_index, min(greatest(time, $zero)) AS arrived, min(source_part) AS source_part,
           min(source_row) AS source_row,
           bool_or(needs_different_machine) AS is_apart, bool_or(alloc_collection_id IS NOT NULL) AS is_inside
    FROM instance_events
    WHERE time < 9223372036854775807
    GROUP BY ALL
), steps AS (
    SELECT collection_id, instance_index, time, type,
           lead(time) OVER by_task AS until, lead(type) OVER by_task AS next
    FROM instance_events
    WHERE time < 9223372036854775807 AND (type = 'SCHEDULE' OR list_contains($terminal, type))
    WINDOW by_task AS (PARTITION BY collection_id, instance_index
                       ORDER BY time, list_position($tie_order, type), source_part, source_row)
), ran AS (
    -- How long all attempts ran, known where each has ended.
    SELECT collection_id, instance_index, sum(until - greatest(time, $zero)) AS length,
           bool_and(until IS NOT NULL AND list_contains($terminal, next)) AS has_ended
    FROM steps
    WHERE type = 'SCHEDULE' AND coalesce(until, $zero) >= $zero
    GROUP BY ALL
), apart AS (
    SELECT collection_id, bool_or(max_per_machine = 1) AS is_apart FROM collection_events GROUP BY collection_id
), candidates AS (
    SELECT t.collection_id, t.instance_index, t.priority, t.cpu_request, t.memory_request, t.gpu_request,
           coalesce(a.arrived, t.first_time, $zero) AS arrived, a.source_part, a.source_row,
           coalesce(a.is_apart, c.is_apart, false) AS is_apart,
           CASE WHEN r.has_ended THEN CAST(r.length / 1e6 AS DECIMAL(18, 6)) END AS seconds,
           CASE WHEN coalesce(a.is_inside, false) THEN 'inside alloc sets' END AS reason
    FROM tasks t
    LEFT JOIN arrivals a USING (collection_id, instance_index)
    LEFT JOIN ran r USING (collection_id, instance_index)
    LEFT JOIN apart c USING (collection_id)
)
