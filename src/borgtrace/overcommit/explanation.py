"""What a policy predicts for one machine at one time, term by term."""

from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.overcommit.block import Block
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import NodePolicy, Policy
from borgtrace.overcommit.priorities import priorities
from borgtrace.overcommit.replay import Cell
from borgtrace.overcommit.study import Forecasts, Setting, open_cell
from borgtrace.question import EngineTables
from borgtrace.question.store_question import Report
from borgtrace.schema.time import TRACE_START, WINDOW, write_time
from borgtrace.store import Store


def explained(
    store: Store,
    setting: Setting,
    machine: int,
    time: int,
    report: Report,
    forecasts: Forecasts,
) -> list[dict[str, Any]]:
    """Return a row for each policy, resource and term: what it was at the end of the slot of a time.

    Parameters
    ----------
    store
        An open store.
    setting
        Policies, resources, and how usage is taken.
    machine
        Its id.
    time
        On the trace's clock, µs.
    report
        Called with the step, how much of it is done, and how much there is.
    forecasts
        Forecasters that policies may name.

    Raises
    ------
    UsageError
        Where nothing ran on the machine in that slot, or it is not in the store.
    """
    cell = open_cell(store, EngineTables.of(store, memory=store.memory), setting, report, forecasts)
    place = int(np.searchsorted(cell.usage.machines, machine))
    if place == len(cell.usage.machines) or cell.usage.machines[place] != machine:
        raise UsageError("--explain", "no usage on such a machine", got=str(machine))
    slot = (time - TRACE_START) // WINDOW
    rows = []
    for resource in setting.resources:
        for policy in setting.parsed():
            tasks = priorities(cell.dialect, "high" if policy.high_only else "all")
            block = cell.block(place, resource).of_priorities(*tasks)
            if slot not in block.all.slots:
                raise UsageError(
                    "--at", f"nothing ran on machine {machine} then", got=write_time(time)
                )
            terms = _terms(cell, policy, block, setting.horizon // WINDOW, int(slot))
            rows += [
                {
                    "resource": resource,
                    "policy": policy.label,
                    "term": name,
                    "value": value,
                }
                for name, value in terms
            ]
    return rows


def _terms(
    cell: Cell,
    policy: Policy,
    block: Block,
    horizon: int,
    slot: int,
) -> list[tuple[str, float | None]]:
    seen = cell.seen(block)
    at = int(np.searchsorted(block.all.slots, slot))
    if isinstance(policy, NodePolicy):
        terms = dict(policy.terms(seen))
    else:
        terms = {"sum of the limits": seen.limits, "predicted peak": policy.predict(seen).peak}
    peaks = oracle(block.all, horizon, block.n_slots)
    found: list[tuple[str, float | None]] = [
        (name, float(values[at])) for name, values in terms.items()
    ]
    # After the end of the trace nobody knows: there is no peak.
    return [*found, ("peak that came", float(peaks[at]) if at < len(peaks) else None)]
