SELECT 0 AS time, {machine} AS machine_id, name, value, false AS is_deleted, source_part, source_row
FROM (SELECT machine, 'name' AS name, machine AS value, {first}
      FROM ({names}) WHERE machine IS NOT NULL GROUP BY machine
      UNION ALL
      SELECT machine, 'gpu_model', gpu_model, source_part, source_row FROM machine_rows WHERE gpu_model IS NOT NULL)
