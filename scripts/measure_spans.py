"""Measures how much of a trace each claim needs before its verdict stays what it is.

Long synthetic cells are cut into nested prefixes: the first day, the first two … the whole.  Every claim is judged on
each prefix without regard to the span and the population that its scope asks for.  The verdict has *settled* at the
shortest prefix from which on it is the same on all longer ones.  The scope of a claim has to ask for the span, and
where the verdict changes for the population, at which it has settled in the slowest cell.

``scripts/measure_spans.py WORK --out FILE.csv`` writes a row for each claim, cell and prefix; cells that are in WORK
already are used again.  ``scripts/measure_spans.py --read FILE.csv …`` reads such files; ``--settled FILE.csv`` writes
where each claim settles, which ``tests/question/test_spans.py`` holds against the scopes.  Both print the claims whose
scope asks for too little, and the share of claims whose verdict changes where their scope allows one.
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
from borgtrace.question import Claim, EngineTables, Question, Scope, with_subjects
from borgtrace.question.claims import JUDGED
from borgtrace.schema.time import DAY, HOUR, TRACE_START
from borgtrace.store.coverage import Coverage, StoreCoverage
from borgtrace.store.criteria import Criteria
from borgtrace.synth import generate

HOURS = (24, 48, 96, 168, 336, 504, 696)
"""Lengths of the prefixes; the last one is the whole month."""
SEEDS = (11, 12, 13)
MONTH = 28 * DAY
"""A scope that asks for so much allows a verdict on the whole month alone."""
MOST_CHANGES = 0.05
"""Share of claims whose verdict may change within their scope."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a claim says of one prefix of one cell, whatever the span and population that its scope asks for."""

    claim: str
    question: str
    cell: str
    span: int
    tasks: int
    measured: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Settled:
    """From which prefix on the verdict on a claim stays what it is.

    Attributes
    ----------
    span, tasks
        Length of that prefix in the slowest cell, in µs, and the tasks in it; 0 where no verdict changes in any cell.
    changes
        Cells in which the verdict changes where the scope allows one, of ``cells`` in which it allows several.
    """

    claim: Claim
    span: int
    tasks: int
    changes: int
    cells: int

    @property
    def asks_for_too_little(self) -> bool:
        """Whether the scope allows a verdict that longer prefixes overturn."""
        return self.changes > 0 and self.claim.scope.span < min(self.span, MONTH)


def generate_store(
    folder: Path, machines: int, hours: int, seed: int, tables: tuple[str, ...] = ()
) -> Path:
    """Return the store of a synthetic cell of 2011, or of some of its tables; one that is there is used again."""
    store = folder / "store"
    if not store.exists():
        folder.mkdir(parents=True, exist_ok=True)
        generate(folder / "raw", "2011", machines, float(hours), seed, tables=tables)
        ingest([folder / "raw"], store, IngestOptions())
        shutil.rmtree(folder / "raw")
    return store


def judge_prefixes(
    cell: str, store: Path, hours: Sequence[int], asked: Sequence[Question]
) -> Iterator[Judgement]:
    """Judge all claims of some questions on nested prefixes of a store.

    Parameters
    ----------
    cell
        Name of the cell.
    store
        Its store; prefixes are made beside it and removed.
    hours
        Lengths of the prefixes, ascending; the last one is that of the store.
    asked
        The questions.
    """
    for length in hours:
        prefix = store
        if length < hours[-1]:
            prefix = store.with_name(f"{length}h")
            subset(store, prefix, Criteria(time=(0, TRACE_START + length * HOUR)))
        yield from judge_prefix(cell, prefix, length * HOUR, asked)
        if prefix != store:
            shutil.rmtree(prefix)


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


def settle(claim: Claim, prefixes: Mapping[str, Sequence[Judgement]]) -> Settled:
    """Return where the verdict on a claim settles, from the judgements on the prefixes of each cell, shortest first."""
    span = 0
    tasks = 0
    changes = 0
    cells = 0
    for judgements in prefixes.values():
        judged = [judgement for judgement in judgements if judgement.verdict in JUDGED]
        if not judged:
            continue
        settled = first_settled(judged)
        # A verdict that never changed says nothing of shorter prefixes than those that were judged.
        if settled != judged[0] and settled.span > span:
            span, tasks = settled.span, settled.tasks
        allowed = [one.verdict for one in judged if allows(claim.scope, one)]
        cells += len(allowed) > 1
        changes += len(set(allowed)) > 1
    return Settled(claim, span, tasks, changes, cells)


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
    """Return where the verdict on each claim settles, in the order of the questions."""
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
    """Return the share of pairs of claim and cell whose verdict changes within the scope; 0 without any."""
    cells = sum(one.cells for one in settled)
    return sum(one.changes for one in settled) / cells if cells else 0.0


def write(path: Path, judgements: Iterable[Judgement]) -> None:
    """Write judgements as CSV, each as soon as it is known."""
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
            judgement = Judgement(
                claim=row["claim"],
                question=row["question"],
                cell=row["cell"],
                span=int(row["span"]),
                tasks=int(row["tasks"]),
                measured=row["measured"],
                verdict=row["verdict"],
            )
            judgements.append(judgement)
    return judgements


def write_settled(path: Path, settled: Sequence[Settled]) -> None:
    """Write where the verdict on each claim settles, as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["claim", "hours", "tasks"])
        for one in settled:
            writer.writerow([one.claim.id, one.span // HOUR, one.tasks])


def measure(
    work: Path, machines: int, seeds: Sequence[int], hours: Sequence[int], *, packs: bool
) -> Iterator[Judgement]:
    """Judge the claims on prefixes of a cell for each seed; `packs` adds the colocation experiments."""
    asked = []
    for name, question in questions().items():
        if packs or name not in experiments():
            asked.append(question)
    for seed in seeds:
        store = generate_store(work / f"seed-{seed}", machines, hours[-1], seed)
        yield from judge_prefixes(f"{machines} machines, seed {seed}", store, hours, asked)


def report(settled: Sequence[Settled]) -> None:
    """Print the claims whose scope asks for too little, and how many verdicts change."""
    for one in settled:
        if one.asks_for_too_little:
            scope = one.claim.scope
            print(
                f"{one.claim.id}: settles at {one.span / DAY:g} days and {one.tasks:,} tasks; "
                f"its scope asks for {scope.span / DAY:g} days and {scope.tasks:,} tasks; "
                f"changes in {one.changes} of {one.cells} cells"
            )
    cells = sum(one.cells for one in settled)
    share = share_of_changes(settled)
    print(f"verdicts change on {share:.1%} of {cells} claims × cells; at most {MOST_CHANGES:.0%}")


def main() -> None:
    """Measure, or read earlier measurements, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, nargs="?", help="folder for the cells")
    parser.add_argument("--out", type=Path, help="what is said of each claim on each prefix")
    parser.add_argument("--read", type=Path, nargs="+", help="files that --out has written")
    parser.add_argument("--settled", type=Path, help="where each claim settles")
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--hours", type=int, nargs="+", default=HOURS)
    parser.add_argument("--packs", action="store_true", help="the colocation experiments too")
    options = parser.parse_args()
    if options.read:
        judgements = [judgement for path in options.read for judgement in read(path)]
    else:
        write(
            options.out,
            measure(
                options.work, options.machines, options.seeds, options.hours, packs=options.packs
            ),
        )
        judgements = read(options.out)
    settled = settle_all(judgements)
    if options.settled:
        write_settled(options.settled, settled)
    report(settled)


if __name__ == "__main__":
    main()
