"""No verdict on a part of a trace is another than that on the whole; what is not judged says why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from tests.question.parts import Cell, Verdicts, settled_by_a_part, verdicts

GENERATIONS = ("2011", "2019")


def judged(found: Verdicts) -> dict[str, str]:
    """Return the verdicts alone, of claims that are judged."""
    return {
        claim: said
        for claim, said in found.items()
        if not said.startswith(("not judged", "not applicable"))
    }


def differences(found: Verdicts, cell: Cell) -> list[str]:
    """Return the claims that are judged on a part otherwise than on the whole; the others have to say why not."""
    for said in found.values():
        verdict, _, reason = said.partition(": ")
        assert reason if verdict in ("not judged", "not applicable") else not reason
    return [
        f"{claim}: {said} on the part, {cell.said(claim)} on the whole"
        for claim, said in judged(found).items()
        if said != cell.said(claim)
    ]


def compare(parts: Iterable[Path], cell: Cell) -> int:
    """Return how many verdicts the parts got, all of them those of the whole."""
    found = {part.name: verdicts(EngineTables.of(part)) for part in parts}
    assert {name: differences(each, cell) for name, each in found.items()} == {
        name: [] for name in found
    }
    return sum(len(judged(each)) for each in found.values())


@pytest.fixture(scope="module", params=["2011", pytest.param("2019", marks=pytest.mark.scale)])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cell:
    """A day of a cell that is just large enough for claims about tasks (1,000 of them)."""
    return Cell(tmp_path_factory.mktemp(f"small{request.param}"), request.param, 30, parts=3)


@pytest.mark.wide
def test_parts_of_a_small_cell(small: Cell) -> None:
    # One says that it is synthetic, one does not.
    assert compare(small.random_parts(2, seed=1), small) > 0


@pytest.mark.wide
def test_hours_of_a_small_cell_and_cuts_of_its_store(small: Cell) -> None:
    assert compare(small.hours(1, seed=2), small) > 0
    assert compare(small.cuts(), small) == 0


def test_selected_tasks_get_no_verdict(small: Cell) -> None:
    found = verdicts(EngineTables.of(small.store, where="priority > 1"))
    here = small.generation
    others = {"2011", "2019", "openb", "azure-2019", "alibaba-2018"} - {here}
    assert set(found.values()) <= {
        "not judged: is about all tasks, not a selection (--where)",
        *(f"not judged: is about {other}, the store holds {here}" for other in others),
    }


def test_a_short_cell_gets_the_verdicts_of_arithmetic_and_those_that_stay(small: Cell) -> None:
    found = judged(verdicts(EngineTables.of(small.two_hours())))
    assert set(found) - settled_by_a_part() == {"SKETCH-bound"}
    assert found == {claim: small.said(claim) for claim in found}


@pytest.mark.wide
def test_real_parts_are_judged_on_the_tables_that_are_whole(real_store: Path) -> None:
    # All of machine_events is here, and nothing else: 9 parts of task_events, 676 rows of task_usage.  What absences
    # cost depends on the length of the trace, which the events of tasks tell.  Of the events of tasks, 123 evictions of
    # pending tasks have been seen.
    assert set(judged(verdicts(EngineTables.of(real_store)))) == {
        *("QUALITY-capacity_missing-2011", "QUALITY-machine_events_doubled"),
        *("R12-table1", "G11-machines", "G11-machines-old", "ME-machines", "ME-machines-at-start"),
        *("ME-gone", "ME-away-median", "ME-away-day"),
        "S4-pending-evict",
    }


def test_a_flattened_sample_is_no_whole(trace: Path, tmp_path: Path) -> None:
    ingest(
        [trace / "kaggle-2019" / "slice.csv"], tmp_path / "store", IngestOptions(jobs=1, cell="1")
    )
    assert set(judged(verdicts(EngineTables.of(tmp_path / "store")))) <= {"SKETCH-bound"}


@pytest.mark.scale
@pytest.mark.parametrize("generation", GENERATIONS)
def test_twenty_parts_halves_and_hours(generation: str, tmp_path: Path) -> None:
    cell = Cell(tmp_path, generation, 150)
    n_judged = len(judged(verdicts(EngineTables.of(cell.store))))
    numbers = {
        "random": compare(cell.random_parts(20, seed=3), cell),
        "lacking": compare(cell.lacking(), cell),
        "halves": compare(cell.halves(), cell),
        "hours": compare(cell.hours(20, seed=4) if generation == "2011" else (), cell),
    }
    print(generation, n_judged, "judged on the whole; verdicts on parts:", numbers)
    # What was compared is something: most claims about the trace itself are judged on the whole.
    assert n_judged > 50
    assert all(numbers[name] for name in ("random", "lacking", "halves"))
