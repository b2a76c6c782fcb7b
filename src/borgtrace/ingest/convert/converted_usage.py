"""SQL of the usage of converted files: measurements of any step, counters among them, as windows of the store."""

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa

from borgtrace.ingest.convert.conversion_terms import FIRST_ROW, Terms, query_of
from borgtrace.schema.time import TRACE_START

LONGEST_GAP = 5
"""Steps after which two values of a counter are not of one window; Prometheus forgets a series after 5 minutes."""
_PLACE = ("collection_id", "instance_index", "start_time")
_OTHERS = {"machine": "k.id", "cycles_per_instruction": "cycles_per_instruction"}
_KINDS = ("average", "instant", "maximum")
_ORDER = "PARTITION BY task, coalesce(instance, 0) ORDER BY time, source_part, source_row"


def instance_usage(terms: Terms) -> str:
    """SQL of windows with usage as fractions of the largest machine."""
    times = {"start": terms.time("u.start"), "stop": terms.time("u.stop")}
    values = {
        f"{kind}_{name}": _amount(terms, kind, name)
        for kind in _KINDS
        for name in ("cpu", "memory")
    }
    # Columns that no file fills are not looked for in each row.
    values |= {
        name: source if terms.has("usage_rows", name) else "NULL"
        for name, source in _OTHERS.items()
    }
    rows = query_of("usage", windows=windows(terms), joins=_joins(terms), **times, **values)
    if not (window := terms.conversion.window):
        return rows
    return query_of("merged", rows=rows, window=str(window), zero=str(TRACE_START), first=FIRST_ROW)


def _amount(terms: Terms, kind: str, name: str) -> str:
    kinds = ("average", "instant", "counter") if kind == "average" else (kind,)
    filled = [each for each in kinds if terms.has("usage_rows", f"{each}_{name}")]
    # The mean of a window of a counter is made before.
    found = ", ".join(f"{each}_{name}".replace("counter", "average") for each in filled)
    return _share(terms, name).format(f"coalesce({found})") if found else "NULL"


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
        nearest = (
            ""
            if conversion.is_regular
            else f", coalesce(nullif(lag(time) OVER ({_ORDER}), time), 0)"
        )
        return (
            f"SELECT *, greatest(0, time - {step}{nearest}) AS start, time AS stop FROM usage_rows"
        )
    is_final = conversion.is_regular or are_cut_when_sorted(terms)
    later = "" if is_final else f", nullif(lead(time) OVER ({_ORDER}), time)"
    return f'SELECT *, time AS start, coalesce("end", least(time + {step}{later})) AS stop FROM usage_rows'


def are_cut_when_sorted(terms: Terms) -> bool:
    """Whether windows of a step each are cut by `cut_windows`: to find the next row of each in SQL is to sort twice."""
    conversion = terms.conversion
    is_of_a_step = (
        conversion.step is not None
        and conversion.label == "start"
        and terms.has("usage_rows", "time")
    )
    is_told = any(terms.has("usage_rows", column) for column in ("end", "counter_cpu"))
    return is_of_a_step and not (is_told or conversion.is_regular or conversion.window)


def cut_windows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """End windows where the next of their task begins; rows are in their order."""
    for batch, after in pairwise(chain(batches, [None])):
        # The last row of all is followed by itself, at which nothing ends.
        last = after or batch.slice(len(batch) - 1)
        here = [np.asarray(batch.column(name)) for name in _PLACE]
        there = [
            np.append(one[1:], np.asarray(last.column(name))[:1])
            for name, one in zip(_PLACE, here, strict=True)
        ]
        is_before = (here[0] == there[0]) & (here[1] == there[1]) & (here[2] < there[2])
        end = np.asarray(batch.column("end_time"))
        ends = np.where(is_before, np.minimum(end, there[2]), end)
        yield batch.set_column(batch.schema.get_field_index("end_time"), "end_time", pa.array(ends))


def _share(terms: Terms, name: str) -> str:
    """SQL of an amount of usage as a fraction of the largest machine, with a place for what was measured."""
    of = terms.conversion.share_of.get(name, "")
    if of == "clock":
        return terms.amount("{} / r.cpu_clock * r.cpu_request", name)
    if of == "request":
        return terms.amount(f"{{}} * r.{name}_request", name)
    if of == "machine" and terms.has("machine_rows"):
        return terms.amount(f"{{}} * m.{name}", name)
    # A share of the largest machine is one already; without a table all machines are as large.
    return "{}" if of else terms.amount("{}", name)


def _joins(terms: Terms) -> str:
    shares = set(terms.conversion.share_of.values())
    needs = {
        "asked": bool({"request", "clock"} & shares),
        "held": "machine" in shares and terms.has("machine_rows"),
    }
    return " ".join(query_of(name) for name, is_needed in needs.items() if is_needed)
