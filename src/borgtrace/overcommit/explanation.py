"""What a policy predicts for one machine at one time, term by term."""

from typing import Any

import numpy as np

from borgtrace.errors import UsageError, sql_command
from borgtrace.notation import WallClock, find_machine, moment_option, with_stored_sizes
from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import NodePolicy, PeakPolicy
from borgtrace.overcommit.priorities import priorities
from borgtrace.overcommit.replay import ReplayInput
from borgtrace.overcommit.replay_question import Forecasts, open_replay
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.question.store_question import Report
from borgtrace.schema.time import TRACE_START, WINDOW
from borgtrace.store import Store


def explain_prediction(
    store: Store,
    options: ReplayOptions,
    machine: int | str,
    time: int,
    report: Report,
    forecasts: Forecasts,
) -> list[dict[str, Any]]:
    """Return a row for each policy, resource and term: its value at the end of the slot of a time.

    Parameters
    ----------
    store
        An open store.
    options
        Policies, resources, and how usage is taken.
    machine
        Its id, or its name.
    time
        On the trace's clock, µs.
    report
        Called with the step, how much of it is done, and how much there is.
    forecasts
        Forecasters that policies may name.

    Raises
    ------
    NotApplicable
        The store has no usage.
    UsageError
        Where nothing ran on the machine in that slot, or it is not in the store.
    """
    options = with_stored_sizes(options, store.manifest)
    tables = EngineTables.of(store, memory=store.memory)
    tables.require("instance_usage")
    replay_input = open_replay(
        store,
        tables,
        options,
        report,
        forecasts,
    )
    place = _place_of_machine(store, replay_input, machine)
    slot = int((time - TRACE_START) // WINDOW)
    rows = []
    for resource in options.resources:
        whole_block = replay_input.block(place, resource)
        if slot not in whole_block.all.slots:
            raise _nothing_then(store, machine, whole_block, time)
        for policy in options.parsed():
            tasks = priorities(replay_input.dialect, "high" if policy.high_only else "all")
            block = whole_block.of_priorities(tasks.lowest, tasks.highest)
            if slot not in block.all.slots:
                # No task of the priorities that the policy is about ran then.
                continue
            terms = _terms(replay_input, policy, block, options.horizon_slots, slot)
            subject = {"resource": resource, "policy": policy.label}
            for name, value in terms.items():
                rows.append({**subject, "term": name, "value": value})
    NotApplicable.unless(
        rows,
        "only tasks of other priorities than the policies are about ran on the machine then; "
        "name another --policy",
    )
    return rows


def _nothing_then(store: Store, machine: int | str, block: MachineBlock, time: int) -> UsageError:
    """Return the refusal of a time at which no usage was measured on a machine."""
    clock = WallClock.of(store.manifest)
    problem = f"no usage was measured on machine {machine} at {clock.moment(time)}"
    slots = block.all.slots
    if not slots.size:
        return UsageError("--at", problem, got=moment_option(time))
    first = moment_option(TRACE_START + int(slots[0]) * WINDOW)
    last = moment_option(TRACE_START + (int(slots[-1]) + 1) * WINDOW)
    return UsageError(
        "--at",
        problem,
        expected=f"a time of its usage, from {first} to {last} after the start",
        got=moment_option(time),
    )


def _place_of_machine(store: Store, replay_input: ReplayInput, machine: int | str) -> int:
    """Return the place of a machine, by its id or name, among those with usage."""
    machine_id = find_machine(store, machine, "MACHINE") if isinstance(machine, str) else machine
    machines = replay_input.usage.machines
    place = int(np.searchsorted(machines, machine_id))
    if place == len(machines) or machines[place] != machine_id:
        raise UsageError(
            "MACHINE",
            "no usage on such a machine",
            got=str(machine),
            way_out="list some: "
            + sql_command(store.path, "select distinct machine_id from instance_usage limit 9"),
        )
    return place


def _terms(
    replay_input: ReplayInput,
    policy: PeakPolicy,
    block: MachineBlock,
    horizon: int,
    slot: int,
) -> dict[str, float | None]:
    """Return the terms of a prediction at one slot, and the peak that came."""
    seen = replay_input.as_seen(block)
    place = int(np.searchsorted(block.all.slots, slot))
    if isinstance(policy, NodePolicy):
        series = dict(policy.terms(seen))
    else:
        prediction = policy.predicted(seen)
        series = {"sum of the limits": seen.limits, "predicted peak": prediction.peak}
    terms: dict[str, float | None] = {}
    for name, values in series.items():
        terms[name] = float(values[place])
    peaks = oracle(block, horizon)
    # Beyond the end of the trace the peak is unknown.
    terms["peak that came"] = float(peaks[place]) if place < len(peaks) else None
    return terms
