"""SQL of the usage of converted files: measurements of any step, counters among them, as windows of the store."""

from borgtrace.ingest.conversion_terms import FIRST_ROW, Terms, query_of
from borgtrace.schema.time import TRACE_START

LONGEST_GAP = 5
"""Steps after which two values of a counter are not of one window; Prometheus forgets a series after 5 minutes."""
_KINDS = ("average", "instant", "maximum")
_ORDER = "PARTITION BY task, coalesce(instance, 0) ORDER BY time, source_part, source_row"


def instance_usage(terms: Terms) -> str:
    """SQL of windows with usage as fractions of the largest machine."""
    times = {"start": terms.time("u.start"), "stop": terms.time("u.stop")}
    amounts = {f"{kind}_{name}": _amount(terms, kind, name) for kind in _KINDS for name in ("cpu", "memory")}
    rows = query_of("usage", windows=windows(terms), joins=_joins(terms), **times, **amounts)
    if not (window := terms.conversion.window):
        return rows
    return query_of("merged", rows=rows, window=str(window), zero=str(TRACE_START), first=FIRST_ROW)


def _amount(terms: Terms, kind: str, name: str) -> str:
    found = f"coalesce(average_{name}, instant_{name})" if kind == "average" else f"{kind}_{name}"
    return _share(terms, name).format(found)


def windows(terms: Terms) -> str:
    """SQL of measurements with the ``start`` and the ``stop`` of their windows, in the time of the files."""
    conversion, step = terms.conversion, terms.conversion.step
    if terms.has("usage_rows", "counter_cpu"):
        return query_of("increases", order=_ORDER, longest=f"{LONGEST_GAP} * {step}")
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
    shares = set(terms.conversion.of.values())
    needs = {"asked": bool({"request", "clock"} & shares), "held": "machine" in shares and terms.has("machine_rows")}
    return " ".join(query_of(name) for name, is_needed in needs.items() if is_needed)
