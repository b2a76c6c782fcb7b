"""SQL of the usage of converted files: measurements of any step, counters among them, as windows of the store."""

from borgtrace.ingest.conversion_terms import FIRST_ROW, Terms, id_sql, query_of
from borgtrace.schema.time import TRACE_START

LONGEST_GAP = 5
"""Steps after which two values of a counter are not of one window; Prometheus forgets a series after 5 minutes."""
_ORDER = "PARTITION BY task, coalesce(instance, 0) ORDER BY time, source_part, source_row"


def instance_usage(terms: Terms) -> str:
    """SQL of windows with usage as fractions of the largest machine."""
    cpu, memory = (_share(terms, name) for name in ("cpu", "memory"))
    rows = f"""
        SELECT {id_sql("u.task")} AS collection_id, coalesce(u.instance, 0) AS instance_index,
               {terms.time("u.start")} AS start_time, {terms.time("u.stop")} AS end_time,
               {id_sql("u.machine")} AS machine_id, 'JOB' AS collection_type,
               {cpu.format("coalesce(average_cpu, instant_cpu)")} AS average_cpu,
               {cpu.format("instant_cpu")} AS sampled_cpu, {cpu.format("maximum_cpu")} AS maximum_cpu,
               {memory.format("coalesce(average_memory, instant_memory)")} AS average_memory,
               {memory.format("maximum_memory")} AS maximum_memory, cycles_per_instruction, u.source_part, u.source_row
        FROM ({windows(terms)}) u {_joins(terms)}
    """
    return _merged(terms, rows) if terms.conversion.window else rows


def windows(terms: Terms) -> str:
    """SQL of measurements with the ``start`` and the ``stop`` of their windows, in the time of the files."""
    conversion, step = terms.conversion, terms.conversion.step
    if terms.has("usage_rows", "counter_cpu"):
        return _increases(f"{LONGEST_GAP} * {step}")
    if not terms.has("usage_rows", "time"):
        return query_of("lengths")
    if step is None:
        return 'SELECT *, time AS start, coalesce("end", time + length) AS stop FROM usage_rows'
    # Jitter makes no two windows of a task overlap.  Rows of one time are repeats, not windows without length.
    if conversion.label == "end":
        nearest = "" if conversion.is_regular else f", coalesce(nullif(lag(time) OVER ({_ORDER}), time), 0)"
        return f"SELECT *, greatest(0, time - {step}{nearest}) AS start, time AS stop FROM usage_rows"
    later = "" if conversion.is_regular else f", nullif(lead(time) OVER ({_ORDER}), time)"
    return f'SELECT *, time AS start, coalesce("end", least(time + {step}{later})) AS stop FROM usage_rows'


def _increases(longest: str) -> str:
    """SQL of the windows between values of a counter, with the mean of each.

    A counter that falls was reset, and counts from 0: its increase is the new value.  Values that are further apart
    than `longest` are not joined: there is a gap.
    """
    increase = "CASE WHEN counter_cpu >= before THEN counter_cpu - before ELSE counter_cpu END"
    return f"""
        SELECT * REPLACE ({increase} / ((time - start) / 1e6) AS average_cpu), time AS stop
        FROM (SELECT *, lag(time) OVER ({_ORDER}) AS start, lag(counter_cpu) OVER ({_ORDER}) AS before
              FROM usage_rows WHERE counter_cpu IS NOT NULL)
        WHERE start < time AND time - start <= {longest}
    """


def _share(terms: Terms, name: str) -> str:
    """SQL of an amount of usage as a fraction of the largest machine, with a place for what was measured."""
    of = terms.conversion.of.get(name, "")
    if of == "clock":
        return terms.amount("{} / r.cpu_clock * r.cpu_request", name)
    if of == "request":
        return terms.amount(f"{{}} * r.{name}_request", name)
    if of == "machine" and terms.has("machine_rows"):
        return terms.amount(f"{{}} * m.{name}", name)
    # A share of the largest machine is one already; without a table all machines are as large.
    return "{}" if of else terms.amount("{}", name)


def _joins(terms: Terms) -> str:
    joins, shares = "", terms.conversion.of.values()
    if {"request", "clock"} & set(shares):
        known = ("cpu_request", "cpu_clock", "memory_request")
        latest = ", ".join(f"arg_max({name}, source_row) AS {name}" for name in known)
        joins += f"""
            LEFT JOIN (SELECT task, coalesce(instance, 0) AS instance, {latest} FROM task_rows GROUP BY ALL) r
            ON r.task = u.task AND r.instance = coalesce(u.instance, 0)"""
    if "machine" in shares and terms.has("machine_rows"):
        joins += """
            LEFT JOIN (SELECT machine, max(cpu) AS cpu, max(memory) AS memory FROM machine_rows GROUP BY ALL) m
            ON m.machine = u.machine"""
    return joins


def _merged(terms: Terms, rows: str) -> str:
    """SQL that makes one window of all of a task that start in one slot: means are weighed by length."""
    length = "(end_time - start_time)"
    means = ", ".join(
        f"sum({name} * {length}) / nullif(sum({length}) FILTER ({name} IS NOT NULL), 0) AS {name}"
        for name in ("average_cpu", "average_memory", "cycles_per_instruction")
    )
    return f"""
        SELECT collection_id, instance_index, machine_id,
               (start_time - {TRACE_START}) // {terms.conversion.window} AS slot,
               min(start_time) AS start_time, max(end_time) AS end_time, 'JOB' AS collection_type, {means},
               max(coalesce(maximum_cpu, sampled_cpu)) AS maximum_cpu, arg_max(sampled_cpu, start_time) AS sampled_cpu,
               max(maximum_memory) AS maximum_memory, {FIRST_ROW}
        FROM ({rows}) GROUP BY collection_id, instance_index, machine_id, slot
    """
