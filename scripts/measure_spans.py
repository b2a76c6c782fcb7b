"""Measures how much of a trace each claim needs before its verdict stays what it is.

Long synthetic cells are cut into nested prefixes: the first 12 hours, the first day … the whole.  Every claim is
judged on each prefix without regard to its scope.  A verdict has *settled* at the shortest prefix from which on it is
the same on all longer ones; a claim's scope has to ask for at least the span at which it has settled in every cell.

``scripts/measure_spans.py WORK --out FILE.csv`` writes a row for each claim, cell and prefix, and prints the claims
whose scope asks for too little, and the share of claims whose verdict changes where their scope allows one.
``scripts/measure_spans.py --read FILE.csv`` prints the same of an earlier measurement.
"""

from __future__ import annotations

import argparse
import csv
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from borgtrace.catalog import experiments, questions
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.question import Claim, EngineTables, Question, Scope
from borgtrace.question.question import with_subjects
from borgtrace.schema.time import DAY, HOUR, TRACE_START
from borgtrace.store.coverage import Coverage, StoreCoverage
from borgtrace.store.criteria import Criteria
from borgtrace.synth import generate

HOURS = (12, 24, 48, 96, 168, 336, 504, 696)
"""Lengths of the prefixes; the last one is the whole month."""
SEEDS = (11, 12, 13)
MOST_CHANGES = 0.05
"""Share of claims whose verdict may change within their scope."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a claim says of one prefix of one cell, whatever its scope."""

    claim: str
    question: str
    cell: str
    span: int
    tasks: int
    measured: str
    verdict: str


def judge_prefixes(
    cell: str, store: Path, hours: Sequence[int], work: Path, asked: Sequence[Question]
) -> Iterator[Judgement]:
    """Judge all claims on nested prefixes of a store.

    Parameters
    ----------
    cell
        Name of the cell.
    store
        Its store.
    hours
        Lengths of the prefixes, ascending; the last one is that of the store.
    work
        An empty folder for the prefixes.
    asked
        The questions.
    """
    for length in hours:
        path = store
        if length < hours[-1]:
            path = work / f"{length}h"
            subset(store, path, Criteria(time=(0, TRACE_START + length * HOUR)))
        yield from judge_prefix(cell, path, length * HOUR, asked)
        if path != store:
            shutil.rmtree(path)


def judge_prefix(
    cell: str, store: Path, span: int, asked: Sequence[Question]
) -> Iterator[Judgement]:
    """Judge all claims on one prefix, which is taken to be a whole trace."""
    tables = EngineTables.of(store)
    tables.coverage = as_whole_trace(tables.coverage, span)
    for question, subject in with_subjects(map(without_sizes, asked), tables):
        for finding in question.run(subject).findings:
            yield Judgement(
                claim=finding.id,
                question=question.name,
                cell=cell,
                span=span,
                tasks=tables.coverage.n_tasks or 0,
                measured=finding.measured,
                verdict=finding.verdict,
            )


def as_whole_trace(coverage: StoreCoverage, span: int) -> StoreCoverage:
    """Return the coverage that a trace of some length would have if it had ended there."""
    whole = {}
    for name, table in coverage.tables.items():
        whole[name] = Coverage(table.rows, parts=(0,), of=1, span=span)
    return replace(coverage, tables=whole, is_subset=False, is_sample=False)


def without_sizes(question: Question) -> Question:
    """Return a question whose claims are judged on stores of any length and size."""
    claims = []
    for claim in question.claims:
        claims.append(replace(claim, scope=replace(claim.scope, span=0, tasks=0)))
    return replace(question, claims=claims)


@dataclass(frozen=True, slots=True)
class Settled:
    """From which prefix on the verdicts on a claim stay what they are, in the slowest of all cells.

    Attributes
    ----------
    span, tasks
        Length of that prefix, and the tasks in it.
    changes
        Cells in which a verdict changes where the scope allows one, of ``cells`` in which it allows several.
    """

    claim: Claim
    span: int
    tasks: int
    changes: int
    cells: int


def settle(claim: Claim, prefixes: Mapping[str, Sequence[Judgement]]) -> Settled:
    """Return where the verdicts on a claim settle, from the judgements on each cell's prefixes in order."""
    settled_span = 0
    settled_tasks = 0
    changes = 0
    cells = 0
    for judgements in prefixes.values():
        judged = [one for one in judgements if one.verdict in ("holds", "does not hold")]
        if not judged:
            continue
        first = first_settled(judged)
        settled_span = max(settled_span, first.span)
        settled_tasks = max(settled_tasks, first.tasks)
        verdicts = [one.verdict for one in judged if allows(claim.scope, one)]
        cells += len(verdicts) > 1
        changes += len(set(verdicts)) > 1
    return Settled(claim, settled_span, settled_tasks, changes, cells)


def first_settled(judged: Sequence[Judgement]) -> Judgement:
    """Return the shortest prefix from which on the verdict does not change."""
    settled = judged[-1]
    for judgement in reversed(judged):
        if judgement.verdict != settled.verdict:
            break
        settled = judgement
    return settled


def allows(scope: Scope, judgement: Judgement) -> bool:
    """Return whether a prefix is long and large enough for a scope."""
    return judgement.span >= scope.span and judgement.tasks >= scope.tasks


def settle_all(judgements: Iterable[Judgement]) -> list[Settled]:
    """Return where the verdicts on each claim settle, in the order of the questions."""
    by_claim: dict[str, dict[str, list[Judgement]]] = defaultdict(lambda: defaultdict(list))
    for judgement in judgements:
        by_claim[judgement.claim][judgement.cell].append(judgement)
    settled = []
    for question in questions().values():
        for claim in question.claims:
            if claim.id in by_claim:
                settled.append(settle(claim, by_claim[claim.id]))
    return settled


def share_of_changes(settled: Sequence[Settled]) -> float:
    """Return the share of pairs of claim and cell whose verdict changes within the scope."""
    cells = sum(one.cells for one in settled)
    return sum(one.changes for one in settled) / cells if cells else 0.0


def write(path: Path, judgements: Iterable[Judgement]) -> None:
    """Write judgements as CSV."""
    names = [field.name for field in fields(Judgement)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for judgement in judgements:
            writer.writerow([getattr(judgement, name) for name in names])
            file.flush()


def read(path: Path) -> list[Judgement]:
    """Read judgements from CSV."""
    judgements = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            row_tasks, row_span = int(row.pop("tasks")), int(row.pop("span"))
            judgements.append(Judgement(**row, tasks=row_tasks, span=row_span))
    return judgements


def measure(
    work: Path, machines: int, seeds: Sequence[int], hours: Sequence[int], packs: bool
) -> Iterator[Judgement]:
    """Generate a cell for each seed and judge its prefixes; a cell that is there already is used again."""
    asked = [
        question for name, question in questions().items() if packs or name not in experiments()
    ]
    for seed in seeds:
        folder = work / f"s{seed}"
        store = folder / "store"
        if not store.exists():
            folder.mkdir(parents=True, exist_ok=True)
            generate(folder / "raw", "2011", machines, float(hours[-1]), seed)
            ingest([folder / "raw"], store, IngestOptions())
            shutil.rmtree(folder / "raw")
        yield from judge_prefixes(f"seed {seed}", store, hours, folder, asked)


def report(settled: Sequence[Settled]) -> None:
    """Print the claims whose scope asks for too little, and how many verdicts change."""
    for one in settled:
        scope = one.claim.scope
        if one.span > scope.span and one.changes:
            print(
                f"{one.claim.id}: settles at {one.span / DAY:g} days and {one.tasks:,} tasks; "
                f"its scope asks for {scope.span / DAY:g} days and {scope.tasks:,} tasks; "
                f"changes in {one.changes} of {one.cells} cells"
            )
    share = share_of_changes(settled)
    print(f"verdicts change on {share:.1%} of claims × cells; at most {MOST_CHANGES:.0%}")


def main() -> None:
    """Measure, or read an earlier measurement, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, nargs="*", default=[])
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--hours", type=int, nargs="*", default=HOURS)
    parser.add_argument("--packs", action="store_true", help="the colocation experiments too")
    arguments = parser.parse_args()
    if not arguments.read:
        judgements = measure(
            arguments.work, arguments.machines, arguments.seeds, arguments.hours, arguments.packs
        )
        write(arguments.out, judgements)
        arguments.read = [arguments.out]
    judgements = [judgement for path in arguments.read for judgement in read(path)]
    report(settle_all(judgements))


if __name__ == "__main__":
    main()
