LEFT JOIN (SELECT machine, max(cpu) AS cpu, max(memory) AS memory FROM machine_rows GROUP BY ALL) m
ON m.machine = u.machine
