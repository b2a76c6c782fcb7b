-- Deviations come from sums, and are cut at 0: rounding may leave a variance a little below it.
SELECT collection_id, instance_index,
    substr('{letters}', 1 + any_value(kind), 1) AS class, max(level)::FLOAT AS level,
    sum(n)::BIGINT AS n_windows,
    sum(sum_average) / sum(n) AS mean_average_cpu,
    sqrt(greatest(sum(sum2_average) / sum(n) - (sum(sum_average) / sum(n)) ** 2, 0)) AS std_average_cpu,
    sum(sum_sampled) / sum(n) AS mean_sampled_cpu,
    sqrt(greatest(sum(sum2_sampled) / sum(n) - (sum(sum_sampled) / sum(n)) ** 2, 0)) AS std_sampled_cpu,
    sum(sum_memory) / sum(n) AS mean_average_memory
FROM read_parquet({part}) WHERE n > 0
GROUP BY ALL ORDER BY collection_id, instance_index
