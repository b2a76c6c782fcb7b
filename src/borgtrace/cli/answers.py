"""Answers to questions: run, written to files, and printed with their claims."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from borgtrace.cli.answer_table import print_rows
from borgtrace.cli.console import counted, print_prose, steps, talk
from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.cli.parameters import own_parameters
from borgtrace.cli.printing import print_csv, print_json
from borgtrace.cli.terminal import data_stream
from borgtrace.engine.csv_text import write_csv
from borgtrace.errors import BorgtraceError
from borgtrace.notation.numbers import with_commas
from borgtrace.question import (
    EngineTables,
    Finding,
    Question,
    Result,
    Subjects,
    headline,
    unjudged,
)
from borgtrace.question.answering import answering_studies_beside, answers_when_ready, in_order
from borgtrace.question.beside import AnswerQuestions, Outcome, QuestionsBeside
from borgtrace.question.claims import UNMEASURED
from borgtrace.question.facts import facts_of, sentence_of
from borgtrace.question.store_question import StoreQuestion
from borgtrace.report.answer_files import claim_rows, claims_csv, write_result
from borgtrace.storage import write_file
from borgtrace.store import Store

_SHOWN_NAMES = 6
"""Of claims that are not judged for one reason; all of them are in the table of claims."""


def run(
    questions: Sequence[Question],
    tables: Any,
    parameters: Mapping[str, Any],
    beside: QuestionsBeside | None = None,
) -> Iterator[Result]:
    """Answer questions one after the other, as they are asked for.

    Parameters
    ----------
    questions
        Questions, in the order of the answers.
    tables
        What they are asked of: tables of a store, or a study.
    parameters
        Values that were set; each question takes its own.
    beside
        Those that a second process answers, from :func:`answering_beside`.

    Raises
    ------
    BorgtraceError
        A question was refused; those before it are answered.
    """
    answer = answers_with(tables, parameters)
    with steps() as report:
        answered = answers_when_ready(questions, answer, tables, beside, report)
        for outcome in in_order(questions, answered):
            if isinstance(outcome, BorgtraceError):
                raise outcome
            say(outcome)
            yield outcome


def answering_beside(
    questions: Sequence[Question],
    store: Store,
    parameters: Mapping[str, Any],
    *,
    engine: str,
    where: str,
    memory: str,
) -> AbstractContextManager[QuestionsBeside | None]:
    """Let a second process answer what is asked of studies while the block runs; None where all is answered here.

    Parameters
    ----------
    questions
        What :func:`run` will be asked.
    store
        An open store.
    parameters
        As for :func:`run`.
    engine, where, memory
        As for :meth:`~borgtrace.question.EngineTables.of`.
    """

    def prepare() -> AnswerQuestions:
        tables = EngineTables.of(store, engine, where=where, memory=memory)
        return answers_with(tables, parameters)

    return answering_studies_beside(questions, store, engine, prepare)


def answers_with(tables: Any, parameters: Mapping[str, Any]) -> AnswerQuestions:
    """Return what answers questions with parameters.

    Parameters
    ----------
    tables, parameters
        As for :func:`run`.
    """
    subjects = Subjects(tables, parameters)

    def outcomes(questions: Sequence[Question]) -> Iterator[Outcome]:
        for question, subject in subjects.pairs(questions):
            try:
                result = question.run(subject, **own_parameters(question, parameters))
            except BorgtraceError as error:
                yield error
            else:
                yield result

    return outcomes


def ask(
    question: StoreQuestion,
    store: Any,
    options: Any,
    *,
    out: Path | None,
    png: bool,
    as_json: bool,
    raw: bool = False,
    engine: str = "duckdb",
) -> None:
    """Answer a question about a store itself, with a bar, and publish the answer.

    Parameters
    ----------
    question, store
        What is asked about which open store, or what else the question takes.
    options
        The question's options, a dataclass of its package.
    out, png, as_json, raw
        As for :func:`publish`.
    engine
        Where it is answered.
    """
    with steps(question.unit) as report:
        result = replace(question, report=report).run(store, engine, **values_of(options))
    say(result)
    publish(
        [result],
        out=out,
        png=png,
        as_json=as_json,
        raw=raw,
        is_table=True,
    )


def values_of(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    return {option.name: getattr(options, option.name) for option in fields(options)}


def say(result: Result) -> None:
    """Say on stderr how many rows an answer has, or why there are none."""
    name = result.question.name
    if result.not_applicable:
        print_prose(f"{name}: not applicable: {result.not_applicable}")
        return
    rows = counted(result.table.num_rows, "row")
    talk.print(f"{name}: {rows} ({result.provenance.seconds:.1f} s)")


def publish(
    answers: Iterable[Result],
    *,
    out: Path | None,
    png: bool,
    as_json: bool,
    raw: bool = False,
    is_table: bool = False,
) -> list[Result]:
    """Write files into `out`; print tables or claims; return the results.

    Parameters
    ----------
    answers
        What :func:`run` yields.
    out
        Folder for files; None prints only.
    png
        Whether charts are written as PNG, too.
    as_json
        Print one JSON object a line.
    raw
        Whether texts of CSV stay as they are, those that a spreadsheet takes for formulas included.
    is_table
        Whether a single answer is printed as its table beside files, too, and not as its claims.
    """
    results = []
    for result in answers:
        results.append(result)
        # At once, and not at the end: what is answered stays when a later question is interrupted.
        if out is not None:
            write_result(result, out, png=png, raw=raw)
        if as_json:
            print_json(facts_of(result))
    if out is not None:
        write_file(out / "claims.csv", claims_csv(results, raw=raw))
    if as_json:
        return results
    if out is not None:
        print_files(results, out)
    # Several tables one after the other would be no CSV, so then the claims are the data.
    if len(results) == 1 and (out is None or is_table):
        print_result(results[0], out=out, raw=raw)
        return results
    if sys.stdout.isatty():
        print_measured_claims(results)
    else:
        print_csv(claims_csv(results, raw=raw))
    findings = about_this_trace(finding for result in results for finding in result.findings)
    print_reasons(findings)
    print_headline(findings)
    reasons = {result.not_applicable for result in results}
    # One reason against all of them is the answer.
    if len(reasons) == 1 and None not in reasons:
        print_prose(f"Not applicable: {reasons.pop()}.")
    return results


def print_files(results: Sequence[Result], out: Path) -> None:
    """Say on stderr where the files of the answers are; an answer that is not applicable has none."""
    answered = [result for result in results if result.not_applicable is None]
    if len(answered) == 1:
        print(f"Files: {out / answered[0].question.name}.*", file=sys.stderr)
    elif answered:
        print(f"Files of {len(answered):,} answers: {out}", file=sys.stderr)


def print_result(result: Result, *, out: Path | None = None, raw: bool = False) -> None:
    """Print the claims on stderr, the table, for people or as data, and the answer in words.

    The answer comes last: that is what a terminal still shows. Where there is none, :func:`say` has said why.

    Parameters
    ----------
    result
        The answer.
    out, raw
        As for :func:`publish`.
    """
    # Its reason was said, and is that of each of its claims.
    if result.not_applicable is not None:
        return
    findings = about_this_trace(result.findings)
    for finding in findings:
        if finding.is_measured:
            print_prose(line_of_finding(finding))
    print_headline(findings)
    print_reasons(finding for finding in findings if not finding.is_measured)
    if sys.stdout.isatty():
        print_rows(result, out)
    else:
        write_csv(result.table, data_stream(), raw=raw)
    words = sentence_of(result) if result.table.num_rows else None
    if words:
        print_prose(words)


def about_this_trace(findings: Iterable[Finding]) -> list[Finding]:
    """Return the claims that some store of the trace could settle; files and JSON have the others, too."""
    return [finding for finding in findings if not finding.is_about_another_trace]


def line_of_finding(finding: Finding) -> str:
    """Return a claim as published – measured – verdict, in a sentence.

    Examples
    --------
    >>> line_of_finding(Finding("A-1", "many", "12500", "13000", "holds"))
    'A-1: many: published 12,500, measured 13,000: holds'
    """
    expected = with_commas(finding.expected)
    measured = with_commas(finding.measured)
    compared = f"{finding.kind} {expected}, measured {measured}"
    return f"{finding.id}: {finding.statement}: {compared}: {finding.outcome}"


def print_measured_claims(results: Sequence[Result]) -> None:
    """Print the claims that were measured; :func:`print_reasons` says why some are not judged, or not measured."""
    of_this_trace = []
    for result in results:
        findings = tuple(about_this_trace(result.findings))
        of_this_trace.append(replace(result, findings=findings))
    rows = [row for row in claim_rows(of_this_trace) if row["measured"] != UNMEASURED]
    if not rows:
        return
    columns = []
    for name in ("recipe", "id", "published", "measured", "verdict"):
        cells = [with_commas(str(row[name])) for row in rows]
        # A claim is looked up by its id, which is never cut.
        columns.append(TextColumn(name, cells, is_whole=name == "id"))
    print_grid(columns, ("id", "measured", "verdict", "published", "recipe"))


def _some_names(names: Sequence[str]) -> str:
    """Return names as a list; of many the first ones, and how many others there are.

    Examples
    --------
    >>> _some_names(["TIR-1", "TIR-2"])
    'TIR-1, TIR-2'
    >>> _some_names([f"S1-{number}" for number in range(1, 104)])
    'S1-1, S1-2, S1-3, S1-4, S1-5, S1-6 and 97 others'
    """
    # One name more takes less room than the number of others.
    if len(names) <= _SHOWN_NAMES + 1:
        return ", ".join(names)
    first_names = ", ".join(names[:_SHOWN_NAMES])
    return f"{first_names} and {len(names) - _SHOWN_NAMES:,} others"


def print_headline(findings: Sequence[Finding]) -> None:
    """Say how many claims hold of those that are judged."""
    if findings:
        print_prose(f"{headline(findings).capitalize()}.")


def print_reasons(findings: Iterable[Finding], n_reasons: int | None = None) -> None:
    """Say each reason once why claims are not judged or not measured.

    Parameters
    ----------
    findings
        The claims.
    n_reasons
        How many reasons are said, that of most claims first; all where None.
    """
    for claims in list(unjudged(findings).values())[:n_reasons]:
        verdict = claims[0].verdict.capitalize()
        number = counted(len(claims), "claim")
        names = _some_names([claim.id for claim in claims])
        if len(claims) == 1:
            names = f"{names} ({claims[0].statement})"
        print_prose(f"{verdict}, {number}: {claims[0].reason}: {names}")
