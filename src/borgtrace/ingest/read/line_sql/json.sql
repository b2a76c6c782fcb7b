SELECT source_row, line, json_extract_string(doc, [{listed}]) AS fields, {fault} AS fault, {is_odd} AS is_odd
FROM (SELECT source_row, line, CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT' THEN {json} END AS doc FROM lines)
