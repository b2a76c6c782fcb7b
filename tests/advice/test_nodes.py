"""How many nodes hold a workload: equal to the command compact, and by hand on node types."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.advice.fleets import FleetPacker
from borgtrace.advice.node_types import NodeType, read_node_types
from borgtrace.errors import UsageError
from borgtrace.interactive import Store
from borgtrace.scheduling import COMPACT, busiest_moment
from borgtrace.scheduling.compaction import CellWorkload
from borgtrace.scheduling.machines import ANYWHERE, UNIT, Demand

SMALL = NodeType("small", 4, 8, 1.0)
LARGE = NodeType("large", 8, 16, 1.9)
WIDE = NodeType("wide", 4, 32, 1.5)


def packer(amounts: list[tuple[float, float]], **changes: object) -> FleetPacker:
    """Return what packs tasks of these cores and GiB; the largest machine of the trace has 10 and 100."""
    sizes = np.rint(np.array(amounts) / [10, 100] * UNIT).astype(np.int64)
    n = len(sizes)
    workload = CellWorkload(
        Demand(
            sizes=sizes,
            groups=np.full(n, -1, np.int64),
            sets=np.zeros(n, np.int64),
            allowed=ANYWHERE,
        ),
        priority=np.zeros(n, np.int64),
        jobs=np.arange(n),
        is_production=np.zeros(n, np.bool_),
    )
    plain = FleetPacker(
        workload=workload,
        cores=10,
        gib=100,
        headroom=0.0,
        on_each_node=np.zeros(2, np.int64),
        pods_per_node=110,
        n_on_each_node=0,
        seed=0,
    )
    return dataclasses.replace(plain, **changes)


def rows_of(advice: Advice) -> dict[str, dict]:
    return {row["fleet"]: row for row in advice.machines.table.to_pylist()}


def test_the_command_compact_says_the_same(shop: Store, advice: Advice) -> None:
    rows = rows_of(advice)
    plan = rows["policy"]["note"]
    at = busiest_moment(shop)
    compacted = COMPACT.run(shop, at=at, what_ifs=("limits", "planned"), plan=plan)
    machines = {row["what_if"]: row["machines"] for row in compacted.table.to_pylist()}
    assert rows["requests"]["nodes"] == np.ceil(machines["limits"])
    assert rows["policy"]["nodes"] == np.ceil(machines["planned"])
    assert rows["policy"]["nodes"] <= rows["requests"]["nodes"]
    assert rows["today"]["nodes"] == 2
    assert (rows["today"]["cores"], rows["today"]["gib"]) == (16, pytest.approx(64))


def test_four_tasks_by_hand() -> None:
    """Two cores and 4 GiB each: two on a small node, four on a large one."""
    tasks = packer([(2, 4)] * 4)
    small = tasks.fleet_of(SMALL)
    large = tasks.fleet_of(LARGE)
    assert small is not None
    assert large is not None
    assert (small.nodes, small.price) == ({"small": 2}, 2.0)
    assert (large.nodes, large.price) == ({"large": 1}, 1.9)


def test_headroom_pods_and_what_runs_on_each_node_take_room() -> None:
    # 4 cores less 10 % hold one task of two cores beside what is on each node.
    assert packer([(2, 4)] * 4, headroom=0.1).fleet_of(SMALL).n_nodes == 4
    assert packer([(1, 1)] * 4, pods_per_node=2).fleet_of(SMALL).n_nodes == 2
    on_each = np.rint(np.array([1 / 10, 1 / 100]) * UNIT).astype(np.int64)
    assert packer([(2, 4)] * 4, on_each_node=on_each, n_on_each_node=1).fleet_of(SMALL).n_nodes == 4


def test_a_task_that_is_too_large_fits_no_fleet() -> None:
    tasks = packer([(5, 1), (1, 1)])
    assert tasks.fleet_of(SMALL) is None
    assert tasks.cheapest_mix([SMALL]) is None
    assert tasks.fleet_of(LARGE).n_nodes == 1


def test_tasks_that_must_be_apart_stay_apart() -> None:
    tasks = packer([(1, 1)] * 3)
    demand = dataclasses.replace(tasks.workload.demand, groups=np.zeros(3, np.int64))
    apart = dataclasses.replace(tasks, workload=dataclasses.replace(tasks.workload, demand=demand))
    assert tasks.fleet_of(LARGE).n_nodes == 1
    assert apart.fleet_of(LARGE).n_nodes == 3


def test_the_cheapest_mix_deals_tasks_to_shapes_and_takes_smaller_nodes() -> None:
    """Four tasks of two cores fill a large node (1.9); a fifth needs but a small one (1.0)."""
    mix = packer([(2, 4)] * 5).cheapest_mix([SMALL, LARGE])
    assert mix is not None
    assert (dict(mix.nodes), mix.price) == ({"large": 1, "small": 1}, pytest.approx(2.9))
    # What needs memory alone goes to the wide node (1.5): two on large ones would cost 3.8.
    mix = packer([(4, 8), (1, 30)]).cheapest_mix([SMALL, LARGE, WIDE])
    assert mix is not None
    assert (dict(mix.nodes), mix.price) == ({"small": 1, "wide": 1}, pytest.approx(2.5))


def test_prices_of_ones_own(shop: Store, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("type,price_per_hour,gib,cores,zone\nbig,2.5,64,16,eu\n")
    options = AdviceOptions(resources=("memory",), policies=("borg:phi=0.75",), prices=prices)
    rows = rows_of(advise(shop, options))
    assert set(rows) == {"today", "requests", "policy", "big", "cheapest mix"}
    assert (rows["big"]["nodes"], rows["big"]["price_per_hour"]) == (1, 2.5)
    # Each of today's two nodes has 8 cores and 32 GiB.
    assert rows["today"]["price_per_hour"] == 5
    assert rows["big"]["note"].endswith("; prices.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "type,cores\nbig,4\n",
            "--prices: prices.csv lacks gib, price_per_hour: expected a header with type, cores, gib, "
            "price_per_hour, got type, cores",
        ),
        (
            "",
            "--prices: prices.csv lacks type, cores, gib, price_per_hour: expected a header with type, cores, gib, "
            "price_per_hour, got an empty file",
        ),
        (
            "type,cores,gib,price_per_hour\n",
            "--prices: prices.csv has no node type: expected a line for each",
        ),
        (
            "type,cores,gib,price_per_hour\nbig,4,x,1\n",
            "--prices: prices.csv, line 2: gib is no amount: expected a number above 0, at most 1,000,000, got x",
        ),
        (
            "type,cores,gib,price_per_hour\nbig,4,8,0\n",
            "--prices: prices.csv, line 2: price_per_hour is no amount: expected a number above 0, at most "
            "1,000,000, got 0",
        ),
        (
            "type,cores,gib,price_per_hour\nbig,4,8,1\nbig,4,8,2\n",
            "--prices: prices.csv has big twice",
        ),
    ],
)
def test_tables_of_prices_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_node_types(prices)
    assert str(caught.value) == message


def test_a_table_of_prices_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_node_types(tmp_path / "none.csv")
    assert str(caught.value) == "--prices: cannot read none.csv: No such file or directory"
