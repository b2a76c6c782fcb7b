SELECT *, CASE WHEN len(fields) != {width} THEN 'wrong_column_count' {quotes} END AS fault, false AS is_odd
FROM (SELECT source_row, line, {split} AS fields FROM lines)
