"""Parts of a synthetic trace, and the verdicts that are given on a store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from borgtrace.catalog import questions
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.question import Claim, EngineTables, Question
from borgtrace.question.scope import QuestionRequest
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.store.criteria import Criteria
from borgtrace.synth import generate

Verdicts = dict[str, str]
_TRUTH = ("truth.json", "truth.parquet")


@dataclass(frozen=True)
class Cell:
    """A synthetic trace of a day with its store; `machines` decide its size, `parts` the files of each 2011 table."""

    folder: Path
    generation: str
    machines: int
    parts: int | None = None

    @cached_property
    def raw(self) -> Path:
        """The files of the whole trace."""
        return generate(
            self.folder / "raw", self.generation, self.machines, 24.0, 5, parts=self.parts
        )

    @cached_property
    def store(self) -> Path:
        """The store of the whole trace."""
        return self._ingested(self.raw)

    def random_parts(self, n: int, seed: int) -> Iterator[Path]:
        """Yield stores of any of the files; half of them do not say that they are synthetic, as real ones would."""
        files, draw = self._files, random.Random(seed)
        for number in range(n):
            chosen = draw.sample(files, draw.randrange(1, len(files)))
            yield self._part(f"random-{number}", chosen, is_marked=number % 2 == 0)

    def halves(self) -> Iterator[Path]:
        """Yield stores of every other file of each table of several files, the rest whole."""
        for odd in (0, 1):
            for is_marked in (True, False):
                chosen = [
                    file
                    for table in self._tables
                    for file in (table[odd::2] if len(table) > 1 else table)
                ]
                yield self._part(f"half-{odd}-{is_marked}", chosen, is_marked=is_marked)

    def hours(self, n: int, seed: int) -> Iterator[Path]:
        """Yield stores of files that follow each other, of tables that are cut by time."""
        most, draw = max(map(len, self._tables)), random.Random(seed)
        for number in range(n):
            first = draw.randrange(most)
            last = draw.randrange(first, most) + 1
            chosen = [
                file
                for table in self._tables
                for file in (table[first:last] if len(table) > 1 else table)
            ]
            yield self._part(f"hours-{number}", chosen, is_marked=number % 2 == 0)

    def lacking(self) -> Iterator[Path]:
        """Yield stores that lack one table, or (of several files) its second half; the rest is whole."""
        for table in self._tables:
            for name, left in (("none", []), ("half", table[: len(table) // 2])):
                if name == "none" or left:
                    chosen = [file for file in self._files if file in left or file not in table]
                    yield self._part(
                        f"{name}-{table[0].parent.name}-{table[0].name}", chosen, is_marked=True
                    )

    def cuts(self) -> Iterator[Path]:
        """Yield stores that were cut out of the whole one, one of two hours among them."""
        two_hours = (TRACE_START + 6 * HOUR, TRACE_START + 8 * HOUR)
        for number, cut in enumerate((Criteria(fraction=0.5), Criteria(time=two_hours))):
            target = self.folder / f"cut-{number}"
            subset(self.store, target, cut)
            yield target

    def two_hours(self) -> Path:
        """Return the store of a cell of two hours, which is whole."""
        return self._ingested(
            generate(self.folder / "short", self.generation, self.machines, 2.0, 5)
        )

    @cached_property
    def _opened(self) -> EngineTables:
        return EngineTables.of(self.store)

    def said(self, claim: str) -> str:
        """Return what is said of a claim on the whole trace; only its question is computed, once."""
        if claim not in self._said:
            question = next(
                one for one in questions().values() if claim in {each.id for each in one.claims}
            )
            self._said.update(of_question(question, self._opened))
        return self._said[claim]

    @cached_property
    def _said(self) -> Verdicts:
        return {}

    @cached_property
    def _tables(self) -> list[list[Path]]:
        files = sorted(self.raw.rglob("*.gz"))
        # The name of a table is a folder in 2011, the begin of the file's name in 2019.
        keys = [
            file.parent.name if file.parent != self.raw else file.name.split("-")[0]
            for file in files
        ]
        return [
            [file for file, key in zip(files, keys, strict=True) if key == name]
            for name in dict.fromkeys(keys)
        ]

    @property
    def _files(self) -> list[Path]:
        return [file for table in self._tables for file in table]

    def _part(self, name: str, files: list[Path], *, is_marked: bool) -> Path:
        for file in (*files, *((self.raw / truth for truth in _TRUTH) if is_marked else ())):
            link = self.folder / name / file.relative_to(self.raw)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
        return self._ingested(self.folder / name)

    def _ingested(self, raw: Path) -> Path:
        store = raw.with_name(f"{raw.name}-store")
        ingest([raw], store, IngestOptions(jobs=1))
        return store


def verdicts(tables: EngineTables) -> Verdicts:
    """Return what is said of every claim about a store: its verdict, with the reason where it is not judged."""
    return {
        claim: said
        for question in questions().values()
        for claim, said in of_question(question, tables)
    }


def of_question(question: Question, tables: EngineTables) -> Iterator[tuple[str, str]]:
    """Yield the claims of one question with what is said of them."""
    asked = [(claim, objection(claim, question, tables)) for claim in question.claims]
    # A question of which no claim can get a verdict need not be computed.
    if all(reason for _, reason in asked):
        yield from ((claim.id, f"not judged: {reason}") for claim, reason in asked)
    elif isinstance(question, Question):
        yield from (
            (finding.id, f"{finding.verdict}: {finding.reason}")
            for finding in question.run(tables).findings
        )
    else:
        # Packing at the sizes that its claims are about takes hours: here is asked only which of them are judged.
        yield from (
            (claim.id, f"not judged: {reason}" if reason else "judged:") for claim, reason in asked
        )


def objection(claim: Claim, question: Question, tables: EngineTables) -> str:
    """Return why a claim cannot get a verdict on a store, whatever is measured; empty where it can."""
    can_be_settled = claim.with_more_data != "moves"
    scope = claim.scope.of_any_part if can_be_settled else claim.scope
    return scope.objection(tables.coverage, question.reads, QuestionRequest(tables.where))


def settled_by_a_part() -> set[str]:
    """Return the claims on which part of a trace may give a verdict that no further part can overturn."""
    claims = [claim for question in questions().values() for claim in question.claims]
    return {claim.id for claim in claims if claim.with_more_data != "moves"}
