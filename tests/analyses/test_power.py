"""Power of a synthetic cell, from files like the published ones: the notebook's queries by pandas, and the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from borgtrace.catalog import find
from borgtrace.ingest import IngestOptions, IngestResult, ingest
from borgtrace.question import EngineTables
from borgtrace.synth import generate

START = 600_000_000
WINDOW = 300_000_000
HOUR = 3_600_000_000
DAY = 86_400_000_000
DOMAINS = (
    ("a", "pdu6"),
    ("a", "pdu7"),
    ("b", "pdu31"),
    ("i", "mvpp1"),
)
N_TIMES = 25 * 12


class PowerCell:
    """A cell of 5 machines and 25 hours, and the power of four domains, of which two are of this cell."""

    def __init__(self, folder: Path) -> None:
        raw = folder / "raw"
        generate(raw, "2019", 5, 25.0, 3)
        rng = np.random.default_rng(7)
        times = np.tile(START + WINDOW * np.arange(N_TIMES), len(DOMAINS))
        cells, pdus = (np.repeat([domain[at] for domain in DOMAINS], N_TIMES) for at in (0, 1))
        measured = rng.uniform(0.4, 0.9, len(times))
        power = pd.DataFrame(
            {
                "time": times,
                "cell": cells,
                "pdu": pdus,
                "measured_power_util": measured,
                "production_power_util": measured * rng.uniform(0.2, 0.9, len(times)),
                "bad_measurement_data": rng.random(len(times)) < 0.01,
                "bad_production_power_data": rng.random(len(times)) < 0.2,
            }
        )
        self.power = power.sample(frac=1, random_state=1)  # published files are in no order
        for (cell, pdu), rows in self.power.groupby(["cell", "pdu"]):
            flags = {
                name: rows[name].map({True: "true", False: "false"})
                for name in rows
                if name.startswith("bad")
            }
            rows.assign(**flags).to_csv(raw / f"cell{cell}_{pdu}.csv.gz", index=False)
        first = ingest([raw], folder / "store", IngestOptions(jobs=1)).manifest
        assert first
        machines = EngineTables.of(folder / "store").machine_events.machine_id.to_pandas().unique()
        self.fed = pd.DataFrame(
            {
                "machine_id": [*machines[1:], 77],
                "cell": [*"a" * (len(machines) - 1), "b"],
                "pdu": "pdu31",
            }
        )
        self.fed.loc[self.fed.cell == "a", "pdu"] = ["pdu6", "pdu7"][:1] * 3 + ["pdu7"] * (
            len(machines) - 4
        )
        self.fed.to_csv(raw / "machine_to_pdu_mapping.csv.gz", index=False)
        # Its files may come later than those of the cell.
        self.result: IngestResult = ingest([raw], folder / "store", IngestOptions(jobs=1))
        self.tables = EngineTables.of(folder / "store")

    def ask(self, name: str, **params: Any) -> pd.DataFrame:
        result = find(name).run(self.tables, **params)
        assert result.not_applicable is None, result.not_applicable
        return result.table.to_pandas()

    def frame(self, name: str) -> pd.DataFrame:
        return self.tables[name].to_pyarrow().to_pandas()


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> PowerCell:
    return PowerCell(tmp_path_factory.mktemp("power"))


@pytest.mark.wide
def test_every_row_is_stored_and_no_machine_of_another_cell_is_called_unknown(
    cell: PowerCell,
) -> None:
    manifest = cell.result.manifest
    assert manifest
    assert manifest.tables["power_measurements"] == len(cell.power) == 4 * N_TIMES
    assert manifest.tables["machine_power_domains"] == len(cell.fed)
    assert not {"power_measurements", "machine_power_domains"} & manifest.counters.keys()
    assert manifest.generation == "2019"
    assert manifest.cell == ""
    stored = cell.frame("power_measurements")[list(cell.power)]
    expected = cell.power.sort_values(["cell", "pdu", "time"], ignore_index=True)
    pd.testing.assert_frame_equal(stored, expected, check_exact=True, check_dtype=False)
    assert "power_measurements" in manifest.time_range
    assert "machine_power_domains" not in manifest.time_range


def test_the_span_of_a_store_is_that_of_its_trace(cell: PowerCell) -> None:
    # Power of a month would else make a trace of a day look like one of a month.
    spans = {name: coverage.span for name, coverage in cell.tables.coverage.tables.items()}
    assert cell.tables.coverage.span == max(
        spans[name] for name in spans if name != "power_measurements"
    )


def test_pandas_finds_the_same_extremes_and_counts_of_both_readings(cell: PowerCell) -> None:
    rows = pd.concat([cell.power, cell.power.assign(pdu="all")])
    good = rows[~rows.bad_measurement_data & ~rows.bad_production_power_data]
    by, good_by = (frame.groupby(["cell", "pdu"]) for frame in (rows, good))
    expected = pd.DataFrame(
        {
            "n": by.size(),
            "n_good_notebook": good_by.size(),
            "n_good_document": by.apply(
                lambda g: (g.bad_measurement_data & g.bad_production_power_data).sum()
            ),
            "measured_lowest": by.measured_power_util.min(),
            "measured_highest": by.measured_power_util.max(),
            "measured_mean": by.measured_power_util.mean(),
            "production_mean": by.production_power_util.mean(),
            "measured_lowest_good": good_by.measured_power_util.min(),
            "measured_highest_good": good_by.measured_power_util.max(),
            "production_mean_good": good_by.production_power_util.mean(),
        }
    ).reset_index()
    domains = cell.ask("power_domains").sort_values(["cell", "pdu"], ignore_index=True)
    pd.testing.assert_frame_equal(domains[list(expected)], expected, rtol=1e-8, check_dtype=False)
    assert len(domains) == len(DOMAINS) + 3


def test_pandas_draws_the_same_hours(cell: PowerCell) -> None:
    rows = cell.power[cell.power.time < START + DAY]
    by = rows.groupby(["cell", "pdu", (rows.time - START) // HOUR])
    means = by[["measured_power_util", "production_power_util"]].mean().sort_index()
    periods = cell.ask("power_domains", length=HOUR)
    is_whole_hour = (periods.pdu != "all") & (periods.period < 24)
    hours = periods[is_whole_hour].set_index(["cell", "pdu", "period"]).sort_index()
    assert len(hours) == 4 * 24
    assert set(hours.n) == {12}
    assert np.allclose(hours[["measured_mean", "production_mean"]], means, rtol=1e-8)


def test_pandas_draws_the_same_curves_as_the_notebook(cell: PowerCell) -> None:
    good = cell.power[~cell.power.bad_measurement_data & ~cell.power.bad_production_power_data]
    good = good[~good.cell.isin(["i", "j"])]
    curves = cell.ask("power_distribution")
    for quantity in ("measured", "production"):
        column = f"{quantity}_power_util"
        means = good.groupby(["cell", "time"])[column].mean()
        for level, values in (("domains", good[column]), ("cells", means)):
            # As the query has it: to ten thousandths, and these to thousandths; draws do not lie on the borders.
            bins = (np.floor(values * 10_000 + 0.5) * 0.0001 + 1e-9).round(3)
            curve = (bins * 1000).round().astype(int).value_counts().sort_index()
            is_curve = (curves.level == level) & (curves.quantity == quantity)
            rows = curves[is_curve].sort_values("permille")
            assert rows.permille.tolist() == curve.index.tolist()
            assert rows.n.tolist() == curve.tolist()
            assert np.allclose(rows.share, curve.cumsum() / curve.sum())


def _tier(priority: float) -> str:
    bounds = (
        (99, "free"),
        (115, "beb"),
        (119, "mid"),
    )
    return next((name for highest, name in bounds if priority <= highest), "production")


@pytest.mark.parametrize("length", [HOUR, DAY])
def test_pandas_joins_cpu_and_power_as_the_notebook_does(cell: PowerCell, length: int) -> None:
    usage = cell.frame("instance_usage")
    events = cell.frame("instance_events")
    where = ["collection_id", "instance_index", "machine_id"]
    known = (
        events[events.alloc_collection_id.isna() & events.machine_id.notna()]
        .groupby(where)
        .priority.max()
    )
    windows = usage[
        usage.alloc_collection_id.isna() & (usage.end_time - usage.start_time >= WINDOW)
    ]
    windows = windows.merge(known.reset_index(), on=where).merge(cell.fed, on="machine_id")
    windows["tier"] = windows.priority.map(_tier)
    largest = cell.frame("machine_events").groupby("machine_id").cpu_capacity.max()
    capacity = (
        cell.fed.assign(held=cell.fed.machine_id.map(largest)).groupby(["cell", "pdu"]).held.sum()
    )
    cpu = windows.groupby(
        ["cell", "pdu", windows.start_time // length, "tier"]
    ).average_cpu.sum() / (length / WINDOW)
    moved = WINDOW if length == DAY else 0
    by = cell.power.groupby(["cell", "pdu", (cell.power.time - moved) // length])
    power = by[["measured_power_util", "production_power_util"]].mean()
    shares = cell.ask("power_and_cpu", length=length).set_index(["cell", "pdu", "period", "tier"])
    literal = shares[shares.cpu_literal > 0]
    assert sorted(literal.index) == sorted(cpu[cpu > 0].index)
    for key, row in literal.iterrows():
        assert row.cpu_literal == pytest.approx(cpu[key] / capacity[key[:2]], rel=1e-6)
        assert (row.measured_literal, row.production_literal) == pytest.approx(
            tuple(power.loc[key[:3]]), rel=1e-8
        )
    # Beside it: over all tiers every window counts once, by its length, of the time that power tells of.
    outer = usage[usage.alloc_collection_id.isna() & (usage.start_time >= START)].merge(
        cell.fed, on="machine_id"
    )
    whole = (outer.end_time - outer.start_time) // 1_000_000  # whole seconds, as everywhere
    used = (
        (outer.average_cpu * whole)
        .groupby([outer.cell, outer.pdu, outer.start_time // length])
        .sum()
    )
    n = cell.power.groupby(["cell", "pdu", cell.power.time // length]).size()
    for key, share in shares.groupby(level=[0, 1, 2]).cpu.sum().items():
        assert share == pytest.approx(used[key] / (n[key] * 300 * capacity[key[:2]]), rel=1e-6)
