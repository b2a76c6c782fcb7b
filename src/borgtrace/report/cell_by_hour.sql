-- One row per hour: what the tiers of an answer of utilization use and are allocated together, and the capacity, which is
-- the cell's and the same in each row; hours without machines are left out.
select hour,
    sum(cpu_used) as cpu_used, sum(cpu_allocated) as cpu_allocated, last(cpu_capacity) as cpu_capacity,
    sum(memory_used) as memory_used, sum(memory_allocated) as memory_allocated, last(memory_capacity) as memory_capacity
from answer group by hour having last(cpu_capacity) > 0 and last(memory_capacity) > 0 order by hour
