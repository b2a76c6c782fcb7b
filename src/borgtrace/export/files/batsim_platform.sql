-- After machines.sql: a host for each core, which knows its machine.
cores AS (
    SELECT machine_id, unnest(range(CAST(greatest(1, round(cpu_capacity * $cores)) AS BIGINT))) AS core FROM machines
)
SELECT printf('    <host id="m%d-%d" speed="1Gf"><prop id="machine" value="%d"/></host>', machine_id, core, machine_id)
       || chr(10) AS line
FROM cores
ORDER BY machine_id, core
