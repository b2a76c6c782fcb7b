SELECT from_type, to_type, sum(n) AS n FROM instance_transitions GROUP BY ALL ORDER BY ALL
