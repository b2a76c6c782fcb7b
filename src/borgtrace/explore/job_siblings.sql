-- Other jobs of an owner, the nearest ids first.
SELECT collection_id, count(*) AS n_instances, min(first_time) AS first_time, max(end_type) AS end_type
FROM tasks WHERE {where} AND collection_id <> {job}
GROUP BY collection_id ORDER BY abs(collection_id - {job}) LIMIT {limit}
