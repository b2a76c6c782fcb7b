WITH parsed AS ({query}),
texts AS (SELECT source_row, line, fault, is_odd, {texts} FROM parsed),
typed AS (SELECT *, {values} FROM texts)
SELECT {names}, source_row, CASE WHEN fault IS NOT NULL THEN fault {cases} END AS reason, line AS raw, is_odd
FROM typed ORDER BY source_row
