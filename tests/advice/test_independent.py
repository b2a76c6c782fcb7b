"""The numbers of an advice, restated with pandas from the tables of the store alone.

Nothing here uses the overcommit policies, their replay or the walk: a small cell of random usage, of which the first
hours are cut away, so that its events begin before its usage.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import betainc
from scipy.stats import t as student

import borgtrace
from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.store.criteria import Criteria

SLOT = 300_000_000
"""µs."""
ZERO = 600_000_000
"""When a trace begins, µs."""
N_MACHINES = 6
N_TASKS = 48
WHOLE_SLOTS = 12 * 24
"""Of the cell: a day."""
CUT_SLOTS = 12 * 8
"""Of which nothing but events is left."""
CORES, GIB = 16.0, 64.0
SHARES = (0.5, 0.8)
TARGET = 0.2
"""Six machines for two horizons are twelve trials a period, of which 5 % are less than one."""
LEAST_PERIODS = 2


@dataclass(frozen=True)
class Walked:
    """What a policy promised and broke on each machine in each period: arrays (machines, periods)."""

    instants: np.ndarray
    broken: np.ndarray
    limit: np.ndarray

    def before(self, period: int) -> Walked:
        """Return the periods before one."""
        return Walked(*(part[:, :period] for part in (self.instants, self.broken, self.limit)))

    def high(self, horizon: int) -> float:
        """Return the upper end of the rate: of machines, of trials, of the next period, and of its chance."""
        n = self.instants.sum()
        value = self.broken.sum() / n
        is_judged = self.instants.sum(axis=1) > 0
        instants = self.instants.sum(axis=1)[is_judged]
        broken = self.broken.sum(axis=1)[is_judged]
        n_machines = len(instants)
        variance = n_machines / (n_machines - 1) * ((broken - value * instants) ** 2).sum()
        of_machines = value + student.ppf(0.975, n_machines - 1) * math.sqrt(variance) / n
        has_instants = self.instants.sum(axis=0) > 0
        rates = (self.broken.sum(axis=0) / self.instants.sum(axis=0).clip(1))[has_instants]
        of_next = 0.0
        if len(rates) > 1:
            spread = rates.std(ddof=1) * math.sqrt(1 + 1 / len(rates))
            of_next = rates.mean() + student.ppf(0.975, len(rates) - 1) * spread
        n_trials = n / horizon
        of_period = n_trials / has_instants.sum()
        in_next = of_period / (n_trials + of_period)
        by_chance = brentq(
            lambda count: betainc(count, self.broken.sum() / horizon + 1, in_next) - 0.05,
            1e-9,
            n_trials,
        )
        return max(of_machines, 3 * horizon / n, value, of_next, by_chance / of_period)


def write_cell(path: Path) -> None:
    """Write a cell of random usage: two waves, noise, and tasks that begin one after the other."""
    rng = np.random.default_rng(40)
    names = ["task", "machine", "time", "cpu", "memory_gib", "cpu_request", "memory_request_gib"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for task in range(N_TASKS):
            request = float(rng.choice([1.0, 1.5, 2.0]))
            begin = 0 if task < N_TASKS // 2 else int(rng.integers(0, WHOLE_SLOTS // 2))
            for slot in range(begin, WHOLE_SLOTS):
                wave = 0.45 + 0.12 * math.sin(2 * math.pi * slot / 96)
                share = min(max(wave + rng.normal(0, 0.08), 0.01), 1.0)
                minutes = slot * 5
                at = f"2026-11-01T{minutes // 60:02d}:{minutes % 60:02d}:00Z"
                row = [f"t{task}", f"m{task % N_MACHINES}", at, round(share * request, 6)]
                writer.writerow([*row, round(share * 2, 6), request, 2.0])


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> Advice:
    """Return what is advised about the last sixteen hours of the cell."""
    folder = tmp_path_factory.mktemp("independent")
    write_cell(folder / "cell.csv")
    options = IngestOptions(jobs=1, capacity="16cores,64GiB")
    ingest([folder / "cell.csv"], folder / "whole", options)
    end = ZERO + WHOLE_SLOTS * SLOT
    subset(folder / "whole", folder / "cut", Criteria(time=(ZERO + CUT_SLOTS * SLOT, end)))
    policies = tuple(f"borg:phi={share}" for share in SHARES)
    return advise(
        borgtrace.open(folder / "cut"),
        AdviceOptions(target=TARGET, resources=("cpu",), policies=policies, recommender="vpa"),
    )


@pytest.fixture(scope="module")
def samples(advice: Advice) -> pd.DataFrame:
    """Return the usage of the cut cell: machine, task, slot, what was used up to the request, and the request."""
    return advice.store.sql(f"""
        SELECT
            machine_id AS machine,
            u.collection_id AS task,
            (start_time - {ZERO}) // {SLOT} AS slot,
            least(average_cpu, cpu_request) AS used,
            cpu_request AS request
        FROM instance_usage u
        JOIN tasks t USING (collection_id, instance_index)
        ORDER BY machine, task, slot
    """).to_pandas()


def instants_of(samples: pd.DataFrame, horizon: int) -> Iterator[tuple[int, int, float, pd.Series]]:
    """Yield machine, slot, requests, and what the tasks of then use together in each slot of the horizon."""
    for machine, rows in samples.groupby("machine"):
        used = rows.pivot_table(index="task", columns="slot", values="used")
        request = rows.groupby("task")["request"].first()
        for slot in range(int(rows["slot"].min()), WHOLE_SLOTS - horizon):
            present = used.index[used[slot].notna()]
            ahead = used.loc[present, slot + 1 : slot + horizon].sum()
            yield int(machine), slot, float(request[present].sum()), ahead


@pytest.fixture(scope="module")
def walked(advice: Advice, samples: pd.DataFrame) -> dict[float, Walked]:
    """Return what each share of the requests would have broken."""
    (row,) = advice.value.table.to_pylist()
    horizon = round(row["horizon"] * 12)
    per_period = round(row["period"] * 12)
    machines = sorted(samples["machine"].unique())
    shape = (len(machines), math.ceil(WHOLE_SLOTS / per_period))
    sums = {share: Walked(*(np.zeros(shape) for _ in range(3))) for share in (1.0, *SHARES)}
    for machine, slot, requested, ahead in instants_of(samples, horizon):
        place = machines.index(machine), slot // per_period
        for share, one in sums.items():
            one.instants[place] += 1
            one.broken[place] += ahead.max() > share * requested * (1 + 1e-6)
            one.limit[place] += requested
    return sums


@pytest.mark.wide
def test_the_walk(advice: Advice, walked: dict[float, Walked]) -> None:
    (row,) = advice.value.table.to_pylist()
    horizon = round(row["horizon"] * 12)
    per_period = round(row["period"] * 12)
    lag = math.ceil(horizon / per_period)
    first = CUT_SLOTS // per_period
    expected = []
    instants = broken = promised = limit = 0.0
    for period in range(walked[1.0].instants.shape[1]):
        n_known = period - lag - first
        if n_known < 1 or not walked[1.0].instants[:, period].sum():
            continue
        chosen = 1.0
        for share in SHARES:
            known = walked[share].before(period - lag)
            if n_known >= LEAST_PERIODS and known.high(horizon) <= TARGET:
                chosen = min(chosen, share)
        one = walked[chosen]
        expected.append(("limit" if chosen == 1 else f"borg:phi={chosen}", period))
        instants += one.instants[:, period].sum()
        broken += one.broken[:, period].sum()
        limit += one.limit[:, period].sum()
        promised += chosen * one.limit[:, period].sum()
    periods = advice.periods.table.to_pylist()
    shown = [(one["policy"], (one["begin"] - ZERO) // (per_period * SLOT)) for one in periods]
    assert shown == expected
    # The cell is such that something is chosen.
    assert "borg:phi=0.8" in {policy for policy, _ in shown}
    assert row["windows"] == instants
    assert row["rate"] == pytest.approx(broken / instants)
    assert row["savings"] == pytest.approx(1 - promised / limit, rel=1e-5)


def test_no_period_before_the_first_usage_is_judged(advice: Advice) -> None:
    for row in advice.periods.table.to_pylist():
        assert row["begin"] > ZERO + CUT_SLOTS * SLOT


def test_the_worst_incident(advice: Advice, samples: pd.DataFrame) -> None:
    (value,) = advice.value.table.to_pylist()
    horizon = round(value["horizon"] * 12)
    per_period = round(value["period"] * 12)
    share_of_period = {}
    for row in advice.periods.table.to_pylist():
        share = 1.0 if row["policy"] in (None, "limit") else float(row["policy"].split("=")[1])
        share_of_period[(row["begin"] - ZERO) // (per_period * SLOT)] = share
    worst: tuple[float, int, float, float] | None = None
    for machine, slot, requested, ahead in instants_of(samples, horizon):
        share = share_of_period.get(slot // per_period)
        if share is None:
            continue
        excess = ahead.max() - share * requested
        if excess > 1e-6 and (worst is None or excess > worst[0]):
            worst = excess, machine, ahead.max(), share * requested
    incidents = advice.incidents.table.to_pylist()
    if worst is None:
        assert incidents == []
        return
    excess, machine, used, promised = worst
    first = incidents[0]
    assert first["machine_id"] == machine
    assert first["excess"] == pytest.approx(excess, rel=1e-4)
    assert (first["used"], first["promised"]) == pytest.approx((used, promised), rel=1e-5)


def test_nodes_hold_at_least_what_is_packed(advice: Advice) -> None:
    """No packing needs fewer nodes than its total over the size of a node, and any-fit not more than thrice that."""
    rows = {row["fleet"]: row for row in advice.machines.table.to_pylist()}
    at = rows["requests"]["at"]
    (total,) = advice.store.sql(
        f"""
        SELECT sum(cpu_request) AS cpu, sum(memory_request) AS memory
        FROM tasks
        WHERE first_time <= {at} AND last_time >= {at}
        """
    ).to_pylist()
    (value,) = advice.value.table.to_pylist()
    shares = {"requests": 1.0, "policy": 1.0 - max(value["savings"], 0.0)}
    for fleet, share in shares.items():
        least = math.ceil(max(total["cpu"] * share, total["memory"]) - 1e-6)
        assert least <= rows[fleet]["nodes"] <= 3 * least + 1
    assert rows["policy"]["nodes"] <= rows["requests"]["nodes"]
    assert rows["today"]["cpu_requested"] == pytest.approx(total["cpu"] / N_MACHINES)
    assert rows["today"]["memory_requested"] == pytest.approx(total["memory"] / N_MACHINES)


def test_the_back_test_of_the_peak(advice: Advice) -> None:
    """Memory is never recommended below its peak so far: above it lie only samples that set a new one."""
    usage = advice.store.sql("""
        SELECT collection_name AS task, start_time, average_memory AS value
        FROM instance_usage
        JOIN collection_events USING (collection_id)
        WHERE collection_name IS NOT NULL
        GROUP BY ALL
        ORDER BY task, start_time
    """).to_pandas()
    for row in advice.workloads.table.to_pylist():
        assert row["memory_skip"] == ""
        own = usage[usage["task"].str.replace(r"\d+$", "", regex=True) == row["workload"]]
        by_slot = own.groupby("start_time")["value"].max()
        is_record = own["value"].to_numpy() > by_slot.cummax().shift(1).reindex(own["start_time"])
        assert row["memory_short"] <= is_record.mean()
        assert row["memory_peak"] == pytest.approx(own["value"].max() * GIB, rel=1e-5)
        assert row["memory_recommended"] >= row["memory_peak"] * (1 - 1e-6)


def test_a_recommender_without_enough_history_is_said(advice: Advice) -> None:
    """koordinator says nothing of what is younger than a day."""
    options = AdviceOptions(policies=("borg:phi=0.5",), recommender="koordinator")
    workloads = advise(advice.store, options).workloads
    (row,) = workloads.table.to_pylist()
    assert (row["cpu_recommended"], row["memory_recommended"]) == (None, None)
    reason = "too little history for any recommender that was tried"
    assert (row["cpu_skip"], row["memory_skip"]) == (reason, reason)
